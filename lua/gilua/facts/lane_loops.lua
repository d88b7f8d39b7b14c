--- lane_loops: what goes along from one of a lane's iterations to its next? With fewer lanes these
-- are others: 3 is followed by 35 where a row has 32 lanes, and by 11 where it has eight. So it may
-- be put together, a sum or the greatest, and nothing in the loop may tell how far that is.
--
--   for (int c = lane, k = 0; c < n; c += 32, k++) out[c] = in[c] * w[k];   k counts a lane's own
--   for (int c = lane; c < n; c += 32) { sum += in[c]; out[c] = sum; }      sum is not the row's
--
-- What of two variables that go along one tells the other, as in a softmax in one pass, may come to
-- the same however a row is shared out, or not: that is promised.

local associative = require "gilua.facts.associative"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"

local M = {}

local STEPS = settings.set "++ -- += -="
local STORES = { "^atomic%u", "^__st" }
local PROMISE = "what lanes make of their parts of a row comes to the same, however it is shared "
  .. "out"

local function nodes_in(s)
  local list = {}
  statement.walk(s, function(child)
    statement.nodes({ child }, function(node) list[#list + 1] = node end)
  end)
  return list
end

-- Where names are written by some nodes: by name, nodes with `a` the name itself.
local function writes_in(nodes)
  local list = {}
  for _, node in ipairs(nodes) do
    local is_write = node.kind == "assign" or node.op == "++" or node.op == "--"
    if is_write and node.a.kind == "name" then
      list[node.a.text] = list[node.a.text] or {}
      table.insert(list[node.a.text], node)
    end
  end
  return list
end

-- The tokens where some nodes are a name, in order.
local function mentions_in(nodes, name)
  local list = {}
  for _, node in ipairs(nodes) do
    if node.kind == "name" and node.text == name then list[#list + 1] = node.first end
  end
  table.sort(list)
  return list
end

local function mentions(tree, name)
  return expression.any(tree, function(node) return node.kind == "name" and node.text == name end)
end

-- Does a variable keep what the iteration before gave it?
local function is_carried(fn, s, name, writes, tokens)
  local d = fn:declaration(name, s.first)
  if not d or d.scope_first > s.first then return false end
  local first = writes[1]
  local is_set = first.op == "=" and first.a.first == tokens[1]
  return not (is_set and not mentions(first.b, name))
end

-- Does a write count: go on by what is the same in each iteration?
local function counts(fn, s, node, own)
  if not STEPS[node.op] then return false end
  local all = effects.of(fn, node.b or node)
  if #all.accesses > 0 then return false end
  for name in pairs(node.b and all.reads or {}) do
    local d = fn:declaration(name, node.first)
    if own[name] or d and d.scope_first > s.first then return false end
  end
  return true
end

local function is_in(nodes, token)
  return lists.any(nodes, function(node) return statement.spans(node, token) end)
end

-- Is a node one that stores to memory?
local function is_store(node)
  if node.kind == "assign" then return node.a.kind ~= "name" end
  local name = node.kind == "call" and node.callee.kind == "name" and node.callee.text
  return lists.any(name and STORES or {}, function(pattern) return name:find(pattern) end)
end

-- Where a variable that goes along is stored by some nodes; nil where it is not.
local function stored_in(nodes, name)
  for _, node in ipairs(nodes) do
    if is_store(node) and mentions(node, name) then return node.first end
  end
end

-- The `if` of whose condition a token is, and which says whether a variable is written:
-- if (x > best) best = x; nil of another token.
local function choice_of(s, token, writes)
  local choice
  statement.walk(s, function(child)
    local asks = child.kind == "if" and is_in({ child.condition }, token)
    for _, node in ipairs(asks and writes or {}) do
      if is_in({ child.body }, node.first) then choice = choice or child end
    end
  end)
  return choice
end

-- Does a choice give another variable that goes along a value, too: where the greatest is?
local function is_of_two(fn, s, choice, name)
  for other, nodes in pairs(writes_in(nodes_in(choice.body))) do
    local d = fn:declaration(other, nodes[1].first)
    if other ~= name and d and d.scope_first < s.first then return true end
  end
  return false
end

-- Refuses values that an integer puts together and that lose a fraction in each iteration.
local function check_values(places, fn, d, nodes)
  if d.pointer > 0 or not associative.may_be_whole(fn, d.type) then return end
  for _, node in ipairs(nodes) do
    if node.b and not associative.of(fn, d.type, node.b) then
      places:stop(node.first, "drops a fraction in each iteration, in '%s'", d.name)
    end
  end
end

local function check_loop(places, fn, s, own)
  local all = nodes_in(s)
  local writes = writes_in(all)
  for _, name in ipairs(settings.keys(writes)) do
    local nodes, tokens = writes[name], mentions_in(all, name)
    table.sort(nodes, function(a, b) return a.first < b.first end)
    if not own[name] and is_carried(fn, s, name, nodes, tokens) then
      check_values(places, fn, fn:declaration(name, s.first), nodes)
      for _, node in ipairs(nodes) do
        for _, token in ipairs(counts(fn, s, node, own) and tokens or {}) do
          if not is_in(nodes, token) then
            places:stop(token, "asks for '%s', which counts what a lane did before", name)
          end
        end
      end
      local at = stored_in(all, name)
      if at then places:stop(at, "stores '%s', which has what a lane did before", name) end
      for _, token in ipairs(tokens) do
        local choice = choice_of(s, token, nodes)
        local is_own = is_in(nodes, token) or choice
        places.promise = places.promise or not is_own and PROMISE or nil
        places.has_pairs = places.has_pairs or choice and is_of_two(fn, s, choice, name)
      end
    end
  end
end

--- Raises where a loop of lanes tells how far a lane is.
---@param places gilua.row_places
function M.check(places, fn)
  for _, s in ipairs(fn.statements) do
    local own = places.loops[s]
    if own and next(own) then check_loop(places, fn, s, own) end
  end
end

return M
