-- core.compile.link: PTX to machine code by nvJitLink, as scripts see it.
package.path = "tests/lua/?.lua;" .. package.path
local tap = require "tap"
local core = require "gilua.core"

local TARGET = { target = "sm_90" }
local linker, why = core.compile.linker()
if not linker then
  tap.skip(why)
  tap.done()
  return
end

local kernel = [[extern "C" __global__ void k(float *x) { x[0] = 1; }]]
local ptx = assert(core.compile.compile(kernel, { target = "compute_90" }))

tap.has(linker.version, ".", "the library's version")
local code = core.compile.link({ ptx }, TARGET)
tap.is(code:sub(1, 4), "\127ELF", "a kernel is assembled")
tap.is(core.compile.link({ ptx }, TARGET), code, "twice the same, to the byte")

local caller = [[extern "C" __device__ float f(int);
extern "C" __global__ void k(float *x) { x[0] = f(1); }]]
local half = assert(core.compile.compile(caller,
  { target = "compute_90", options = { "-rdc=true" } }))
local none, log, kind = core.compile.link({ half }, TARGET)
tap.is(none, nil, "a module that lacks a function is not")
tap.has(log, "'f'", "the log says which")
tap.is(kind, "compile", "a failure of the texts")

tap.raises(function() core.compile.link({}, TARGET) end, "the list is empty", "no module")
tap.raises(function() core.compile.link { ptx } end, "which target", "no target")
tap.raises(function() core.compile.link({ 1 }, TARGET) end, "modules are PTX", "no text")
tap.raises(function() core.compile.link({ ptx }, { targt = "sm_90" }) end, "target", "misspelt")
local _, message, usage = core.compile.link({ ptx }, { target = "sm_17" })
tap.is(usage, "usage", "an unknown target is misuse")
tap.has(message, "sm_17", "which is named")

tap.done()
