--- where: the named sets of places at which a rewriting may stand, in the file's order.
--
-- A place is { kernel, fn, line, last (its last line), from (its first, where that is another) }
-- and, by its set,
--
--   loops         loop (gilua.facts.loop)
--   functions     a function for the GPU; kernels: one that is launched
--   indices       index (gilua.facts.threads): what a thread computes from where its block is
--   declarations  d, s: a name that a statement of a function declares, and the statement; name
--   statements    s
--   first_threads s, condition, thread: what one thread does alone (gilua.facts.first_thread)
--   rows          rows, or why not: a kernel whose lanes share rows (gilua.facts.row_places)
--   turned        access, base, at: an element that threads have a row apart (gilua.facts.turned)
--   arrays        d, name, sides: an array that is declared outside of functions
--
-- A set is { none (why a line has no such place), each(kernel), is_part (there are many in a loop
-- or a function), is_of_kernel (a kernel has many, and one refusal: the one that came furthest),
-- fact (which decides that a kernel has none) }.

local first_thread = require "gilua.facts.first_thread"
local lists = require "gilua.base.lists"
local row_places = require "gilua.facts.row_places"
local threads = require "gilua.facts.threads"
local turned = require "gilua.facts.turned"

local M = {}

local function loops(kernel)
  local list = {}
  for i, loop in ipairs(kernel.loops) do
    list[i] = { fn = loop.fn, loop = loop, line = loop.line,
                last = kernel:line_of(loop.statement.last) }
  end
  return list
end

-- Returns the functions for which fits(fn) is true.
local function functions(kernel, fits)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    if not fits or fits(fn) then
      list[#list + 1] = { fn = fn, line = fn.line, last = fn.last_line }
    end
  end
  return list
end

local function kernels(kernel)
  return functions(kernel, function(fn) return fn.is_entry end)
end

-- Kernels, one place for each side of a block.
local function sides(kernel)
  local list = {}
  for _, at in ipairs(kernels(kernel)) do
    for _, side in ipairs(threads.SIDES) do
      list[#list + 1] = { fn = at.fn, line = at.line, last = at.last, side = side }
    end
  end
  return list
end

local function indices(kernel)
  return lists.map(threads.all(kernel), function(index)
    return { fn = index.fn, index = index, side = index.side, line = index.line, last = index.line }
  end)
end

local function statements(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    for _, s in ipairs(fn.statements) do
      list[#list + 1] = { fn = fn, s = s, line = kernel:line_of(s.first),
                          last = kernel:line_of(s.last) }
    end
  end
  return list
end

local function declarations(kernel)
  local list = {}
  for _, at in ipairs(statements(kernel)) do
    for _, d in ipairs(at.s.declared or {}) do
      local line = kernel:line_of(d.token)
      list[#list + 1] = { fn = at.fn, s = at.s, d = d, name = d.name, line = line, last = line }
    end
  end
  return list
end

M.SETS = {
  loops = { none = "no loop begins there", each = loops },
  functions = { none = "no function begins there", each = functions },
  kernels = { none = "no kernel begins there", each = kernels },
  indices = { none = "no index that is computed from blockIdx is declared there", each = indices,
    fact = "threads" },
  declarations = { none = "no such name is declared there", each = declarations, is_part = true },
  first_threads = { none = "no `if` begins there whose condition is that the thread is the first",
    each = first_thread.all, fact = "first_thread" },
  rows = { none = "nothing there says what a lane is", each = row_places.all, fact = "row_places" },
  turned = { none = "no element is read or written there that threads have a row apart",
    each = turned.all, fact = "turned", is_of_kernel = true },
  sides = { none = "no kernel begins there", each = sides, is_of_kernel = true },
  statements = { none = "no statement begins there", each = statements, is_part = true },
}

--- Returns the places of a set, or those that a function finds, once for a source.
---@param set string|fun(kernel: table): table[]
---@return table[]
function M.places(kernel, set)
  kernel.places = kernel.places or {}
  local list = kernel.places[set]
  if not list then
    list = (M.SETS[set] and M.SETS[set].each or set)(kernel)
    for _, at in ipairs(list) do at.kernel, at.made = kernel, {} end
    kernel.places[set] = list
  end
  return list
end

return M
