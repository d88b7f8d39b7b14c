--- shell: quotes words for the shell's command line.

local M = {}

--- The text as one word of a command: whatever is in it, the shell takes it as it stands.
---@param text string
---@return string
function M.quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- The same for a command that is shown to a person: quoted only where it has to be.
---@param text string
---@return string
function M.word(text)
  return text:find "^[%w_./:=@%%+,-]+$" and text or M.quoted(text)
end

return M
