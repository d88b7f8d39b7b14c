--- affine: index expressions as sums of products; decides from two of them whether they can be
--- equal.
--
-- A form is { [monomial] = integer }: the monomial is its factors in order, joined by "*", "" for
-- the constant. 4 * i + n * j - 1 is { i = 4, ["j*n"] = 1, [""] = -1 }. An expression that is
-- neither a sum nor a product is one factor, named by its text. Casts between integers are ignored.

local expression = require "gilua.source.expression"

local M = {}

local MOST_TERMS = 24

local function clean(form)
  local n = 0
  for monomial, factor in pairs(form) do
    if factor == 0 then form[monomial] = nil else n = n + 1 end
  end
  return n <= MOST_TERMS and form or nil
end

--- a + factor * b; nil where either is nil.
function M.sum(a, b, factor)
  if not a or not b then return nil end
  local form = {}
  for monomial, n in pairs(a) do form[monomial] = n end
  for monomial, n in pairs(b) do form[monomial] = (form[monomial] or 0) + n * (factor or 1) end
  return clean(form)
end

local function joined(a, b)
  local factors = {}
  for factor in (a .. "*" .. b):gmatch "[^*]+" do factors[#factors + 1] = factor end
  table.sort(factors)
  return table.concat(factors, "*")
end

--- a * b; nil where either is nil.
function M.product(a, b)
  if not a or not b then return nil end
  local form = {}
  for one, n in pairs(a) do
    for other, m in pairs(b) do
      local monomial = joined(one, other)
      form[monomial] = (form[monomial] or 0) + n * m
    end
  end
  return clean(form)
end

--- The value of a literal of whole numbers; nil of anything else.
function M.integer(node)
  local text = node and node.kind == "number" and node.text:gsub("'", ""):gsub("[uUlL]+$", "")
  return text and (text:find "^%d+$" or text:find "^0[xX]%x+$") and math.tointeger(tonumber(text))
    or nil
end

local WHOLE = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
}
local MOST_MACROS = 20 -- within each other

--- The int that a macro is, of literals without a suffix and other macros: (2 * RADIUS + 1); nil.
---@param name string
---@param depth? integer
---@return integer?
function M.macro(kernel, name, depth)
  local function number(node)
    if node.kind == "number" then
      local value = not node.text:find "[uUlL]" and M.integer(node)
      return value and value < 2 ^ 31 and value or nil
    elseif node.kind == "name" then
      return M.macro(kernel, node.text, (depth or 0) + 1)
    elseif node.kind == "binary" and WHOLE[node.op] then
      local a, b = number(node.a), number(node.b)
      local value = a and b and WHOLE[node.op](a, b)
      return value and math.abs(value) < 2 ^ 31 and value or nil
    end
  end
  local macro = kernel.macros[name]
  return macro and macro.tree and (depth or 0) < MOST_MACROS and number(macro.tree) or nil
end

local INTEGER_CAST = "^[%w_ ]*$"

--- The form of a tree; nil where it has too many terms.
---@param known? fun(node: table): table?  the form of a tree that is not to be looked into
function M.form(kernel, node, known)
  local value, own = M.integer(node), known and known(node)
  if value then return clean { [""] = value } end
  if own then return own end
  if node.kind == "binary" and (node.op == "+" or node.op == "-") then
    return M.sum(M.form(kernel, node.a, known), M.form(kernel, node.b, known),
      node.op == "-" and -1 or 1)
  elseif node.kind == "binary" and node.op == "*" then
    return M.product(M.form(kernel, node.a, known), M.form(kernel, node.b, known))
  elseif node.kind == "unary" and node.op == "-" then
    return M.sum({}, M.form(kernel, node.a, known), -1)
  elseif node.kind == "cast" and node.type:find(INTEGER_CAST) then
    return M.form(kernel, node.a, known)
  elseif node.kind == "name" then
    return { [node.text] = 1 }
  end
  return { [kernel:plain(node):gsub("%*", "·")] = 1 }
end

local function has_factor(monomial, name)
  return ("*" .. monomial .. "*"):find("*" .. name .. "*", 1, true) ~= nil
end

--- How a form depends on a variable: its integer factor (0: not at all), and the rest; nil where
--- it depends in another way (i * n, i / 2).
function M.in_variable(kernel, node, name)
  local form = M.form(kernel, node)
  if not form then return nil end
  local rest, factor = {}, form[name] or 0
  for monomial, n in pairs(form) do
    if monomial ~= name then
      if has_factor(monomial, name) then return nil end
      rest[monomial] = n
    end
  end
  local inside = false -- of a factor that is not a name: a[i], i / 2
  expression.walk(node, function(part)
    if part.kind == "index" or part.kind == "call" or part.kind == "choice"
      or part.kind == "binary" and not ("+-*"):find(part.op, 1, true)
      or part.kind == "unary" and part.op ~= "-" then
      expression.walk(part, function(below)
        if below.kind == "name" and below.text == name then inside = true end
      end)
    end
  end)
  if inside then return nil end
  return factor, rest
end

--- The constant by which b is more than a; nil where they differ in anything else.
function M.difference(kernel, a, b)
  local form = M.sum(M.form(kernel, b), M.form(kernel, a), -1)
  if not form then return nil end
  local constant = form[""] or 0
  form[""] = nil
  return next(form) == nil and constant or nil
end

-- By how many steps of the variable one index comes to the place of another: 0 in the same
-- iteration alone; false never; nil not known, or in every iteration.
local function distance(kernel, a, b, name, step)
  local n = M.in_variable(kernel, a, name)
  local m = M.in_variable(kernel, b, name)
  local apart = n and m and n == m and M.difference(kernel, a, b)
  if not apart then return nil end
  if n == 0 then
    if apart ~= 0 then return false end
    return nil
  end
  if apart % (n * step) ~= 0 then return false end
  return apart // (n * step)
end

--- In how many iterations' distance two accesses of one array meet: 0, in the same one alone;
--- false: never; nil: not known.
---@param name string the loop's variable
---@param step integer by which it grows
function M.distance(kernel, a, b, name, step)
  if a.base ~= b.base or not a.indices or not b.indices or #a.indices ~= #b.indices then
    return nil
  end
  local found = nil
  for i = 1, #a.indices do
    local d = distance(kernel, a.indices[i], b.indices[i], name, step)
    if d == false then return false end
    found = found or d
  end
  return found
end

return M
