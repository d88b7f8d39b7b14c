--- printable: makes foreign text (compiler messages, names, source lines) safe for a terminal. A
--- control character could move the cursor, hide output or type in the user's name: each is shown
--- as \x1b instead, as are marks that change the direction of writing and bytes that are not UTF-8.
--- Line ends and tabs stay. The host's errors go through gi_printable in src/base, which does the
--- same.

local core = require "gilua.core"

local M = {}

---@type fun(text: string): string
M.text = core.system.printable

--- print, for what may hold text from elsewhere. `M.before_line` is called first, where a line that
--- moves (gilua.base.liveline) has to go.
function M.print(...)
  if M.before_line then M.before_line() end
  local list = table.pack(...)
  for i = 1, list.n do list[i] = M.text(tostring(list[i])) end
  print(table.unpack(list, 1, list.n))
end

--- What goes wrong and ends nothing, on standard error: "gilua: …".
---@param text string
function M.complain(text) io.stderr:write("gilua: ", M.text(text), "\n") end

--- Writes text to standard output: as it is into a file, printable to a terminal.
---@param text string
---@param is_terminal boolean
function M.write(text, is_terminal)
  io.write(is_terminal and M.text(text) or text)
end

return M
