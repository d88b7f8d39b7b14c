-- pythontext: the CUDA of a Python file's strings as a source of the same lines, and back.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local pythontext = require "gilua.new.pythontext"
local headers = require "gilua.new.headers"
local scratch = require "scratch"

local KERNEL = [[
extern "C" __global__ void twice(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; // 'an odd quote
    if (i < n) y[i] = 2 * x[i];
}
]]
local FILE = ([[
"""Runs a kernel; __global__ is a word of CUDA's."""
import cupy  # it's a comment
name = 'it\'s "twice"'
helper = r"""
__device__ float two() { return 2; }
"""
code = helper + r'''
%s''' + "tail"
again = cupy.RawKernel(code, "twice")
]]):format(KERNEL)

local function source(text) return pythontext.source(text, "f.py") end

local function refused(text, pattern, what)
  local ok, why = pcall(source, text)
  tap.ok(not ok and tostring(why):find(pattern), what, tostring(why))
end

tap.case("the strings with device code, line by line where they stand", function()
  local text = source(FILE)
  tap.is(select(2, text:gsub("\n", "")), select(2, FILE:gsub("\n", "")), "as many lines")
  tap.is(text:gsub("/%*@%d+\n*%*/", "|"), "|\n__device__ float two() { return 2; }\n|\n"
    .. KERNEL .. "|", "and nothing of Python's")
  local n = 0
  for line in FILE:gmatch "([^\n]*)\n" do
    n = n + 1
    if line:find "2 %*" then break end
  end
  local at = 0
  for line in text:gmatch "([^\n]*)\n" do
    at = at + 1
    if at == n then tap.is(line, "    if (i < n) y[i] = 2 * x[i];", "a line is that line") end
  end
  tap.is(pythontext.file(text, FILE, "f.py"), FILE, "and back it is the file")
end)

tap.case("a changed source changes the string alone", function()
  local changed = source(FILE):gsub("2 %* x%[i%];", "x[i] + x[i];\n    // more")
  tap.is(pythontext.file(changed, FILE, "f.py"),
    (FILE:gsub("2 %* x%[i%];", "x[i] + x[i];\n    // more")), "with a line more")
  local plain = FILE:gsub("r'''", "'''")
  local ok, why = pcall(pythontext.file, source(plain):gsub("2 %*", "2 \\ *"), plain, "f.py")
  tap.ok(not ok and tostring(why):find "make it raw", "an escape in a plain string is refused", why)
  ok, why = pcall(pythontext.file, source(FILE):gsub("/%*@2\n*%*/", ""), FILE, "f.py")
  tap.ok(not ok and tostring(why):find "on lines of their own", "so is a lost place", why)
end)

tap.case("what Python alone knows is refused", function()
  refused("x = f'''" .. KERNEL .. "'''", "f.py:1: the kernel stands in an f%-string", "f-strings")
  refused("x = 1\ny = '''\n" .. KERNEL:gsub("// ", "\\t ") .. "'''", "f.py:4: .* has escapes",
    "escapes")
  refused("x = '__global__'\n", "f.py has no string with a kernel", "a file without a kernel")
  tap.ok(source("x = '''" .. KERNEL:gsub("int i", "\\\nint i") .. "'''"):find "twice",
    "a line that goes on is none")
end)

tap.case("headers reads such a file so", function()
  local path = tap.folder() .. "/f.py"
  scratch.write(path, FILE)
  tap.is(headers.read(path, "the kernel"), source(FILE), "by its name")
end)

tap.done()
