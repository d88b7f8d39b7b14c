-- launchedit: launches in a user's file, as a transformation wants them: kernel<<<grid, block>>>
-- becomes kernel<<<grid * 32, block>>>.
--
-- Only a grid that is written in a usual form is changed: a sum or product of numbers, dim3(…), or
-- a name that the file declares as a dim3 or a whole number. All others are left to the person.

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

-- What the file declares a name as: "dim3", "whole", or nil where it is neither, or both.
local function declared(t, name)
  local found
  for i = 2, #t do
    if t[i] == name and t:kind(i - 1) == "name" and t[i - 1] ~= "return" then
      local kind = t[i - 1] == "dim3" and "dim3" or WHOLE[t[i - 1]] and "whole" or "other"
      if found and found ~= kind then return nil end
      found = kind
    end
  end
  return found
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

-- The three sides of a grid's text; nil where it is of another form.
local function sides_of(t, text)
  local words <close> = core.grammar.tokens(text)
  if words[1] == "dim3" and (words[2] == "(" or words[2] == "{") and words:match(2) == #words then
    local given = csource.parts(words, 3, #words - 1)
    return { given[1] or "1", given[2] or "1", given[3] or "1" }, true
  elseif #words == 1 and words:kind(1) == "name" then
    local kind = declared(t, text)
    if kind == "dim3" then return { text .. ".x", text .. ".y", text .. ".z" }, true end
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

-- The text of a grid with the changes of its sides made; nil where it is of no usual form.
local function changed(t, text, changes)
  local sides, is_dim3 = sides_of(t, text)
  if not sides then return nil end
  for _, c in ipairs(changes) do
    local d = SIDES[c.side]
    is_dim3 = is_dim3 or d > 1
    sides[d] = OPERATIONS[c.operation](sides[d], c.by)
  end
  if not is_dim3 then return sides[1] end
  while sides[3] == "1" and #sides == 3 do sides[3] = nil end
  return ("dim3(%s)"):format(table.concat(sides, ", "))
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

-- The last token of a launch's grid, which ends at a comma.
local function grid_end(t, i)
  local k = i + 1
  while t[k] and t[k] ~= "," and t[k] ~= ">>>" and t[k] ~= ";" and k < i + MOST_WORDS do
    k = csource.past(t, k)
  end
  return t[k] == "," and k - 1 or nil
end

-- Only changes of the grid can be written there; what is asked of the block is a condition. One
-- that asks for whole groups of blocks nobody can write: the file may launch other numbers of them.
local function of_the_grid(text)
  local list = {}
  for _, c in ipairs(launches.read(text)) do
    if not launches.is_condition(c) or c.of == "grid" then
      if c.of ~= "grid" or launches.is_condition(c) then return nil end
      list[#list + 1] = c
    end
  end
  return list
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
  local changes, parts, at, done, left = of_the_grid(launch), {}, 1, 0, 0
  for i = 2, #t do
    if t[i] == "<<<" and launched(t, i) == kernel then
      local last = grid_end(t, i)
      local first_byte = last and t:first(i + 1)
      local grid = last and text:sub(first_byte, t:last(last))
      local new = changes and last and changed(t, grid, changes)
      if new then
        done = done + 1
        parts[#parts + 1] = text:sub(at, first_byte - 1) .. new
        at = t:last(last) + 1
      else
        left = left + 1
      end
    end
  end
  return table.concat(parts) .. text:sub(at), done, left
end

return M
