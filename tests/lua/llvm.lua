-- LLVM as the compiler: clang and libLLVM on the way from a source to its measurement, and what is
-- said where they are not there.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local problems = require "problems"
local scratch = require "scratch"
local tap = require "tap"
local core = require "gilua.core"
local gi = require "gilua"

local info, missing = core.llvm.info()

tap.case("a place where there is no LLVM is named", function()
  local script = tap.folder() .. "/none.lua"
  scratch.write(script, [[
    local core, gi = require "gilua.core", require "gilua"
    print((select(2, core.llvm.info())))
    print((select(2, gi.compile("", { compiler = "llvm" }))))
    gi.options.compiler = "llvm"
    print(select(2, pcall(gi.farm, gi.problem "kernels/heat")))
  ]])
  local pipe <close> = assert(io.popen(("GILUA_LLVM=/nowhere %s %s 2>&1"):format(
    core.system.program(), script)))
  local said = pipe:read "a"
  local _, n = said:gsub("GILUA_LLVM is '/nowhere', where there is no libLLVM of version 19", "")
  tap.is(n, 3, "in each of three places: " .. said)
end)

tap.case("a library that cannot be loaded says why", function()
  local folder <close> = gi.tempfolder.new()
  scratch.write(folder.path .. "/libLLVM.so", "no library")
  local pipe <close> = assert(io.popen(("GILUA_LLVM=%s/libLLVM.so %s doctor 2>&1"):format(
    folder.path, core.system.program())))
  tap.has(pipe:read "a", "which cannot be loaded: " .. folder.path .. "/libLLVM.so:", "why")
end)

if not info or not info.clang then
  tap.skip(missing or "there is no clang of LLVM " .. info.version)
  tap.done()
  return
end

