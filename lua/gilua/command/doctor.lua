--- `gilua doctor`: reports what this machine has, and how to get what it lacks.

local answer = require "gilua.command.answer"
local core = require "gilua.core"
local ends = require "gilua.base.ends"
local gi = require "gilua"

local GET = "to do: `make deps` (in a clone), or `pip install -r " .. core.home
  .. "/data/nvrtc.txt`, fetches NVRTC with its headers; or set CUDA_HOME to a toolkit"

-- A kernel for each kind of header that kernels include.
local KERNELS = {
  { what = "halves", text = [[
#include <cuda_fp16.h>
extern "C" __global__ void halves(float *y) {
  *y = __half2float(__hmul(__float2half(*y), __float2half(2.0f)));
}
]] },
  { what = "cuda/std", text = [[
#include <cuda/std/type_traits>
extern "C" __global__ void standard(float *y) {
  *y = cuda::std::is_same<float, decltype(*y + 1.0f)>::value ? 2.0f : 0.0f;
}
]] },
  { what = "cooperative groups", text = [[
#include <cooperative_groups.h>
extern "C" __global__ void groups(float *y) {
  auto block = cooperative_groups::this_thread_block();
  block.sync();
  y[block.thread_rank()] *= 2.0f;
}
]] },
}

-- Returns the kinds of kernels that do not compile, and the reason for the first of them.
local function uncompiled()
  local all, kinds, reason = "", {}, nil
  for _, kernel in ipairs(KERNELS) do all = all .. kernel.text end
  local together, whole_reason = gi.compile(all, { target = "ptx" })
  if together then return kinds end
  for _, kernel in ipairs(KERNELS) do
    local ptx, why = gi.compile(kernel.text, { target = "ptx" })
    if not ptx then kinds[#kinds + 1], reason = kernel.what, reason or why end
  end
  if not reason then return { "all of these headers" }, whole_reason end
  return kinds, reason
end

local function headers(found, info)
  local kinds, reason = uncompiled()
  if not reason then
    found:add { "ok", "CUDA headers", info.include
      .. "; kernels with halves, cuda/std and cooperative groups compile",
      figures = { { "path", info.include } } }
  else
    found:add { "no", "CUDA headers", ("kernels with %s do not compile: %s"):format(
      table.concat(kinds, ", "), reason), advice = { GET } }
  end
end

local function compiler(found)
  local info, message = core.compile.info()
  if not info then
    found:add { "no", "NVRTC", message, advice = { GET } }
    return
  end
  local kept = info.keeps_headers and ""
    or "; headers are read for each mutant (12.8 and later keep large ones compiled)"
  found:add { "ok", "NVRTC", ("%s, %s, targets compute_%d to compute_%d%s"):format(info.version,
    info.path, info.targets[1], info.targets[#info.targets], kept),
    figures = { { "version", info.version }, { "path", info.path } } }
  headers(found, info)
end

-- Only what begins below the source needs it: a warning.
local function linker(found)
  local info, message = core.compile.linker()
  if info then
    found:add { "ok", "nvJitLink", info.version .. ", " .. info.path,
      figures = { { "version", info.version }, { "path", info.path } } }
  else
    found:add { "!!", "nvJitLink", message, advice = {
      "to do: nothing, unless edited PTX is to run on a GPU" } }
  end
end

-- Only compiler=llvm needs it: a warning.
local function llvm(found)
  local info, message = core.llvm.info()
  local libdevice, lacks = core.compile.libdevice()
  if info and info.clang and not libdevice then
    found:add { "!!", "LLVM", ("%s, %s, %s, without mathematics: %s"):format(info.version,
      info.path, info.clang, lacks), advice = {
      "to do: nothing, unless --compiler llvm is wanted for kernels with expf, powf and their like"
      } }
  elseif info and info.clang then
    found:add { "ok", "LLVM", ("%s, %s, %s"):format(info.version, info.path, info.clang),
      figures = { { "version", info.version }, { "path", info.path }, { "clang", info.clang } } }
  else
    found:add { "!!", "LLVM", message or ("%s, %s, and no clang of this version: `apt-get install "
      .. "clang-%s` on Debian, or set GILUA_CLANG to its path"):format(info.version, info.path,
      info.version:match "%d+"), advice = { "to do: nothing, unless --compiler llvm is wanted" } }
  end
end

-- Only a program that is recorded on a GPU needs it: a warning.
local function cupti(found)
  local path, message = core.compile.cupti()
  if path then
    found:add { "ok", "CUPTI", path, figures = { { "path", path } } }
  else
    found:add { "!!", "CUPTI", message, advice = {
      "to do: nothing, unless programs are to be recorded on a GPU (gilua record --inject)" } }
  end
end

-- What needs no GPU goes on without a driver: a warning.
local function driver(found)
  local d = core.system.driver()
  if not d.loaded then
    found:add { "!!", "CUDA driver", d.why_not, advice = {
      "nothing to do: the virtual GPU (--device emu) needs none" } }
    return
  end
  found:add { "ok", "CUDA driver", ("%d.%d"):format(d.version // 1000, d.version % 1000 // 10) }
  for i, gpu in ipairs(d.gpus) do
    found:add { "ok", "GPU " .. i - 1, ("%s, compute %d.%d, %.0f GiB"):format(gpu.name,
      gpu.compute // 10, gpu.compute % 10, gpu.memory_bytes / 2 ^ 30),
      figures = { { "name", gpu.name }, { "compute", gpu.compute },
        { "memory_bytes", gpu.memory_bytes } } }
  end
  if #d.gpus == 0 then found:add { "!!", "GPU", "the driver reports none" } end
end

-- What shuts workers in. What an older kernel lacks is no fault of the machine's: a warning.
local function box(found)
  local b = core.farm.box()
  local files = b.landlock > 0 and ("files read-only (Landlock %d)"):format(b.landlock)
    or "files are NOT read-only: this kernel has no Landlock (Linux 5.13)"
  local calls = b.calls and "no network, no programs (seccomp)"
    or "calls are NOT filtered: this kernel has no seccomp"
  local off = os.getenv "GILUA_BOX" == "off"
  local text = off and "GILUA_BOX=off: a problem may do on this machine what you may"
    or calls .. "; " .. files
  found:add { not off and b.landlock > 0 and b.calls and "ok" or "!!", "workers' box", text,
    figures = { { "off", off }, { "landlock", b.landlock }, { "seccomp", b.calls } } }
end

-- What machines talk over: only who has several needs it.
local function net(found)
  local version, message = core.net.library()
  if version then
    found:add { "ok", "libnats", version, figures = { { "version", version } } }
  else
    found:add { "!!", "libnats", message, advice = {
      "to do: nothing, unless several machines are to work together (docs/howto/cluster.md)" } }
  end
end

local function file(found, what, path, advice)
  local f = io.open(path, "rb")
  if f then
    f:close()
    found:add { "ok", what, path }
  else
    found:add { "!!", what, path .. " is not there", advice = { "to do: " .. advice } }
  end
end

local function examine(o)
  local found = gi.findings.new { silent = o.json }
  local version, cores = core.system.version(), core.system.cores()
  found:add { "ok", "gilua", ("%s, %s, %d core%s, library in %s"):format(version, _VERSION, cores,
    cores == 1 and "" or "s", core.home), figures = { { "version", version }, { "cores", cores },
    { "home", core.home } } }
  compiler(found)
  linker(found)
  llvm(found)
  driver(found)
  cupti(found)
  box(found)
  net(found)
  file(found, "brain", os.getenv("GILUA_BRAIN") or "/usr/share/mricron/templates/ch2bet.nii.gz",
    "apt-get install mricron-data, or set GILUA_BRAIN to a skull-stripped NIfTI image; without it "
    .. "experiments use a ball")
  file(found, "reference", core.home .. "/kernels/niftyreg/reference.so", "`make` builds it")
  local emu <close> = gi.device("emu")
  found:add { "ok", "virtual GPU", ("%s, kernels are %s"):format(emu, emu:info().engine) }
  local value = gi.json.object { { "ok", found.all_well }, { "findings", found:value() } }
  if found.all_well then return value end
  return value, ends.STATUS.world, "not every kernel can be compiled here: see above"
end

return function()
  local o = gi.cli {
    takes = "",
    doc = "Tells what this machine has, and what to do about what it lacks.", answer.JSON,
  }
  return answer.given(o, examine)
end
