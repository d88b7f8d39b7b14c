--- expression: an expression of CUDA C as a tree, as gi.grammar.source reads it.
--
-- A node is { kind, first, last (token numbers, with the parentheses around it), … }:
--
--   name    text, token                a name, with its qualifiers: x, std::min; its last word
--   number  text, token                also strings, characters, sizeof(…): what never changes
--   call    callee, args, makes        f(a, b); f<3>(x); makes: float(x), T{x} of a type T
--   index   a, index                   a[i]
--   member  a, name, arrow             a.x, a->x
--   unary   op, a                      - + ! ~ * & ++ --
--   postfix op, a                      a++, a--
--   binary  op, a, b                   the comma too
--   assign  op, a, b                   = += …
--   choice  condition, a, b            c ? a : b
--   cast    type, a                    (int)x, static_cast<int>(x)
--   list    items                      { 1, 2 }
--
-- What is not understood (lambdas, launches, new, statement expressions) has no tree: nil.
-- The statement or the declared name that it is of says why.

local core = require "gilua.core"
local settings = require "gilua.base.settings"

local M = {}

local set = settings.set

--- The words that form types without a declaration.
M.TYPES = core.grammar.type_words()

local CHILDREN = { "callee", "a", "b", "condition", "index" }

local KINDS = set "name number call index member unary postfix binary assign choice cast list"

--- Is it a node of an expression, not a statement?
function M.is_tree(it) return KINDS[it.kind] or false end

--- Calls visit(node) for a node and all below it, from left to right of the fields above.
--- Where it returns false, what is below that node is left out.
function M.walk(tree, visit)
  if not tree or visit(tree) == false then return end
  for _, field in ipairs(CHILDREN) do
    if tree[field] then M.walk(tree[field], visit) end
  end
  for _, item in ipairs(tree.args or tree.items or {}) do M.walk(item, visit) end
end

--- A tree without its casts.
---@return table
function M.uncast(tree)
  while tree.kind == "cast" do tree = tree.a end
  return tree
end

--- Does a question hold for a node of a tree?
---@param tree table?
---@param holds fun(node: table): any
function M.any(tree, holds)
  local found = false
  M.walk(tree, function(node)
    found = found or holds(node) and true or false
    return not found
  end)
  return found
end

--- What an operator joins, from left to right: a, b, c of a && b && c; the tree itself of others.
---@param op string
---@param list table[] to which they are added
---@return table[] list
function M.parts(tree, op, list)
  if tree.kind == "binary" and tree.op == op then
    M.parts(tree.a, op, list)
    return M.parts(tree.b, op, list)
  end
  list[#list + 1] = tree
  return list
end

return M
