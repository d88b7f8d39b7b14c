--- fail: refuses with a message. Modules of gilua use it from here; scripts call it gi.fail.

local ends = require "gilua.base.ends"

--- Raises a sentence for a person: it is printed without a traceback, and the exit code is 1.
---@param format string
local function fail(format, ...)
  ends.with(ends.STATUS.world, format, ...)
end

return fail
