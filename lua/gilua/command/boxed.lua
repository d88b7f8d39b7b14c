--- boxed: refuses to open a stranger's file when the workers cannot be put in a box.
---
--- The box needs Landlock and seccomp (docs/security.md). When the kernel lacks one of them, a
--- command that compiles or runs a kernel refuses every file, since nobody vouches for it. The user
--- can allow it: --no-box uses as much of the box as there is, and GILUA_BOX=off in the environment
--- uses none. The first line of output says which. A worker refuses its jobs if it cannot enter a
--- box that the kernel claims to have.

local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local fail = require "gilua.base.fail"
local printable = require "gilua.base.printable"

local M = {}

--- The option, for a command's list.
M.OPTION = { name = "no-box", default = false,
  doc = "go on where this machine cannot shut workers in (docs/security.md)" }

-- What is open on this machine; nil where nothing is.
local function open_here()
  local box = core.farm.box()
  if not box.calls then
    return "workers are not shut in: this kernel has no seccomp, so that a kernel's code may start "
      .. "programs and reach the network"
  elseif box.landlock == 0 then
    return "workers are not shut in: this kernel has no Landlock (Linux 5.13 or newer), so that "
      .. "they may write your files, and an #include may read them"
  end
end

--- Says what is open; refuses, unless the person vouches for what is opened.
---@param o table options of the command
function M.require(o)
  if os.getenv "GILUA_BOX" == "off" then
    printable.complain "GILUA_BOX=off: workers are not shut in, and may do what you may"
    return
  end
  local open = open_here()
  crew.needs_box = not o["no-box"]
  if not open then return end
  if not o["no-box"] then
    fail("%s. Nothing is opened: add --no-box if you trust what you name (docs/security.md)", open)
  end
  printable.complain(open .. " (--no-box)")
end

return M
