-- matching: which argument of one kernel is which of another's that is to do the same work. Their
-- parameters may have other names and another order.
--
-- A match needs the same type and one of these, in this order: the person's word (--map), the same
-- name, the same expression of the host's at the launch, the same place in two lists of the same
-- types, or to be the only one left of its type. Two that disagree, or none, is a refusal with a
-- sentence: nothing is guessed.

local M = {}

---@class MatchOld a parameter of the old kernel
---@field name string
---@field type string of an element: "f32", "struct"
---@field is_array boolean
---@field role? string
---@field text? string what its host's launch gives it

---@class MatchNew a parameter of the new kernel
---@field name string
---@field type string
---@field is_array boolean
---@field text? string

---@class Match
---@field old integer place among the old ones
---@field how string "by its name" …

-- Of numbers that are no arrays only the kind counts: each is made what the parameter is.
local function kind_of(p)
  if p.is_array then return "array of " .. p.type end
  return p.type:find "^f" and "real number" or p.type == "struct" and "struct" or "whole number"
end

M.kind = kind_of

local function squeezed(text)
  return text and (text:gsub("%s+", ""):gsub("^%(%b())", "")) or nil
end

M.squeezed = squeezed

-- The one place in a list of old parameters that fits; nil where none or several do.
local function only(olds, fits)
  local at
  for i, old in ipairs(olds) do
    if fits(old, i) then
      if at then return nil end
      at = i
    end
  end
  return at
end

local function by_name(olds, new)
  return only(olds, function(old)
    return old.name == new.name and kind_of(old) == kind_of(new)
  end)
end

local function by_text(olds, new)
  local text = squeezed(new.text)
  if not text or text:find "^[%d(]" then return nil end
  return only(olds, function(old)
    return squeezed(old.text) == text and kind_of(old) == kind_of(new)
  end)
end

-- Are two lists of the same length and types?
local function is_alike(olds, news)
  if #olds ~= #news then return false end
  for i, old in ipairs(olds) do
    if kind_of(old) ~= kind_of(news[i]) then return false end
  end
  return true
end

-- Does every match found so far keep its place?
local function keeps_places(found, n)
  for i = 1, n do
    if found[i] and found[i].old ~= i then return false end
  end
  return true
end

local function taken_by(found, n)
  local taken = {}
  for i = 1, n do
    if found[i] then taken[found[i].old] = true end
  end
  return taken
end

-- What is left over in one way only: one of a kind on either side.
local function add_last_ones(olds, news, found)
  local taken = taken_by(found, #news)
  for i, new in ipairs(news) do
    local rival = only(news, function(other, k)
      return not found[k] and kind_of(other) == kind_of(new)
    end)
    local at = not found[i] and new.is_array and rival and only(olds, function(old, k)
      return not taken[k] and kind_of(old) == kind_of(new)
    end)
    if at then found[i], taken[at] = { old = at, how = "the only one left of its type" }, true end
  end
end

local function add_by_place(olds, news, found)
  if not is_alike(olds, news) or not keeps_places(found, #news) then return end
  for i = 1, #news do
    found[i] = found[i] or { old = i, how = "by its place" }
  end
end

-- Name and host agree, or one says nothing; else a sentence.
local function named(olds, new)
  local name, text = by_name(olds, new), by_text(olds, new)
  if name and text and name ~= text then
    return nil, ("%s may be %s, by its name, or %s, by what the launch gives it (%s)"):format(
      new.name, olds[name].name, olds[text].name, new.text)
  end
  if name then return { old = name, how = "by its name" } end
  return text and { old = text, how = ("as the launch gives it %s"):format(new.text) }
end

-- Two parameters that are one of the old kernel's: only numbers may be.
local function doubled(olds, news, found)
  local first = {}
  for i, new in ipairs(news) do
    local at = found[i] and new.is_array and found[i].old
    local is_alias = at and first[at] and squeezed(new.text) == squeezed(news[first[at]].text)
    if at and first[at] and not (is_alias and new.text) then
      return ("%s and %s would both be %s"):format(news[first[at]].name, new.name, olds[at].name)
    end
    if at then first[at] = i end
  end
end

--- Finds for each of the new parameters the old one that it is.
---@param olds MatchOld[]
---@param news MatchNew[]
---@param given? table<string, string> of --map: name of a new one -> name of an old one
---@return table<integer, Match>? found by place of the new one; without those that are unknown
---@return string? why there is none: two that disagree
function M.of(olds, news, given)
  local found = {}
  for i, new in ipairs(news) do
    local said = given and given[new.name]
    local at = said and only(olds, function(old) return old.name == said end)
    if at then
      found[i] = { old = at, how = "as --map says" }
    elseif not said then
      local one, why = named(olds, new)
      if why then return nil, why end
      found[i] = one
    end
  end
  add_by_place(olds, news, found)
  add_last_ones(olds, news, found)
  local why = doubled(olds, news, found)
  if why then return nil, why end
  return found
end

return M
