-- lines: a source during transformation: one text for each line of the unmodified source, so lines
-- keep their numbers after earlier changes.
--
-- The text of an edit becomes that of its first line, and may have several lines. The other lines
-- of its range become nil.

local M = {}

---@class gilua.lines: { n: integer } the i-th: a line's text without its end, or nil
---@field n integer how many the unmodified source has

--- The lines of a text.
---@param text string
---@return gilua.lines
function M.of(text)
  local list = { n = 0 }
  for line in (text:sub(-1) == "\n" and text or text .. "\n"):gmatch "([^\n]*)\n" do
    list.n = list.n + 1
    list[list.n] = line
  end
  return list
end

--- The text that lines are.
---@param lines gilua.lines
---@return string text
---@return integer[] origin of each line of the text, the one of the unmodified source
function M.text(lines)
  local parts, origin = {}, {}
  for i = 1, lines.n do
    for part in (lines[i] and lines[i] .. "\n" or ""):gmatch "([^\n]*)\n" do
      parts[#parts + 1], origin[#origin + 1] = part, i
    end
  end
  return table.concat(parts, "\n") .. "\n", origin
end

local function in_order(edits, n)
  local sorted = table.move(edits, 1, #edits, 1, {})
  table.sort(sorted, function(a, b) return a[1] < b[1] end)
  for i, edit in ipairs(sorted) do
    local before = sorted[i - 1]
    if edit[1] < 1 or edit[2] < edit[1] or edit[2] > n then
      return nil, ("an edit is of lines %d to %d of %d"):format(edit[1], edit[2], n)
    elseif before and before[2] >= edit[1] then
      return nil, ("two edits are of line %d"):format(edit[1])
    end
  end
  return sorted
end

--- Other lines, with edits made; nil and why where they cannot be.
---@param lines gilua.lines
---@param edits table[] { first, last, text }
---@return gilua.lines?
---@return string? message
function M.edited(lines, edits)
  local sorted, why = in_order(edits, lines.n)
  if not sorted then return nil, why end
  local new = { n = lines.n }
  for i = 1, lines.n do new[i] = lines[i] end
  for _, edit in ipairs(sorted) do
    for i = edit[1], edit[2] do new[i] = nil end
    new[edit[1]] = edit[3]
  end
  return new
end

--- Returns where two differ: each changed line of the new one, with the deleted lines behind it. So
--- each part names its lines.
---@param old gilua.lines
---@param new gilua.lines
---@return { first: integer, last: integer, text: string }[] text: with the ends of its lines
function M.parts(old, new)
  local list, open = {}, nil
  for i = 1, old.n do
    if old[i] == new[i] then
      open = nil
    elseif open and not new[i] then
      open.last = i
    else
      open = { first = i, last = i, text = new[i] and new[i] .. "\n" or "" }
      list[#list + 1] = open
    end
  end
  return list
end

return M
