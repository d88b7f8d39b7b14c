-- run: `make mutants`: do the tests notice one-line changes of our own sources? judge.lua says how.
--
--   make mutants FILE=lua/gilua/facts/once.lua N=20 SEED=1
--   gilua tests/mutants/run.lua FILE… --count 20 --seed 1        the same, from the root

package.path = "tests/mutants/?.lua;" .. package.path
local gi = require "gilua"
local judge = require "judge"
local lfs = require "lfs"
local shell = require "gilua.base.shell"

local COPIED = "Makefile README.md CHANGELOG.md CONTRIBUTING.md src lua tests kernels "
  .. "experiments data docs gilua lib .ci"
local BUILT = "obj flags libgilua.a modules.bin modules.o modules.s precompile gilua"

io.stdout:setvbuf "line"

local options = gi.cli {
  doc = "Try one-line changes of our own sources, and say which no test notices.",
  positional = { { name = "file", many = true, doc = "a Lua or C file, from the root" } },
  { name = "count", default = 20, min = 1, doc = "mutants of each file" },
}

local function execute(format, ...)
  local command = format:format(...)
  if not os.execute(command) then gi.fail("this command failed: %s", command) end
end

local function copy_tree(folder, has_c)
  local to = shell.quoted(folder)
  execute("mkdir -p %s/build && cp -a %s %s/", to, COPIED, to)
  if has_c then execute("cd build && cp -a %s %s/build/", BUILT, to) end
  execute("if [ -d deps ]; then ln -s \"$PWD/deps\" %s/deps; fi", to)
end

local function has_c_file(files)
  for _, file in ipairs(files) do
    if file:find "%.c$" then return true end
  end
  return false
end

-- The rows of the table; the copy goes, however it ends.
local function judged()
  local name = os.tmpname()
  os.remove(name)
  local folder = lfs.currentdir() .. "/build/mutants/" .. name:match "[^/]*$"
  local _ <close> = setmetatable({}, { __close = function()
    execute("rm -rf %s", shell.quoted(folder))
  end })
  copy_tree(folder, has_c_file(options.file))
  return judge.run {
    folder = folder, files = options.file, count = options.count, seed = options.seed,
    covers = dofile "tests/mutants/covers.lua", explained = dofile "tests/mutants/explained.lua",
    command = function(test) return "tests/run " .. shell.quoted(test) end,
    build = has_c_file(options.file) and function(test)
      return "make -s " .. (test:find "^build/" and shell.quoted(test) or "gilua")
    end or nil,
    say = print,
  }
end

for _, row in ipairs(judged()) do
  if row.survived > 0 then os.exit(1) end
end
