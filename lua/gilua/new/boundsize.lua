-- boundsize: would the host launch so few threads? A kernel keeps its threads within a bound that
-- the host makes its grid of: `i < width * height`. Where that bound does not follow the size, a
-- case of another size launches fewer threads than the host ever does. The kernel as it is may be
-- right there, and one whose threads go on to the bound is not, though no launch shows that.

local attempt = require "gilua.base.attempt"
local effects = require "gilua.facts.effects"
local expression = require "gilua.problem.expression"
local kernel = require "gilua.transform.kernel"
local tablecase = require "gilua.problem.tablecase"
local threads = require "gilua.facts.threads"

local M = {}

local MOST_STEPS = 4 -- from a name to what it was made of

-- A tree's words, with what macros and variables that keep their first value stand for.
local function text_of(fn, tree, steps)
  return (fn.kernel:plain(tree):gsub("%f[%w_][%a_][%w_]*", function(name)
    local macro, d = fn.kernel.macros[name], fn:declaration(name, tree.first)
    if macro and not d then return macro.value and "(" .. macro.value .. ")" end
    local writes = d and d.init and effects.of(fn, fn.body).writes[name] or {}
    if steps > 0 and #writes == 1 and not fn.addressed[name] then
      return "(" .. text_of(fn, d.init, steps - 1) .. ")"
    end
  end))
end

--- The bounds of a kernel's indices.
---@param problem gilua.problem
---@return { side: integer, text: string, relation: string }[] side: 1, 2 or 3
function M.bounds(problem)
  local known, list = kernel.of_text(problem.source), {}
  for _, fn in ipairs(known.functions) do
    for _, index in ipairs(fn.name == problem.kernel and fn.body and threads.indices(fn) or {}) do
      local guard = index.usual and threads.guard(index)
      if guard then
        list[#list + 1] = { side = ("xyz"):find(index.side, 1, true),
          text = text_of(fn, guard.bound, MOST_STEPS), relation = guard.relation }
      end
    end
  end
  return list
end

-- Has a launch of a size as many threads along a bound's side as have an item? nil: not known.
local function covers(problem, size, bound)
  local values = problem:values()
  local names = tablecase.names(problem.definition.kernel_table, size, values)
  local read, items = attempt(expression.number, bound.text, names, "")
  if not read then return nil end
  local block = values["block_size_" .. ("xyz"):sub(bound.side, bound.side)] or 1
  if bound.relation == "<=" then items = items + 1 end
  return ((size[bound.side] or 1) + block - 1) // block * block >= items
end

--- Is a size one that the host may launch? Not where a bound is beyond its threads that is within
--- those of the problem's own size.
---@param problem gilua.problem of a kernel table
---@param size integer[]
---@return boolean
function M.fits(problem, size)
  local own = tablecase.sizes(problem.definition.kernel_table.table.size)
  for _, bound in ipairs(problem.is_ptx and {} or M.bounds(problem)) do
    if covers(problem, own, bound) and covers(problem, size, bound) == false then return false end
  end
  return true
end

return M
