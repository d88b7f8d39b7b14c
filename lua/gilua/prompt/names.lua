-- names: completes names: globals, keywords, the fields and methods of values.

local inspect = require "gilua.prompt.inspect"
local offer = require "gilua.prompt.offer"

local M = {}

local KEYWORDS = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat
return then true until while]]):gmatch("%a+") do KEYWORDS[#KEYWORDS + 1] = word end

local function add_fields(found, t)
  for key, value in next, t do
    if type(key) == "string" and key:find("^[%a_][%w_]*$") and found[key] == nil then
      found[key] = value
    end
  end
end

local add_inherited

-- The fields of a value by name, through __index tables; nothing of the user's is called.
function M.fields(value)
  local found = {}
  if type(value) == "table" then add_fields(found, value) end
  add_inherited(found, value, 0)
  if value == require "gilua" then
    for name, module in pairs(value.modules) do
      if found[name] == nil then found[name] = package.loaded[module] or true end
    end
  end
  return found
end

function add_inherited(found, value, depth)
  local meta = debug.getmetatable(value)
  if type(meta) ~= "table" or depth > 10 then return end
  if type(meta.__names) == "function" then add_fields(found, meta.__names()) end
  local methods = inspect.methods(meta)
  if methods then
    add_fields(found, methods)
    add_inherited(found, methods, depth + 1)
  end
end

-- value[key] without calling anything but gi's own loader.
local function get(value, key)
  local gi = require "gilua"
  if value == gi then return gi[key] end
  if type(value) == "table" and rawget(value, key) ~= nil then return rawget(value, key) end
  if type(key) == "string" then return M.fields(value)[key] end
  return nil
end

local STEPS = { -- what may stand before a dot: pattern, and the key it means
  { "^(.-)%[(%-?%d+)%]%s*$", math.tointeger },
  { "^(.-)%[\"([^\"]*)\"%]%s*$", tostring },
  { "^(.-)%['([^']*)'%]%s*$", tostring },
  { "^(.-)%.%s*([%a_][%w_]*)%s*$", tostring },
}

-- The value of a chain of names at the end of a text: `x = gi.array` -> gi.array.
local function value_of(text)
  for _, step in ipairs(STEPS) do
    local before, key = text:match(step[1])
    if before and not before:find("%.$") then
      local value = value_of(before)
      if value == nil then return nil end
      return get(value, step[2](key))
    end
  end
  local root = text:match("([%a_][%w_]*)%s*$")
  return root and rawget(_G, root)
end

--- What Tab does to a name, or a chain of them, at the end of code.
---@param text string
---@return table as in offer.lua
function M.complete(text)
  local typed = text:match("[%a_][%w_]*$") or ""
  local before = text:sub(1, #text - #typed)
  local dot = not before:find("%.%.%s*$") and before:match("([.:])%s*$")
  local ends_value = typed == "" and before:find("[%w\"'%)%]}]%s*$")
  if ends_value then return offer.nothing() end
  local found
  if dot then
    found = M.fields(value_of(before:gsub("[.:]%s*$", "")))
  else
    found = M.fields(_G)
    for _, word in ipairs(KEYWORDS) do found[word] = true end
  end
  local words = {}
  for name, value in pairs(found) do
    local wanted = dot ~= ":" or type(value) == "function"
    local hidden = name:sub(1, 1) == "_" and typed:sub(1, 1) ~= "_"
    if wanted and not hidden then words[#words + 1] = name end
  end
  table.sort(words)
  return offer.of(words, typed)
end

return M