local SOURCE = [[
#ifdef LATE
#error too late
#endif
extern "C" __global__ void k(float *y, const float *x, int n)
{
    __shared__ float s[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    float a = s[threadIdx.x] * 2.0f + 1.0f;
    if (i < n) y[i] = sqrtf(a);
}
]]

local PROBLEM = [[{ source = "kernel.cu", kernel = "k", size = 1000, block_size_x = 64,
  args = { { name = "y", type = "f32", count = "size_x", role = "out" },
    { name = "x", type = "f32", count = "size_x" },
    { name = "n", type = "i32", value = "size_x" } },
  tune_params = { compiler = { "nvrtc", "llvm" }, passes = { "O3", "O0", "sroa,gvn,nonsense" } },
}]]

tap.case("every kernel of kernels/ has right answers when LLVM compiled it", function()
  local device <close> = gi.device "emu"
  for _, name in ipairs(problems.names()) do
    local problem = gi.problem("kernels/" .. name)
    local values = problem:values()
    local source = problem.grammar:guard(false) .. "#line 1\n" .. problem.grammar:apply ""
    local code, why = gi.compile(source, { compiler = "llvm", target = "compute_90",
      options = problem:compile_options(values) })
    tap.ok(code, name .. ": " .. tostring(code and "PTX" or why))
    local runner = gi.runner.new(problem, device)
    runner:use(problem:case(assert(problem:prepared(problem.checked_case))))
    local m = runner:measure({ code = code, values = values }, { budget = 0 })
    tap.is(m.status, "ok", name .. ": " .. tostring(m.message))
    tap.has(code, "LLVM NVPTX Back-End", name .. ", by LLVM")
  end
end)

tap.case("all of the header compiles, and what is a template of it, too", function()
  local code, why = gi.compile([[ // atomicAdd __ldg __stcs tex1D char2 short2 long2 double2
    extern "C" __global__ void f(float *x, double *y, cudaTextureObject_t t, int *z)
    {
        y[0] = __shfl_sync(~0u, y[1], 3) + __shfl_xor_sync(~0u, x[0], 1);
        x[1] = tex2D<float4>(t, x[2], x[3]).w + tex3D<float>(t, x[2], x[3], x[4]);
        x[2] = tex1D<uint2>(t, x[5]).y + __ldcv(x + 7) + rsqrtf(x[8]) + __int_as_float(z[1]);
        atomicCAS(z, 1, 2); atomicExch(x + 3, 1.0f); atomicMax(z + 1, 7); atomicAdd(y + 2, 1.0);
        __stwt(x + 9, __expf(x[9])); z[4] = __clz(z[5]) + __mul24(z[6], z[7]) + __ffs(z[8]);
        dim3 all = gridDim; z[9] = all.x * blockDim.y + __syncthreads_count(z[10] > 0);
    }]], { compiler = "llvm", target = "compute_90" })
  tap.ok(code, code and "PTX" or why)
end)

-- What a kernel k(double *y, const float *x) writes for 64 numbers, n values each.
local function answers(compiler, source, n)
  local device <close> = gi.device "emu"
  local code, why = gi.compile(source, { compiler = compiler, target = device:target() })
  if not code then return nil, why end
  local x = gi.array("f32", 64)
  for i = 1, 64 do x[i] = (i - 24) / 9 end
  local y = device:buffer(gi.array("f64", 64 * n))
  local module = assert(device:load(code))
  local m = module:launch { grid = 1, block = 64, args = { y, device:buffer(x) } }
  return m.status == "ok" and y:read(), m.message
end

-- Both compilers make the same numbers, NaN where the other has it.
local function same(what, source, n)
  local ours, why = answers("llvm", source, n)
  local theirs = assert(answers("nvrtc", source, n))
  if not ours then return tap.ok(false, what .. ": " .. tostring(why)) end
  local differ
  for i = 1, 64 * n do
    if ours[i] ~= theirs[i] and (ours[i] == ours[i] or theirs[i] == theirs[i]) then
      differ = differ or ("value %d is %s, NVRTC's is %s"):format(i, ours[i], theirs[i])
    end
  end
  tap.is(differ, nil, what)
end

local libdevice, lacks = core.compile.libdevice()

tap.case("mathematical functions are CUDA's, bit for bit", function()
  if not libdevice then return tap.skip(lacks) end
  local lines = {}
  for each in ([[sinf(v); exp2f(v); logf(v); tanhf(v); erff(v); cbrtf(v); lgammaf(v); roundf(v)
      exp(v); sin((double)v); log((double)v); pow((double)v, 2); powf(v, 2.3f); atan2f(v, 0.3f)
      fmodf(v, 0.7f); hypotf(v, 3.0f); ldexpf(v, 3); frexpf(v, &e) + e; modff(v, &s) + s
      (sincosf(v, &s, &c), s * c); lroundf(v); isfinite(v) + 2 * signbit(v); normcdff(v)
      __fadd_ru(v, 0.1f); __fdiv_rz(v, 3.0f); __dmul_rd(v, 0.1); __double2int_ru(v); __tanf(v)
      __hiloint2double(3, i); rsqrt((double)v); copysign(2.0f, v)
      pow(v, 3); pow(3, v); pow(v, 2.5); fmod(v, 2); atan2(i, v); hypot(i, 2)
      fmax(v, i)]]):gmatch "[^;\n]+" do
    lines[#lines + 1] = ("y[%d + i] = %s;"):format(#lines * 64, each)
  end
  same("as NVRTC's", [[extern "C" __global__ void k(double *y, const float *x) {
    int i = threadIdx.x, e = 0; float v = x[i], s = 0, c = 0; ]] .. table.concat(lines, "\n")
    .. "}", #lines)
end)

tap.case("halves, groups and the C++ library are read from CUDA's own headers", function()
  if not core.compile.info().include then return tap.skip "NVRTC has no CUDA headers beside it" end
  same("halves", [[
    #include <cuda_bf16.h>
    #include <cuda_fp16.h>
    extern "C" __global__ void k(double *y, const float *x)
    {
        int i = threadIdx.x;
        __half h = __float2half(x[i]), g = h * h + __hmul(h, __float2half(0.3f));
        __half2 two = __hfma2(__half2half2(h), __half2half2(g), __half2half2(h));
        y[i] = __half2float(g) + __high2float(two) + (float)hexp(h);
        __nv_bfloat16 b = __float2bfloat16(x[i]);
        y[i + 64] = (float)(b * b);
    }]], 2)
  same("the C++ library", [[
    #include <cuda/std/complex>
    #include <cuda/std/limits>
    #include <cuda/std/utility>
    extern "C" __global__ void k(double *y, const float *x)
    {
        float a = x[threadIdx.x], b = 3.0f;
        if (a > 1.0f) cuda::std::swap(a, b);
        cuda::std::complex<float> z(a, b);
        y[threadIdx.x] = (z * z).real() + cuda::std::numeric_limits<short>::max();
    }]], 1)
  same("groups", [[
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(double *y, const float *x)
    {
        auto block = cg::this_thread_block();
        auto warp = cg::tiled_partition<32>(block);
        auto four = cg::tiled_partition<4>(block);
        int i = block.thread_rank();
        block.sync();
        y[i] = warp.shfl_down(x[i], 3) + cg::reduce(warp, i * 3, cg::plus<int>());
        y[i + 64] = four.any(x[i] > 1.0f) + cg::this_grid().thread_rank() * 10;
    }]], 2)
end)

tap.case("what a kernel prints and asserts", function()
  local source = [[#include <cassert>
    extern "C" __global__ void k(double *y, const float *x)
    {
        int i = threadIdx.x;
        assert(x[0] < %s);
        if (i == 2) printf("%%d is %%.1f\n", i, x[2]);
        y[i] = 1;
    }]]
  tap.ok(answers("llvm", source:format "9.0f", 1), "an assertion that holds")
  local _, why = answers("llvm", source:format "-9.0f", 1)
  tap.has(why, "x[0] < -9.0f", "one that does not")
end)

tap.case("without libdevice a kernel that wants it is told so", function()
  local script = tap.folder() .. "/none.lua"
  scratch.write(script, [[
    local gi = require "gilua"
    print(gi.compile("extern \"C\" __global__ void k(float *x) { *x = sqrtf(*x); }",
      { compiler = "llvm" }) and "one instruction needs none")
    print((select(2, gi.compile("__global__ void k(float *x) { *x = expf(*x); }",
      { compiler = "llvm" }))))
  ]])
  local function said(command)
    local pipe <close> = assert(io.popen(("GILUA_LIBDEVICE=/nowhere %s %s 2>&1"):format(
      core.system.program(), command)))
    return (pipe:read "a")
  end
  local both = said(script)
  tap.has(both, "one instruction needs none\n", "sqrtf")
  tap.has(both, "line 1: use of undeclared identifier 'expf' (GILUA_LIBDEVICE is '/nowhere', where "
    .. "there is no libdevice", "expf")
  tap.has(said "doctor", "without mathematics: GILUA_LIBDEVICE is '/nowhere'", "and so does doctor")
end)

tap.case("a GPU's machine code is assembled of it", function()
  if not core.compile.linker() then return tap.skip "there is no nvJitLink" end
  local code = assert(gi.compile(SOURCE, { compiler = "llvm", target = "sm_90" }))
  tap.is(code:sub(2, 4), "ELF", "a cubin")
  tap.ok(core.compile.code_hash(code, "k"), "with the kernel in it")
end)

tap.case("the compiler is a gene, and its passes are another", function()
  local problem = gi.problem(scratch.problem(SOURCE, PROBLEM))
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local m = farm:evaluate({ "", "compiler=llvm", "compiler=llvm passes=O0",
    "passes=O0", "compiler=llvm passes=sroa,gvn,nonsense", "compiler=llvm LATE" },
    { seed = 1 })
  local status = {}
  for i, each in ipairs(m) do status[i] = each.status end
  tap.is(table.concat(status, " ", 1, 5), "ok ok ok ok compile_error")
  tap.has(m[5].message, "does not run the pass 'nonsense'", "a pass that is none")
  tap.is(m[4].ticks, m[1].ticks, "passes are nothing to NVRTC")
  tap.ok(m[3].ticks > m[2].ticks, "without passes it is slower")
  tap.has(farm:ptx "compiler=llvm", "LLVM NVPTX Back-End", "LLVM made it")
  tap.ok(not farm:ptx "":find("LLVM", 1, true), "and not the kernel as it is")
end)

tap.case("what clang does not take has its line, and what the header lacks is named", function()
  local function said(source, options)
    options = options or {}
    options.compiler = "llvm"
    local code, why, kind = gi.compile(source, options)
    tap.is(code, nil, source)
    return ("%s: %s"):format(kind, why)
  end
  tap.is(said "\nint x = ;", "compile: line 2: expected expression", "a line")
  tap.has(said "extern \"C\" __global__ void f(float *x) { *x = surf2Dread<float>(0, 1, 2); }",
    "'surf2Dread' (gilua's header for LLVM has what docs/llvm.md lists)")
  tap.has(said "#include <none.h>", "reads CUDA's headers of halves and cooperative groups where")
  tap.has(said("int x;", { options = { "-dlto" } }), "nothing like NVRTC's option '-dlto'")
  tap.has(said("int x;", { target = "compute_999" }), "for the target 'compute_999'")
end)

tap.case("a header that is read before the source", function()
  local folder = tap.folder()
  scratch.write(folder .. "/first.h", "#define MORE 3\n")
  local options = { "--pre-include=first.h" }
  local source = 'extern "C" __global__ void f(int *x) { *x = MORE; }'
  local ptx = assert(gi.compile(source, { compiler = "llvm", include = { folder },
    options = options }))
  tap.has(ptx, ".entry f(", "is clang's, too")
end)

-- What a clang of the test's own does to a kernel's fate.
local function fate(script)
  local folder = tap.folder()
  local program = folder .. "/clang"
  scratch.write(program, "#!/bin/sh\n" .. script .. "\n")
  os.execute("chmod +x " .. program)
  local problem = scratch.problem(SOURCE, PROBLEM)
  scratch.write(folder .. "/t.lua", ([[
    local gi = require "gilua"
    local farm <close> = gi.farm(gi.problem(%q), { jobs = 1, compile_timeout_s = 1 })
    local m = farm:evaluate({ "", "compiler=llvm" }, { seed = 1 })
    print(m[1].status, m[2].status, m[2].message)
  ]]):format(problem))
  local pipe <close> = assert(io.popen(("GILUA_CLANG=%s %s %s/t.lua 2>&1"):format(program,
    core.system.program(), folder)))
  return pipe:read "a"
end

tap.case("a clang that crashes, or never ends, is the mutant's fate", function()
  tap.is(fate "exit 139", "ok\tcrash\tclang ended with status 139\n", "a crash")
  tap.has(fate "while :; do :; done", "ok\ttimeout\t", "one without an end")
end)

tap.case("clang opens nothing that it was not told of", function()
  if core.farm.box().landlock == 0 then return tap.skip "this kernel has no Landlock" end
  local _, why = gi.compile('#include "/etc/passwd"\n', { compiler = "llvm" })
  tap.has(why, "cannot open file '/etc/passwd'", "whatever an #include says")
end)

tap.case("lines of the source are those of the source", function()
  local code = assert(gi.compile(SOURCE, { compiler = "llvm", target = "compute_90" }))
  local lines, bar = {}, nil
  for _, i in ipairs(gi.ptx(code):instructions()) do
    lines[i.line] = true
    if i.text:find "^bar.sync" then bar = i.line end
  end
  tap.is(bar, 9, "the barrier's")
  for line in pairs(lines) do tap.ok(line <= 12, "no line of the header: " .. line) end
end)

tap.case("options mean to clang what they mean to NVRTC", function()
  local function ptx(...)
    return assert(gi.compile("extern \"C\" __global__ void f(float *x, float a)"
      .. "{ *x = *x * a + N; }", { compiler = "llvm", options = { "-DN=3", ... } }))
  end
  tap.has(ptx(), "fma.rn.f32", "fused")
  tap.has(ptx "-fmad=false", "mul.rn.f32", "not fused")
  tap.has(ptx "-ftz=true", "fma.rn.ftz.f32", "without subnormal numbers")
  tap.is(ptx "-maxrregcount=32", ptx(), "registers are the assembler's")
end)

tap.done()
