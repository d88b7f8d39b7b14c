--- tolerance: the largest allowed error of an answer, |answer - expected| <= max_error + rel_error
--- * |expected|, for all outputs of a problem or for one of them.

local M = {}

-- Has an output limits of its own?
local function is_own(output)
  return output.max_error ~= nil or output.rel_error ~= nil
end

--- What a comparison of an output takes: its own limits, else those of the problem.
---@param tolerance table of the problem { max_error, rel_error }
---@param compare? table options of gi.array.compare; max_error or rel_error are its own
---@return table
function M.options(tolerance, compare)
  local options = {}
  for name, value in pairs(compare or {}) do options[name] = value end
  local from = is_own(options) and options or tolerance
  options.max_error, options.rel_error = from.max_error, from.rel_error
  return options
end

--- The numbers of an array that are compared: of structs one field.
---@param array userdata
---@param compare? table options of gi.array.compare
---@return userdata
function M.numbers(array, compare)
  if not (compare and compare.as) then return array end
  local bytes = tonumber(compare.as:match "%d+") // 8
  return array:field(compare.as, compare.width * bytes, compare.from * bytes, compare.used)
end

-- The largest finite number of an array, without its sign; nil where there is none.
local function largest_of(array)
  local low, high = array:range()
  if not low then return nil end -- nothing but NaN
  local largest = math.max(math.abs(low), math.abs(high))
  if largest < math.huge then return largest end
  largest = nil
  for i = 1, #array do -- an infinite one hides the others
    local x = math.abs(array[i])
    if x < math.huge and (not largest or x > largest) then largest = x end
  end
  return largest
end

--- The largest right answer of a case, without its sign; nil where none is a finite number.
---@param case table { expected, compare?, also = { expected, compare? }[]? }
---@return number?
function M.largest(case)
  local largest
  for _, output in ipairs { case, table.unpack(case.also or {}) } do
    local x = largest_of(M.numbers(output.expected, output.compare))
    if x and (not largest or x > largest) then largest = x end
  end
  return largest
end

--- What a comparison of a case's own output takes, the first of a table.
---@param tolerance table of a problem
---@return table
function M.of_first(tolerance)
  local first = tolerance.outputs and tolerance.outputs[1] or tolerance
  return { max_error = first.max_error, rel_error = first.rel_error }
end

local function one(t)
  local most, share = t.max_error or 0, t.rel_error or 0
  if share == 0 then return ("%g"):format(most) end
  return (most > 0 and ("%g + "):format(most) or "") .. ("%g of each answer"):format(share)
end

--- For people: "1e-05", or "2e-07 of each answer (distance), 0 (label, members)".
---@param tolerance table of a problem; outputs: { name, max_error, rel_error } of each, where one
---  has its own
---@return string
function M.text(tolerance)
  local outputs = tolerance.outputs or { tolerance }
  if #outputs == 1 then return one(outputs[1]) end
  local names, order = { ["0"] = {} }, {}
  for _, output in ipairs(outputs) do
    local text = one(output)
    if not names[text] then names[text], order[#order + 1] = {}, text end
    table.insert(names[text], output.name)
  end
  if #names["0"] > 0 then order[#order + 1] = "0" end
  for i, text in ipairs(order) do
    order[i] = ("%s (%s)"):format(text, table.concat(names[text], ", "))
  end
  return table.concat(order, ", ")
end

return M
