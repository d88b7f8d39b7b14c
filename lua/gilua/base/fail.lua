--- gilua: a refusal. The library takes it from here; scripts call it gi.fail.

--- Raises a sentence for a person: it is printed without a traceback, and the exit code is 1.
---@param format string
local function fail(format, ...)
  local message = select("#", ...) > 0 and format:format(...) or format
  error(setmetatable({ message = message }, { __tostring = function(e) return e.message end }), 0)
end

return fail
