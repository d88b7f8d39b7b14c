-- printable: what a terminal may have; of scripts and of the host.
package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local core = require "gilua.core"
local gi = require "gilua"
local printable = require "gilua.base.printable"
local shell = require "gilua.base.shell"

tap.case("control characters are shown, all else stays", function()
  local function is(text, wanted, what) tap.is(printable.text(text), wanted, what) end
  is("line 3:\tα ≤ β 𝛼\n", "line 3:\tα ≤ β 𝛼\n", "letters, tabs and line ends")
  is("a\27[31mb\7", "a\\x1b[31mb\\x07", "escape sequences")
  is("a\0b\127c", "a\\x00b\\x7fc", "NUL and DEL")
  is("a\rb\r\nc", "a\\x0db\nc", "a carriage return, but for line ends of Windows")
  is("a\u{9b}31m", "a\\xc2\\x9b31m", "the control characters of Latin 1")
  is("a\x9b31m", "a\\x9b31m", "and their bytes alone")
  is("α\x9b31m", "α\\x9b31m", "beside letters, which stay")
  is("a\u{202e}b\u{2066}", "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6", "what turns the writing round")
  is("", "", "nothing")
end)

--- What the host says of an error with this text.
local function host_says(text)
  local path = os.tmpname()
  local f <close> = assert(io.open(path, "wb"))
  f:write(("error(setmetatable({}, { __tostring = function() return %q end }))"):format(text))
  f:flush()
  local pipe <close> = io.popen(shell.quoted(core.system.program()) .. " " .. path .. " 2>&1", "r")
  local said = pipe:read "a"
  os.remove(path)
  return said
end

tap.case("the host shows its errors so", function()
  local text = "\27[2Jé\u{85}\r\n\127\t𝛼"
  tap.is(host_says(text), "gilua: \\x1b[2Jé\\xc2\\x85\n\\x7f\t𝛼\n", "one sentence")
end)

tap.case("a compiler's words are shown, wherever they go", function()
  local _, message, _, log = gi.compile('#error "\27]0;title\7"\n')
  tap.has(message, "\\x1b]0;title\\x07", "the message")
  tap.is(log:find("\27", 1, true), nil, "the log")
end)

tap.case("the prompt shows a source's lines", function()
  local folder = os.tmpname()
  os.remove(folder)
  assert(require("lfs").mkdir(folder))
  local function write(name, text)
    local f <close> = assert(io.open(folder .. "/" .. name, "wb"))
    f:write(text)
  end
  write("k.cu", 'extern "C" __global__ void k(float *x)\n{\n    x[0] = 1; /* \27[2J */\n}\n')
  write("problem.lua", [[return { source = "k.cu", kernel = "k", size = 1,
    args = { { name = "x", type = "f32", count = 1, role = "out" } } }]])
  local p = gi.problem(folder)
  tap.has(tostring(p:show(3)), "/* \\x1b[2J */", "p:show")
  tap.is((tostring(p:show(3)) .. tostring(p:rules())):find("\27", 1, true), nil, "none is sent")
  for _, name in ipairs { "k.cu", "problem.lua" } do os.remove(folder .. "/" .. name) end
  os.remove(folder)
end)

tap.case("options of the compiler that write files are refused", function()
  local source = 'extern "C" __global__ void k(float *x) { x[0] = 1; }'
  local path = os.tmpname()
  os.remove(path)
  for _, option in ipairs { "-time=" .. path, "--time=" .. path, " --time=" .. path,
    "--create-pch=" .. path, "-fdevice-time-trace=" .. path, "--fdevice-time-trace=" .. path,
    "--use-pch=" .. path, "--pch", "-pch", "--pch-dir=" .. path, "--pch_dir=" .. path } do
    local code, message, kind = gi.compile(source, { options = { option } })
    tap.is(code, nil, option)
    tap.has(message, "writes or reads files of its own: it is refused", "with the reason")
    tap.is(kind, "usage", "as misuse")
    local ok, why = pcall(gi.compile.batch, { { source = source, names = { "k" } } },
      { options = { option } })
    local result = ok and select(2, gi.compile.batch({ { source = source, names = { "k" } } },
      { options = { option } })) or why
    tap.has(tostring(result), "it is refused", "in batches too")
  end
  for _, name in ipairs { path, path .. ".json" } do
    tap.is(io.open(name), nil, "nothing is written")
  end
  tap.ok(gi.compile(source, { options = { "--use_fast_math", "--prec-div=true" } }), "others go on")
end)

tap.done()
