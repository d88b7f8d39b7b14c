--- pattern: matches expressions by example.
--
--   local found = pattern.match(tree, "$array[$i + $k] += $x", "$x += $array[$i + $k]")
--
-- A name after $ stands for any expression; the same name in one example stands for the same
-- expression. Redundant parentheses are ignored, and so are the suffixes of whole numbers (2u is
-- 2). Operands are not swapped: an expression with two orders needs two examples.

local core = require "gilua.core"

local M = {}

local HOLE = "hole_of_pattern_"
local CHILDREN = { "callee", "a", "b", "condition", "index" }
local WORDS = { "kind", "op", "text", "name", "arrow", "type", "makes" }

local kept = {} -- the trees of examples

local function tree_of(example)
  kept[example] = kept[example] or core.grammar.source((example:gsub("%$", HOLE))):expression()
  return kept[example]
end

-- Do two nodes have the same word? Of an example's number the suffix does not count.
local function has_same(tree, other, word, is_example)
  if tree[word] == other[word] then return true end
  local is_number = is_example and word == "text" and tree.kind == "number"
  return is_number and tree.text:match "^(%d+)[uUlL]*$" == other.text
end

local fits -- (tree, other, holes): are they the same but for holes, nil: none, of the other one?

local function fits_list(list, others, holes)
  if #list ~= #others then return false end
  for i, tree in ipairs(list) do
    if not fits(tree, others[i], holes) then return false end
  end
  return true
end

function fits(tree, other, holes)
  local hole = holes and other.kind == "name" and other.text:match("^" .. HOLE .. "(.+)$")
  if hole then
    holes[hole] = holes[hole] or tree
    return tree == holes[hole] or fits(tree, holes[hole])
  end
  for _, word in ipairs(WORDS) do
    if not has_same(tree, other, word, holes ~= nil) then return false end
  end
  for _, child in ipairs(CHILDREN) do
    local one, its = tree[child] or nil, other[child] or nil
    if (one == nil) ~= (its == nil) or one and not fits(one, its, holes) then return false end
  end
  return fits_list(tree.args or tree.items or {}, other.args or other.items or {}, holes)
end

--- Returns what stands in the holes of the first example that an expression is like, by their
--- names; nil where it is like none.
---@param tree table? of gilua.source.expression
---@param ... string examples
---@return table<string, table>?
function M.match(tree, ...)
  for _, example in ipairs(tree and { ... } or {}) do
    local holes = {}
    if fits(tree, tree_of(example), holes) then return holes end
  end
end

--- Do two expressions say the same, word by word?
---@param a table
---@param b table
function M.same(a, b) return fits(a, b) end

return M
