--- gilua: words for the shell's command line.

local M = {}

--- The text as one word of a command: whatever is in it, the shell takes it as it stands.
---@param text string
---@return string
function M.quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

return M
