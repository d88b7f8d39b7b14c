--- watched: were arrays that a rewriting takes for different memory apart while a case ran?
--
-- Yes (true): the virtual GPU saw each access of the kernel as it is, knows by which parameter its
-- address was made, and no byte was reached by both and written by one. No (false): one wrote a
-- byte that the other then read or wrote over, so that their order counts. Else it is unknown
-- (nil): the case was not watched, an address is not understood, or one array read a byte before
-- the other wrote it, and no access came after that. Then the rewriting may still be right.
--
-- Limits: what was seen is of these data alone.

local M = {}

-- Returns the number that the virtual GPU gives to a root: a parameter's place, or 0 for an array
-- of the file. Returns nil where it gives none.
local function source_of(fn, root)
  for i, param in ipairs(fn.params) do
    if param.name == root then return fn.is_entry and i or nil end
  end
  local d = fn.kernel.globals[root]
  return d and #d.extents > 0 and not fn.variables[root] and 0 or nil
end

local function is_between(meet, a, b)
  local one, other = meet.first.source, meet.second.source
  return one == a and other == b or one == b and other == a
end

local function lines_of(meet)
  local one, other = meet.first.line, meet.second.line
  if one == 0 or one == other then return ("line %d touches"):format(other) end
  return ("lines %d and %d touch"):format(math.min(one, other), math.max(one, other))
end

-- The sentence of a meeting.
local function sentence(meet, a, b)
  return ("%s the same byte of `%s` and `%s` in block (%s), thread (%s)"):format(lines_of(meet), a,
    b, table.concat(meet.block, ","), table.concat(meet.thread, ","))
end

-- Is a line between the first and the last that a rewriting changes?
local function is_within(line, lines)
  return #lines > 0 and lines[1] <= line and line <= lines[#lines]
end

-- Does the order of two accesses count for a rewriting?
local function counts(meet, change)
  if meet.how ~= "in order" then return false end
  if meet.first.source == 0 or meet.second.source == 0 then return false end
  return not change.lines or is_within(meet.first.line, change.lines)
    or is_within(meet.second.line, change.lines)
end

--- Were two arrays apart? true; false or nil, and why.
---@param fn table of kernel.read, of the source as it is
---@param meets table[]? of a launch that was watched: those of this kernel
---@param a string a root
---@param b string
---@param change? { lines?: integer[] } the rewriting: an order counts where one of the two accesses
---  is between the first and the last line that it changes
---@return boolean? answer
function M.of(fn, meets, a, b, change)
  local one, other = source_of(fn, a), source_of(fn, b)
  if not meets then return nil, "what its case does was not watched" end
  if not one or not other then
    return nil, ("nobody can see where `%s` leads"):format(one and b or a)
  end
  local answer, why = true, nil
  for _, meet in ipairs(meets) do
    if meet.how == "unknown" then
      answer = nil
      why = why or ("the address that line %d reaches is not understood"):format(meet.second.line)
    elseif is_between(meet, one, other) then
      answer, why = nil, sentence(meet, a, b)
      if counts(meet, change or {}) then return false, why end
    end
  end
  return answer, why
end

return M
