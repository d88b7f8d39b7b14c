--- order: may what a loop does be done in another order?
--
-- Finds in which iterations two accesses are of the same element. That needs indices which are sums
-- where only the loop's variable changes. Where k changes, too, a[i + k] is unknown.

local affine = require "gilua.source.affine"
local effects = require "gilua.facts.effects"
local loop_of = require "gilua.facts.loop"
local statement = require "gilua.source.statement"

local M = {}

--- Does a loop do nothing but count through its body, as one thread of its own?
---@param loop table?
function M.is_plain(loop)
  return loop and loop.simple and not loop.conditional and not loop.barrier and not loop.warp
    and not loop.continues
end

local within = statement.spans

-- ---- variables ------------------------------------------------------------------------------

-- A variable's declaration for each of its tokens; its name where it is one of the file.
local function touched(fn, uses, into)
  for name, tokens in pairs(uses) do
    for _, token in ipairs(tokens) do into[fn:declaration(name, token) or name] = name end
  end
  return into
end

local function shares(fn, a, b)
  local used = touched(fn, b.writes, touched(fn, b.reads, {}))
  local written = touched(fn, a.writes, {})
  for d, name in pairs(used) do
    if written[d] or fn.addressed[name] and not b.declares[name] then return true end
  end
  return false
end

--- Does one of two effects change a variable that the other uses, or may a pointer lead to one?
---@param a table
---@param b table
function M.shares_variable(fn, a, b) return shares(fn, a, b) or shares(fn, b, a) end

--- Does a part of a function, tokens first to last, change a variable that is not declared in it?
---@param inside table its effects
---@param first integer
---@param last integer
function M.changes_variable(fn, inside, first, last)
  for name, tokens in pairs(inside.writes) do
    for _, token in ipairs(tokens) do
      local d = fn:declaration(name, token)
      if not d or d.token < first or d.token > last then return true end
    end
  end
  return false
end

--- Does nothing but loops that set it at their beginning ask for a loop's variable?
function M.is_its_own(loop)
  if loop.declares then return true end
  local fn, name = loop.fn, loop.variable
  local d = name and fn:declaration(name, loop.statement.first)
  if not d or d.parameter or d.shared or d.reference or fn.addressed[name]
    or #(fn.variables[name] or {}) ~= 1 then
    return false
  end
  for _, token in ipairs(effects.of(fn, fn.body).reads[name] or {}) do
    local is_inside = false
    for _, other in ipairs(fn.loops) do
      local s = other.statement
      is_inside = is_inside or other.variable == name and other.start ~= nil and s.kind == "for"
        and s.init ~= nil and within(s, token)
    end
    if not is_inside then return false end
  end
  return true
end

local FREE = { atomicAdd = true, atomicSub = true, atomicMin = true, atomicMax = true,
               atomicAnd = true, atomicOr = true, atomicXor = true }

--- Does a part do what other threads may wait for?
---@param inside table its effects
function M.is_waited_for(fn, inside)
  for _, access in ipairs(inside.accesses) do
    local d = access.base and fn:declaration(access.base, access.token)
    if access.atomic and not FREE[access.atomic] or d and d.volatile then return true end
  end
  return false
end

--- Is a loop's first value the same before and after its body is done?
function M.keeps_start(loop)
  return loop.start and loop_of.is_invariant(loop.fn, loop.start, loop.inside)
    and not effects.of(loop.fn, loop.start).reads[loop.variable]
end

-- ---- memory ---------------------------------------------------------------------------------

local function is_steady(loop, index)
  return loop_of.is_invariant(loop.fn, index, loop.inside)
end

-- Returns the indices of two accesses in which nothing changes but the loop's variable.
local function steady_indices(loop, a, b)
  local one, two = { base = a.base, indices = {} }, { base = b.base, indices = {} }
  for i, p in ipairs(a.indices) do
    if is_steady(loop, p) and is_steady(loop, b.indices[i]) then
      table.insert(one.indices, p)
      table.insert(two.indices, b.indices[i])
    end
  end
  return one, two
end

-- Are two accesses elements of one array, as far as a loop's text says?
local function are_alike(loop, a, b)
  return a.base and a.base == b.base and a.indices and b.indices and #a.indices == #b.indices
    and not loop.inside.writes[a.base]
end

--- By how many iterations of a loop an access comes later to the place of another: 0, in the same
--- one alone; false: never; nil: not known. Where the loop's step is not known all but 0 and false
--- are in steps of 1.
---@param a table access
---@param b table the other
function M.distance(loop, a, b)
  if not are_alike(loop, a, b) or loop.step == 0 then return nil end
  local one, two = steady_indices(loop, a, b)
  return affine.distance(loop.fn.kernel, one, two, loop.variable, loop.step or 1)
end

-- ---- elements one after the other -------------------------------------------------------------

-- An index as a sum, macros that are numbers as these.
local function form_of(kernel, node)
  return affine.form(kernel, node, function(part)
    local value = part.kind == "name" and affine.macro(kernel, part.text)
    return value and { [""] = value } or nil
  end)
end

-- Is a form a sum of products of names, other macros and calls without a variable?
local function is_open(kernel, form, variable)
  for monomial in pairs(form) do
    for factor in monomial:gmatch "[^*]+" do
      if kernel.macros[factor] then return false end
      for word in factor:gmatch "[%a_][%w_]*" do
        if word == variable and word ~= factor then return false end
      end
    end
  end
  return true
end

-- A form of the iteration before: with the variable less a step; nil where it is there in another
-- way than times something.
local function a_step_before(form, name, step)
  local list = {}
  for monomial, n in pairs(form) do
    local others, times = {}, 0
    for factor in monomial:gmatch "[^*]+" do
      if factor == name then times = times + 1 else others[#others + 1] = factor end
    end
    if times > 1 then return nil end
    list = affine.sum(list, { [monomial] = n })
    if times == 1 then list = affine.sum(list, { [table.concat(others, "*")] = n }, -step) end
  end
  return list
end

--- Does an access touch in each iteration of a loop what another touched in the one before? Also
--- where the variable is times what is not known, a[(i - 1) * width].
---@param loop table with a step
---@param a table access
---@param b table the other
function M.follows(loop, a, b)
  local kernel, name = loop.fn.kernel, loop.variable
  if not are_alike(loop, a, b) then return false end
  for i, index in ipairs(a.indices) do
    local other = b.indices[i]
    local one, two = form_of(kernel, index), form_of(kernel, other)
    local is_known = one and two and is_steady(loop, index) and is_steady(loop, other)
      and is_open(kernel, one, name) and is_open(kernel, two, name)
    local before = is_known and a_step_before(two, name, loop.step)
    local rest = before and affine.sum(one, before, -1)
    if not rest or next(rest) then return false end
  end
  return true
end

return M
