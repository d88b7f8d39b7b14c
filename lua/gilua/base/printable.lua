--- printable: text from elsewhere (a compiler's words, names, lines of a source) as a terminal may
--- have it. A control character in it could move the cursor, hide what was said, answer in the
--- user's name: each is shown as \x1b instead. So are marks that turn the direction of writing, and
--- bytes that are no UTF-8. Line ends and tabs stay. The host's errors go through the same in C
--- (gi_printable in src/base).

local M = {}

local function shown(bytes)
  return (bytes:gsub(".", function(c) return ("\\x%02x"):format(c:byte()) end))
end

local HIDDEN = {
  "[%z\1-\8\11-\31\127]", -- ASCII's
  "\xC2[\x80-\x9F]", -- those of Latin 1
  "\xE2\x80[\x8E\x8F\xA8-\xAE]", "\xE2\x81[\xA6-\xA9]", -- directions, lines that are none
}

---@param text string
---@return string
function M.text(text)
  text = text:gsub("\r\n", "\n")
  for _, pattern in ipairs(HIDDEN) do text = text:gsub(pattern, shown) end
  if not utf8.len(text) then text = text:gsub("[\x80-\xFF]", shown) end
  return text
end

--- print, for what may hold text from elsewhere.
function M.print(...)
  local list = table.pack(...)
  for i = 1, list.n do list[i] = M.text(tostring(list[i])) end
  print(table.unpack(list, 1, list.n))
end

--- Writes text to standard output: as it is into a file, printable to a terminal.
---@param text string
---@param is_terminal boolean
function M.write(text, is_terminal)
  io.write(is_terminal and M.text(text) or text)
end

return M
