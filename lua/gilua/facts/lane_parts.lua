--- lane_parts: whether what lanes add up is of their parts of a row alone. A sum of lanes each of
-- which began with 1, or added the row's bias, has that as often as there are lanes.
--
--   float sum = 0.0f;                                     begun with nothing
--   for (int c = lane; c < n; c += 32) sum += in[c];      then what is the lane's own
--   if (lane == 0) sum += bias[row];                      or one lane's
--   sum = warpSum(sum);                                   added up
--
-- Of the greatest and the least that does not matter, but what one lane alone does to its own.

local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"

local M = {}

local MOST_SUMS = 1000
local TIES = "of a row's equal values it does not matter which counts"
local ADDS = settings.set "+= -= *= /= ^= + - * / ^"
local PICKS = settings.set "max min umax umin llmax llmin fmax fmin fmaxf fminf std::max std::min"

local is_within = statement.spans

-- What a node makes of a value: "sum" where it is added to another one, "unknown" where a
-- function has it; nil where it is one of two at most, the greater or the one that is less.
local function joined(kernel, node, is_it)
  local joins = (node.kind == "assign" or node.kind == "binary") and ADDS[node.op]
  if joins and (is_it(expression.uncast(node.b)) or is_it(expression.uncast(node.a))) then
    return "sum"
  end
  local is_pick = node.kind == "call" and PICKS[node.callee.text]
    and effects.is_of_cuda(kernel, node.callee.text)
  local args = node.kind == "call" and not is_pick and node.args or {}
  local has_it = lists.any(args, function(arg) return is_it(expression.uncast(arg)) end)
  return has_it and "unknown" or nil
end

-- Returns the variable that a call's result for a lane is assigned to, or nil.
local function given_to(s, call)
  for _, d in ipairs(s.declared or {}) do
    if d.init and expression.uncast(d.init) == call then return d.name end
  end
  local is_assigned = s.tree and s.tree.kind == "assign" and s.tree.op == "="
    and s.tree.a.kind == "name" and expression.uncast(s.tree.b) == call
  return is_assigned and s.tree.a.text or nil
end

--- What becomes of what a call in a statement hands to a lane: see above, or "pick".
---@param call table
---@return string
function M.use(fn, s, call)
  local name, found = given_to(s, call), nil
  local function is_it(node) return node == call or node.kind == "name" and node.text == name end
  statement.nodes(name and fn.statements or { s }, function(node)
    local use = joined(fn.kernel, node, is_it)
    found = use == "sum" and use or found or use
  end)
  return found or "pick"
end

--- Do lanes choose between what a call hands them and their own by a condition that says which of
--- equals counts: `o < best || o == best && p < at`?
---@param s table the call's statement
---@param call table
function M.settles_ties(fn, s, call)
  local name, found = given_to(s, call), false
  for _, choice in ipairs(name and fn.statements or {}) do
    local asks, has_equal = false, false
    expression.walk(choice.kind == "if" and choice.condition or nil, function(node)
      asks = asks or node.kind == "name" and node.text == name
      has_equal = has_equal or node.kind == "binary" and node.op == "=="
    end)
    found = found or asks and has_equal
  end
  return found
end

-- Does one lane alone come to a token?
local function is_alone(places, fn, token)
  return lists.any(fn.statements, function(s)
    return s.kind == "if" and places.one_lane[s.condition] and is_within(s.body, token)
  end)
end

-- Is a token in a loop that a lane goes through by its own steps?
local function is_own(places, fn, token)
  return lists.any(fn.statements, function(s) return places.loops[s] and is_within(s, token) end)
end

