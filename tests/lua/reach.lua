-- What the compiler can open: the folders of its options, and nothing else, however an #include is
-- spelt and however deep it stands. Files outside are not written either.
package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local core = require "gilua.core"
local gi = require "gilua"
local lfs = require "lfs"

if core.farm.box().landlock == 0 then
  tap.skip "this kernel has no Landlock: an #include can name every file"
  tap.done()
  return
end

local top = os.tmpname()
os.remove(top)
local inside, outside = top .. "/inside", top .. "/outside"
for _, folder in ipairs { top, inside, outside } do assert(lfs.mkdir(folder)) end

local function write(path, text)
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
end

local KERNEL = '\nextern "C" __global__ void k(float *x) { x[0] = SECRET; }\n'
write(outside .. "/secret.h", "#define SECRET 7\n")
write(inside .. "/own.h", "#define SECRET 1\n")
write(inside .. "/hop.h", '#include "../outside/secret.h"\n')
assert(lfs.link(outside .. "/secret.h", inside .. "/link.h", true))

local function compiled(text, options)
  local code, message = gi.compile(text .. KERNEL, { options = options or { "-I" .. inside } })
  return code and "compiles" or message
end

tap.case("what the folders of the options hold can be included", function()
  tap.is(compiled '#include "own.h"', "compiles", "by name")
  tap.is(compiled '#include <own.h>', "compiles", "in angles")
  tap.is(compiled('#include "' .. inside .. '/own.h"'), "compiles", "by its whole path")
  tap.is(compiled("", { "-include=" .. outside .. "/secret.h" }), "compiles", "a file they name")
  tap.is(compiled('#include "hop.h"', { "-I" .. inside, "-I" .. outside }), "compiles",
    "another folder that is listed")
  tap.is(compiled "#include <cuda_fp16.h>\n#include <cuda/std/limits>\n#define SECRET 1",
    "compiles", "CUDA's headers")
end)

tap.case("nothing else can, in any spelling", function()
  local path = '"' .. outside .. '/secret.h"'
  for _, text in ipairs { "#include " .. path, "#include <" .. outside .. "/secret.h>",
    '#include "../outside/secret.h"', "#include <../outside/secret.h>", "%:include " .. path,
    "#inc\\\nlude " .. path, "/* */ # /* */ include /**/" .. path, "#include_next " .. path,
    "#define WHICH " .. path .. "\n#include WHICH", '#include "hop.h"', '#include "link.h"',
    '#include "/etc/passwd"' } do
    tap.has(compiled(text), "cannot open source file", (text:gsub("\n", " ")))
  end
  tap.is(compiled("#if __has_include(" .. path .. ")\n#error there\n#endif\n#define SECRET 1"),
    "compiles", "nor can it be asked whether one is there")
end)

tap.case("nor what lies where gilua was started", function()
  local here = lfs.currentdir()
  assert(lfs.chdir(outside))
  local message = compiled '#include "secret.h"'
  assert(lfs.chdir(here))
  tap.has(message, "cannot open source file", "by name")
end)

tap.case("a batch is shut in too, and this process is not", function()
  local source = '#include "' .. outside .. '/secret.h"' .. KERNEL
  local results = assert(gi.compile.batch({ { source = source, names = { "k" } } },
    { options = { "-I" .. inside } }))
  tap.has(results[1].message, "cannot open source file", "its message")
  write(outside .. "/new.h", "")
  tap.ok(io.open(outside .. "/secret.h"):close(), "afterwards all is as before")
end)

tap.case("gilua new overwrites no header that is included by a way out of its folder", function()
  local text = "inline void f() { unknown_to_a_gpu(); }\n#define N 4\n"
  write(outside .. "/host.h", text)
  write(inside .. "/k.cu", '#include "../outside/host.h"\n'
    .. "__global__ void k(float *x) { x[0] = N; }\n")
  local pipe <close> = io.popen(("cd %s && %s new --include outside inside/k.cu out 2>&1"):format(
    top, core.system.program()))
  tap.has(pipe:read "a", "out/ is ready", "a copy of it is cut, below the new folder")
  local header <close> = io.open(outside .. "/host.h")
  tap.is(header:read "a", text, "the header is what it was")
end)

for _, name in ipairs { "out/host.h", "out/kernel.cu", "out/problem.lua", "out/experiment.lua",
  "out", "inside/k.cu", "inside/own.h", "inside/hop.h", "inside/link.h",
  "outside/host.h", "outside/secret.h", "outside/new.h", "inside", "outside", "" } do
  os.remove(top .. "/" .. name)
end
tap.done()
