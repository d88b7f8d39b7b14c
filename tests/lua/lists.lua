-- gilua.base.lists, and what the tree of a source is asked of its nodes and places.

package.path = "tests/lua/?.lua;" .. package.path
local expression = require "gilua.source.expression"
local kernel = require "gilua.transform.kernel"
local lists = require "gilua.base.lists"
local statement = require "gilua.source.statement"
local tap = require "tap"

local function is_even(n) return n % 2 == 0 end

tap.case("any and none", function()
  tap.is(lists.any({ 1, 2, 3 }, is_even), true, "one is")
  tap.is(lists.any({ 1, 3 }, is_even), false, "none is")
  tap.is(lists.any({}, is_even), false, "of nothing")
  tap.is(lists.none({ 1, 3 }, is_even), true, "none")
  tap.is(lists.none({ 1, 4 }, is_even), false, "one, the last")
  tap.is(lists.any({ 1 }, function() return "yes" end), true, "a truth value, whatever is said")
end)

tap.case("filter and map", function()
  tap.is(table.concat(lists.filter({ 1, 2, 3, 4 }, is_even), " "), "2 4", "those that are")
  tap.is(#lists.filter({ 1, 3 }, is_even), 0, "none")
  local given = { 1, 2 }
  tap.is(table.concat(lists.map(given, function(n) return n * 10 end), " "), "10 20", "of each")
  tap.is(table.concat(given, " "), "1 2", "what is given stays")
end)

tap.case("nodes, statements and places", function()
  local fn = kernel.of_text [[
__global__ void k(float *a, int n)
{
  if (n > 3) return;
  for (int i = 0; i < n; i++) a[i] = 1.0f + i;
  while (n) { if (a[0] > 1) goto out; }
  out: ;
}
]].by_name.k
  local list = fn.body.body
  local function adds(node) return node.op == "+" end
  tap.is(expression.any(list[2].body.tree, adds), true, "a node that adds")
  tap.is(expression.any(list[1].condition, adds), false, "none")
  tap.is(expression.any(nil, adds), false, "of no tree")
  tap.is(statement.jumps(list[1]), true, "a return")
  tap.is(statement.jumps(list[2]), false, "a loop without")
  tap.is(statement.jumps(list[3]), true, "a goto")
  local s = list[2]
  tap.is(statement.spans(s, s.first) and statement.spans(s, s.last), true, "its first and last")
  tap.is(statement.spans(s, s.first - 1) or statement.spans(s, s.last + 1), false, "those beside")
  tap.is(statement.covers(s, s.body) and statement.covers(s, s), true, "its body, and itself")
  tap.is(statement.covers(s.body, s), false, "not the other way round")
end)

tap.done()