-- The values that a function gives to a name or its members, in order: { token, tree, is_new }.
local function values_of(fn, name)
  local list = {}
  local function add(token, tree, is_new)
    list[#list + 1] = { token = token, tree = tree, is_new = is_new }
  end
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      if d.name == name then add(d.token, d.init, true) end
    end
  end
  statement.nodes(fn.statements, function(node)
    local is_write = node.kind == "assign" or node.op == "++" or node.op == "--"
    if is_write and effects.root_name(node.a) == name then
      add(node.first, node.b, node.op == "=")
    end
  end)
  table.sort(list, function(a, b) return a.token < b.token end)
  return list
end

-- Is a value 0, or made of nothing but zeros?
local function is_nothing(tree)
  tree = tree and expression.uncast(tree)
  if not tree then return false end
  if tree.kind == "call" or tree.kind == "list" then
    for _, item in ipairs(tree.args or tree.items) do
      if not is_nothing(item) then return false end
    end
    return tree.kind == "list" or tree.callee.kind == "name"
      and tree.callee.text:find "^make_%w+$" ~= nil
  end
  return tree.kind == "number" and tonumber((tree.text:gsub("[fFuUlL]+$", ""))) == 0
end

-- The token of what a name has besides a lane's part where it is added up; nil of nothing.
local function other_part(places, fn, name, sum)
  local other
  for _, v in ipairs(values_of(fn, name)) do
    if v.token >= sum.first or v.tree and is_within(v.tree, sum.first) then break end
    local is_part = places.exchanges[v.token] or is_own(places, fn, v.token)
      or is_alone(places, fn, v.token)
    if v.is_new and not is_part then
      other = v.tree and not is_nothing(v.tree) and v.token or nil
    elseif not is_part then
      other = v.token
    end
  end
  return other
end

-- Adds the names in a summand to a list: a name, or a product with one. Returns nil for others.
local function names_of(tree, list)
  tree = expression.uncast(tree)
  if tree.kind == "binary" and (tree.op == "*" or tree.op == "/") then
    local a, b = names_of(tree.a, {}), names_of(tree.b, {})
    if not a and not b then return nil end
    for _, name in ipairs(a or {}) do list[#list + 1] = name end
    for _, name in ipairs(b or {}) do list[#list + 1] = name end
    return list
  end
  local is_place = tree.kind == "name" or tree.kind == "member" or tree.kind == "index"
  list[1] = is_place and effects.root_name(tree) or nil
  return list[1] and list or nil
end

-- What callers give for a parameter is what is added up there.
local function add_callers(places, sum, index)
  for _, caller in ipairs(places.functions) do
    for _, call in ipairs(effects.of(caller, caller.body).calls) do
      local is_it = call.name and caller.kernel.by_name[call.name] == sum.fn
      local arg = is_it and call.node.args[index]
      if arg then places:sum(caller, arg, call.node.first, sum.use) end
    end
  end
end

local function parameter(fn, name)
  for i, p in ipairs(fn.params) do
    if p.name == name then return i end
  end
end

-- Refuses a sum that is not of lanes' parts. If it is unknown whether it is a sum, the change
-- promises that a lane without a part changes nothing.
local function refuse(places, sum, token, text, ...)
  if sum.use == "sum" then places:stop(token, text, ...) end
  places.promise = "a lane that has no part of a row changes nothing of what lanes put together"
end

-- The token where one lane alone changes what it has, before lanes choose among theirs.
local function changed_alone(places, fn, name, choice)
  for _, v in ipairs(values_of(fn, name)) do
    if v.token >= choice.first then return nil end
    if not v.is_new and is_alone(places, fn, v.token) then return v.token end
  end
end

local function check_choice(places, choice)
  for _, name in ipairs(names_of(choice.value, {}) or {}) do
    local token = changed_alone(places, choice.fn, name, choice)
    if token then
      places:stop(token, "changes '%s', by which they choose, in one lane alone", name)
    end
    local index = choice.fn ~= places.fn and parameter(choice.fn, name)
    if index then add_callers(places, choice, index) end
  end
end

local function check_sum(places, sum)
  if sum.use == "pick" then return check_choice(places, sum) end
  local names, own = names_of(sum.value, {}), 0
  for _, name in ipairs(names or {}) do
    local d = (sum.fn.variables[name] or {})[1]
    local index = parameter(sum.fn, name)
    local other = d and not index and other_part(places, sum.fn, name, sum)
    if other then
      refuse(places, sum, other, "gives each lane more of '%s' than its part of a row, and lanes "
        .. "add that up", name)
    end
    if index and sum.fn ~= places.fn then add_callers(places, sum, index) end
    own = own + ((index and sum.fn ~= places.fn or d and not index) and 1 or 0)
  end
  if own == 0 then refuse(places, sum, sum.first, "adds up what is no lane's part of a row") end
end

--- Raises where lanes add up more than what they have of a row; where they may, `places.promise`
--- says that they do not.
---@param places gilua.row_places
function M.check(places)
  local i = 1
  while places.sums[i] and i < MOST_SUMS do
    check_sum(places, places.sums[i])
    i = i + 1
  end
  if places.has_pairs and not places.settles_ties then places.promise = places.promise or TIES end
end

return M
