-- launchedit: launches in a user's file, as a transformation wants them: kernel<<<grid, block>>>
-- becomes kernel<<<grid * 32, block>>>.
--
-- Only a grid or a block that is written in a usual form is changed: a sum or product of numbers,
-- dim3(…), or a name that the file declares as a dim3 or a whole number. A launch that is done
-- together with the one behind it gets its arguments, and that one goes, where it is launched in
-- the same words and nothing but a wait stands between. All others are left to the person.

local core = require "gilua.core"
local csource = require "gilua.new.csource"
local launches = require "gilua.transform.launch"

local M = {}

local SIDES = { x = 1, y = 2, z = 3 }
local MOST_WORDS = 200 -- of a launch

local WHOLE = csource.set "int unsigned long short size_t uint32_t int32_t uint64_t int64_t uint"
local SUMS = csource.set "+ - * / %"

--------------------------------------------------------------------------------------------------
-- What a grid is

-- Is a name a macro that is a whole number, wherever the file defines it?
local function is_number(t, name)
  local found = false
  for i = 1, #t do
    local d = t:kind(i) == "directive" and t:inside(i)
    if d and d[1] == "define" and d[2] == name then
      if #d ~= 3 or not d[3]:find "^%d+$" then return false end
      found = true
    end
  end
  return found
end

-- The type of the declaration that a comma is in, `dim3 a(2), b(3)`: the first word of what it
-- stands in; nil where that is no such type, or the comma is inside of brackets.
local function list_type(t, i)
  local k = i - 1
  while k >= 1 and t[k] ~= ";" and t[k] ~= "{" and t[k] ~= "}" and t:kind(k) ~= "directive" do
    if t[k] == "(" then return nil end
    k = (t[k] == ")" or t[k] == "]") and (t:match(k) or 1) - 1 or k - 1
  end
  local first = t[k + 1] == "const" and t[k + 2] or t[k + 1]
  return (first == "dim3" or WHOLE[first]) and first or nil
end

-- What the file declares a name as: "dim3", "whole", or nil where it is neither, or both.
local function declared(t, name)
  if is_number(t, name) then return "whole" end
  local found
  for i = 2, #t do
    local before = t[i] == name and (t[i - 1] == "," and list_type(t, i - 1)
      or t:kind(i - 1) == "name" and t[i - 1])
    if before and before ~= "return" then
      local kind = before == "dim3" and "dim3" or WHOLE[before] and "whole" or "other"
      if found and found ~= kind then return nil end
      found = kind
    end
  end
  return found
end

local CHANGES = csource.set "= += -= *= /= %= <<= >>= |= &= ^= ++ --"

-- Does a token stand where something may be given to what it names: a value, or to a function?
local function may_change(t, i)
  local behind = t[i + 1] == "." and t[i + 3] or t[i + 1]
  local is_passed = t[i + 1] == ")" and (t[i - 1] == "(" or t[i - 1] == ",")
    or t[i + 1] == "," and t[i - 1] == "("
  return CHANGES[behind] or CHANGES[t[i - 1]] or t[i - 1] == "&" or is_passed
end

-- How many sides a file gives a dim3 where it declares it; nil where they may be given elsewhere.
local function given_sides(t, name)
  local sides
  for i = 2, #t do
    local is_declared = t[i] == name
      and (t[i - 1] == "dim3" or t[i - 1] == "," and list_type(t, i - 1) == "dim3")
    local close = is_declared and (t[i + 1] == "(" or t[i + 1] == "{") and t:match(i + 1)
    if is_declared and (sides or not close) or not is_declared and t[i] == name
      and may_change(t, i) then
      return nil
    end
    if is_declared then sides = #csource.parts(t, i + 2, close - 1) end
  end
  return sides
end

-- Is a text a sum or product, or a number? Not one call, or what nobody knows.
local function is_computed(words)
  if #words == 1 and words:kind(1) == "number" then return true end
  local i = 1
  while i <= #words do
    if SUMS[words[i]] and i > 1 then return true end
    i = csource.past(words, i)
  end
  return #words > 2 and words[1] == "(" and words:match(1) == #words
end

--- Is a text a sum or product, or a number, so that it is a grid or a block of one side?
---@param text string
---@return boolean
function M.is_one_side(text)
  local words <close> = core.grammar.tokens(text)
  return is_computed(words)
end

