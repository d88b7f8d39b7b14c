--- The honest problem of the hostile suite, whose code attacks the machine of whoever runs it, as
--- a problem from a stranger may: a case { attack = NAME, path = a file of the victim's }. An
--- attack that succeeds goes on to an honest case; one that is refused raises what the system said.

local gi = require "gilua"
local lfs = require "lfs"

local here = debug.getinfo(1, "S").source:match("^@(.*/)") or "./"
local problem = assert(loadfile(here .. "../problem/problem.lua"))()

local function write(path, mode)
  local f = assert(io.open(path, mode))
  f:write("stolen\n")
  f:close()
end

--- A function of the C library with whole numbers as arguments; its result, which must not be -1.
local function call(name, ...)
  local arguments = {}
  for i, value in ipairs { ... } do arguments[i] = { "i64", value } end
  local libc = assert(gi.library "libc.so.6")
  local result = libc:call(name, arguments, "i32")
  if result == -1 then error(name .. ": Operation not permitted", 0) end
  return result
end

local AF_UNIX, AF_INET, AF_INET6, STREAM, DGRAM = 1, 2, 10, 1, 2

local attacks = {
  write = function(path) write(path, "w") end,
  append = function(path) write(path, "a") end,
  update = function(path) write(path, "r+") end,
  make = function(path) write(path .. ".new", "w") end,
  remove = function(path) assert(os.remove(path)) end,
  rename = function(path) assert(os.rename(path, path .. ".gone")) end,
  folder = function(path) assert(lfs.mkdir(path .. ".folder")) end,
  link = function(path) assert(lfs.link(path, path .. ".link")) end,
  symlink = function(path) assert(lfs.link("/etc/passwd", path .. ".link", true)) end,
  touch = function(path) assert(lfs.touch(path, 0, 0)) end,
  shell = function(path) assert(os.execute("echo stolen > " .. gi.shell.quoted(path))) end,
  pipe = function(path)
    assert(assert(io.popen("cat >> " .. gi.shell.quoted(path), "w")):write("stolen\n"):close())
  end,
  reader = function() assert(io.popen("id", "r")) end,
  library = function(path) -- its own copy of a library of somebody's
    write(path .. ".so", "w")
    assert(package.loadlib(path .. ".so", "*"))
  end,
  tcp = function() call("socket", AF_INET, STREAM, 0) end,
  udp = function() call("socket", AF_INET6, DGRAM, 0) end,
  daemon = function() call("socket", AF_UNIX, STREAM, 0) end,
  fork = function() if call("fork") == 0 then os.exit(0) end end,
  leave = function() call("setsid") end,
  kill = function() call("kill", call("getppid"), 0) end,
  everybody = function() call("kill", -1, 0) end,
  trace = function() call("ptrace", 16, call("getppid"), 0, 0) end,
  namespace = function() call("unshare", 0x10000000) end,
  mount = function() call("chroot", 0) end,
  outlive = function() call("prctl", 1, 0, 0, 0, 0) end,
  large = function() write(os.tmpname(), "w") call("truncate", 0, 1 << 50) end,
  -- what a problem may do
  honest = function() end,
  own = function() write(os.tmpname(), "w") end,
  temporary = function() assert(io.tmpfile()):write("mine"):close() end,
  read = function(path) assert(io.open(path)):close() end,
}

local honest_case = problem.case

problem.name = "box"
problem.source = "../problem/kernel.cu"
function problem.case(self, spec)
  if spec.attack then attacks[spec.attack](spec.path) end
  return honest_case(self, spec)
end

return problem
