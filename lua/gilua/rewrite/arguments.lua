--- arguments: what stands between the brackets of a rewriting's gene, by its record's `args`.
--
-- A list of arguments, each { name, values }: one of these, false or `default` where it is left
-- out, and of `more` what is not proposed; { name, values, from =, to = }: any whole number
-- between, these are proposed; or { name, of = field }: a field of the place, false where it is
-- left out. Or function(at), which returns lists of texts, with `read` of the record, which makes
-- values of them.

local M = {}

-- The values of an argument that are proposed at a place; false: it is left out.
local function values_of(arg, at)
  if arg.of then return { at[arg.of] } end
  return type(arg[2]) == "function" and arg[2](at) or arg[2]
end

--- Returns the lists of arguments that are proposed at a place, as texts, and a sentence where the
--- record says why there are none.
---@param record table
---@param at table
---@return string[][] lists
---@return string? why
function M.proposed(record, at)
  if type(record.args) == "function" then return record.args(at) end
  local lists = { {} }
  for _, arg in ipairs(record.args or {}) do
    local longer = {}
    for _, list in ipairs(lists) do
      for _, value in ipairs(values_of(arg, at)) do
        local new = table.move(list, 1, #list, 1, {})
        new[#new + 1] = value and tostring(value) or nil
        longer[#longer + 1] = new
      end
    end
    lists = longer
  end
  return lists
end

-- The values that an argument may have, those that are proposed first.
local function all_of(arg)
  local more, list = arg.more or {}, table.move(arg[2], 1, #arg[2], 1, {})
  return table.move(more, 1, #more, #list + 1, list)
end

-- How a gene is written: vector<LINE>(ELEMENTS,WAY), with elements 4 or 2 and way split or none.
local function usage(record)
  local names, says = {}, {}
  for i, arg in ipairs(record.args or {}) do
    local words = {}
    names[i] = arg[1]:upper()
    for _, value in ipairs(not (arg.from or arg.of) and all_of(arg) or {}) do
      words[#words + 1] = tostring(value or "none")
    end
    if arg.from then words[1] = ("%d to %d"):format(arg.from, arg.to) end
    says[#says + 1] = words[1] and arg[1] .. " " .. table.concat(words, " or ")
  end
  local text = ("it is written %s<LINE>(%s)"):format(record.name, table.concat(names, ","))
  return #says > 0 and text .. ", with " .. table.concat(says, " and ") or text
end

-- Returns what the text of one argument means; nil where the text does not fit its kind.
local function value_of(arg, text)
  if arg.of then return text or false end
  if arg.from then
    local n = math.tointeger(tonumber(text))
    return n and n >= arg.from and n <= arg.to and n or nil
  end
  for _, value in ipairs(all_of(arg)) do
    local is_left_out = text == nil and (value == false or value == arg.default)
    if is_left_out or value and tostring(value) == text then return value end
  end
end

--- Reads the arguments of a gene; nil and how it is written, where they are others.
---@param record table
---@param args string[]
---@return table? values
---@return string? usage
function M.read(record, args)
  if record.read then return record.read(args) end
  local list, known = {}, record.args or {}
  for i, arg in ipairs(known) do
    list[i] = value_of(arg, args[i])
    if list[i] == nil then return nil, usage(record) end
  end
  if #args > #known then return nil, usage(record) end
  return list
end

--- Is a place the one that its arguments name: by the place's own, or by the first of those that
--- the record reads itself, which is the field that `named` of the record says?
function M.is_named(record, at)
  if record.named then return at[1] == at[record.named] end
  for i, arg in ipairs(type(record.args) == "table" and record.args or {}) do
    if arg.of and at[i] ~= at[arg.of] then return false end
  end
  return true
end

return M