-- The three sides of a grid's text; nil where it is of another form.
local function sides_of(t, text)
  local words <close> = core.grammar.tokens(text)
  if words[1] == "dim3" and (words[2] == "(" or words[2] == "{") and words:match(2) == #words then
    local given = csource.parts(words, 3, #words - 1)
    return { given[1] or "1", given[2] or "1", given[3] or "1" }, true
  elseif #words == 1 and words:kind(1) == "name" then
    local kind = declared(t, text)
    if kind == "dim3" then
      local given, sides = given_sides(t, text) or 3, { ".x", ".y", ".z" }
      for d = 1, 3 do sides[d] = (d == 1 or d <= given) and text .. sides[d] or "1" end
      return sides, true
    end
    return kind == "whole" and { text, "1", "1" } or nil, false
  end
  return is_computed(words) and { text, "1", "1" } or nil, false
end

--------------------------------------------------------------------------------------------------
-- What becomes of it

local function in_brackets(text)
  return text:find "^[%w_.]+$" and text or "(" .. text .. ")"
end

local OPERATIONS = {
  ["*"] = function(text, n) return ("%s * %d"):format(in_brackets(text), n) end,
  ["/"] = function(text, n) return ("(%s + %d) / %d"):format(text, n - 1, n) end,
  ["="] = function(_, n) return tostring(n) end,
  ["<"] = function(text, n)
    local once = in_brackets(text)
    return ("%s < %d ? %s : %d"):format(once, n, once, n)
  end,
}

-- The text of sides: as it was where nothing of it changed.
local function text_of(shape)
  local sides = shape.sides
  if not shape.is_changed then return shape.text end
  if not shape.is_dim3 then return sides[1] end
  while sides[3] == "1" and #sides == 3 do sides[3] = nil end
  return ("dim3(%s)"):format(table.concat(sides, ", "))
end

local function swap_axes(shapes)
  for _, shape in pairs(shapes) do
    local sides = shape.sides
    shape.is_changed = shape.is_changed or sides[1] ~= sides[2]
    shape.is_dim3 = shape.is_dim3 or sides[1] ~= sides[2]
    sides[1], sides[2] = sides[2], sides[1]
  end
end

-- The texts of a grid and a block with the changes made; nil where one that changes is of no usual
-- form.
local function changed(t, texts, changes)
  local shapes = {}
  for _, c in ipairs(changes) do
    for _, of in ipairs(c.of == "axes" and { "grid", "block" } or { c.of }) do
      local sides, is_dim3 = sides_of(t, texts[of])
      if not sides then return nil end
      shapes[of] = shapes[of] or { text = texts[of], sides = sides, is_dim3 = is_dim3 }
    end
    if c.of == "axes" then
      swap_axes(shapes)
    elseif launches.is_condition(c) then
      if shapes[c.of].sides[SIDES[c.side]] ~= tostring(c.by) then return nil end
    else
      local d, shape = SIDES[c.side], shapes[c.of]
      shape.is_dim3, shape.is_changed = shape.is_dim3 or d > 1, true
      shape.sides[d] = OPERATIONS[c.operation](shape.sides[d], c.by)
    end
  end
  return shapes.grid and text_of(shapes.grid) or texts.grid,
    shapes.block and text_of(shapes.block) or texts.block
end

--------------------------------------------------------------------------------------------------
-- Launches

-- The name that is launched by the <<< at a token.
local function launched(t, i)
  if t:kind(i - 1) == "name" then return t[i - 1] end
  local k = i - 1
  while k > math.max(1, i - MOST_WORDS) and t[k] ~= "<" do k = k - 1 end
  return t[k] == "<" and csource.angle_end(t, k) == i - 1 and t[k - 1] or nil
end

-- The last token of what begins at a token of a launch, and what ends it: a comma, or >>>.
local function part_end(t, i)
  local k = i
  while t[k] and t[k] ~= "," and t[k] ~= ">>>" and t[k] ~= ";" and k < i + MOST_WORDS do
    k = csource.past(t, k)
  end
  if t[k] ~= "," and t[k] ~= ">>>" then return nil end
  return k - 1, t[k]
end

-- The tokens of the grid and the block of the launch whose <<< is at a token; nil where one is
-- missing.
local function parts_of(t, i)
  local last, stop = part_end(t, i + 1)
  if not last or stop ~= "," then return nil end
  local behind = part_end(t, last + 2)
  return behind and { grid = { i + 1, last }, block = { last + 2, behind } }
end

-- What can be written there: conditions of a block are none of it. One that asks something of the
-- grid nobody can write, for the file may launch other numbers of blocks, but that it is a number,
-- which may stand there (changed).
local function written(text)
  local list = {}
  for _, c in ipairs(launches.read(text)) do
    local of_grid = c.of == "grid" and launches.is_condition(c)
    if c.of == "shared" or of_grid and c.operation ~= "==" then return nil end
    if of_grid or not launches.is_condition(c) and c.of ~= "before" then list[#list + 1] = c end
  end
  return list
end

local WAITS = csource.set "cudaDeviceSynchronize cudaThreadSynchronize"

-- The tokens of a launch as a statement: its name's, those between <<< and >>>, its brackets' and
-- its end; nil of what is more than that.
local function statement_of(t, i)
  local parts = parts_of(t, i)
  local at = parts and parts.block[2] + 1
  while at and at < i + MOST_WORDS and t[at] ~= ">>>" do at = csource.past(t, at) end
  local open = at and t[at] == ">>>" and t[at + 1] == "(" and at + 1
  local close = open and t:match(open)
  if not close or t[close + 1] ~= ";" then return nil end
  return { name = i - 1, shape = { i + 1, at - 1 }, open = open, close = close, stop = close + 1 }
end

local function source(t, text, first, last)
  return first <= last and text:sub(t:first(first), t:last(last)):gsub("%s+", " ") or ""
end

-- The launch that has to go for one to be done together with it; nil where that is not told.
local function behind(t, text, own, other)
  local k = own.stop + 1
  while WAITS[t[k] or ""] and t[k + 1] == "(" and t[k + 2] == ")" and t[k + 3] == ";" do
    k = k + 4
  end
  local next = t[k] == other and t[k + 1] == "<<<" and statement_of(t, k + 1)
  local is_same = next and source(t, text, next.shape[1], next.shape[2])
    == source(t, text, own.shape[1], own.shape[2])
  return is_same and next or nil
end

-- What a launch is given besides, and the statement that goes: { text, next }; false where what is
-- wanted cannot be written; nil: nothing of the kind is wanted.
local function joined(t, text, i, join)
  if not join then return nil end
  local own = statement_of(t, i)
  local next = own and behind(t, text, own, join.other)
  if not next then return false end
  local more = ("%s_arguments(%s)"):format(join.other,
    text:sub(t:last(next.open) + 1, t:first(next.close) - 1))
  return { own = own, next = next, more = own.close > own.open + 1 and ", " .. more or more }
end

--- A file with the launches of a kernel as transformations want them.
---@param text string of the file
---@param kernel string
---@param launch string what becomes of a launch (gilua.launch)
---@return string text
---@return integer changed how many launches are
---@return integer left how many are not, for they are of no usual form
function M.edited(text, kernel, launch)
  local t <close> = core.grammar.tokens(text)
  local changes, pieces, at, done, left = written(launch), {}, 1, 0, 0
  local join = launches.joined(launch)[""]
  local function put(tokens, new)
    pieces[#pieces + 1] = text:sub(at, t:first(tokens[1]) - 1) .. new
    at = t:last(tokens[2]) + 1
  end
  -- A statement, with its line where nothing else is on it.
  local function remove(first, last)
    local from, to = t:first(first), t:last(last)
    local blanks = text:sub(at, from - 1):match "\n([ \t]*)$"
    local stop = text:match("^[ \t]*\r?\n()", to + 1)
    if blanks and stop then from, to = from - #blanks, stop - 1 end
    pieces[#pieces + 1] = text:sub(at, from - 1)
    at = to + 1
  end
  for i = 2, #t do
    if t[i] == "<<<" and launched(t, i) == kernel then
      local parts = changes and parts_of(t, i)
      local texts = {}
      for of, tokens in pairs(parts or {}) do
        texts[of] = text:sub(t:first(tokens[1]), t:last(tokens[2]))
      end
      local grid, block = nil, nil
      local both = joined(t, text, i, join)
      if parts and both ~= false then grid, block = changed(t, texts, changes) end
      if grid then
        done = done + 1
        put(parts.grid, grid)
        put(parts.block, block)
        if both then
          put({ both.own.close, both.own.close }, both.more .. ")")
          remove(both.next.name, both.next.stop)
        end
      else
        left = left + 1
      end
    end
  end
  return table.concat(pieces) .. text:sub(at), done, left
end

return M
