--- `gilua doctor`: what this machine has, and what to do about what it lacks.

local fail = require "gilua.base.fail"
local core = require "gilua.core"

local function line(mark, what, detail)
  print(("%-4s %-12s %s"):format(mark, what, detail))
end

local function compiler()
  local info, message = core.compile.info()
  if info then
    line("ok", "NVRTC", ("%s, %s, targets compute_%d to compute_%d"):format(info.version, info.path,
      info.targets[1], info.targets[#info.targets]))
  else
    line("no", "NVRTC", message)
    line("", "", "to do: `make deps` fetches it into deps/nvrtc; or set CUDA_HOME to a toolkit")
  end
  return info ~= nil
end

local function driver()
  local d = core.system.driver()
  if not d.loaded then
    line("no", "CUDA driver", d.why_not)
    line("", "", "nothing to do: the virtual GPU (--device emu) needs none")
    return
  end
  line("ok", "CUDA driver", ("%d.%d"):format(d.version // 1000, d.version % 1000 // 10))
  for i, gpu in ipairs(d.gpus) do
    line("ok", "GPU " .. i - 1, ("%s, compute %d.%d, %.0f GiB"):format(gpu.name, gpu.compute // 10,
      gpu.compute % 10, gpu.memory_bytes / 2 ^ 30))
  end
  if #d.gpus == 0 then line("no", "GPU", "the driver reports none") end
end

--- What shuts workers in. What an older kernel lacks is no fault of the machine's.
local function box()
  local b = core.farm.box()
  local files = b.landlock > 0 and ("files read-only (Landlock %d)"):format(b.landlock)
    or "files are NOT read-only: this kernel has no Landlock (Linux 5.13)"
  local calls = b.calls and "no network, no programs (seccomp)"
    or "calls are NOT filtered: this kernel has no seccomp"
  if os.getenv "GILUA_BOX" == "off" then
    line("no", "workers' box", "GILUA_BOX=off: a problem may do on this machine what you may")
  else
    line((b.landlock > 0 and b.calls) and "ok" or "no", "workers' box", calls .. "; " .. files)
  end
end

local function file(what, path, advice)
  local f = path and io.open(path, "rb")
  if f then
    f:close()
    line("ok", what, path)
  else
    line("no", what, ("%s is not there"):format(path or "its file"))
    line("", "", "to do: " .. advice)
  end
end

return function()
  line("ok", "gilua", ("%s, %s, %d cores, library in %s"):format(core.system.version(), _VERSION,
    core.system.cores(), core.home))
  local ready = compiler()
  driver()
  box()
  file("brain", os.getenv("GILUA_BRAIN") or "/usr/share/mricron/templates/ch2bet.nii.gz",
    "apt-get install mricron-data, or set GILUA_BRAIN to a skull-stripped NIfTI image; without it "
    .. "experiments use a ball")
  file("reference", core.home .. "/kernels/niftyreg/reference.so", "`make` builds it")
  line("ok", "virtual GPU", tostring(require("gilua").device("emu")))
  if not ready then fail("without NVRTC no mutant can be compiled: see above") end
end
