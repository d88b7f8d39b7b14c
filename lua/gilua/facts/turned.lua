--- turned: which elements do neighbouring threads along x have a row apart, and those along y side
-- by side?
--
-- `out[x * h + y]`, where x and y grow by one from thread to thread: the index has the coordinate
-- along y as it is, and the one along x times what is the same for all threads of the block. Where
-- an index is no sum of products, or its parts are not known to be the same, there is no answer.

local effects = require "gilua.facts.effects"
local forms = require "gilua.facts.forms"
local sides_of = require "gilua.facts.sides"

local M = {}

local LEAST_PITCH = 8 -- elements between neighbours, where that is a number

-- The variable of a kernel that grows by one from thread to thread on a side; of several one that
-- does so all over the grid.
local function coordinate(fn, side)
  local own, found = "threadIdx." .. side, nil
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.kind == "declaration" and s.declared or {}) do
      local form = d.init and d.type == "int" and d.pointer == 0 and sides_of.kept(fn, d.name) == d
        and forms.of(fn, d.init, {})
      local part, rest = nil, nil
      if form then part, rest = forms.part_with(form, own) end
      local sides = part and forms.is_one(part) and sides_of.of(fn, d.init)
      if sides and sides[side] and next(sides, next(sides)) == nil then
        if rest["blockDim." .. side .. "*blockIdx." .. side] == 1 then return d.name end
        found = found or d.name
      end
    end
  end
  return found
end

--- Returns the names of a kernel's coordinates in its block, { x, y }; nil where it has not both,
--- or asks for a third.
---@return { x: string, y: string }?
function M.coordinates(fn)
  local used = sides_of.used(fn)
  if not (fn.is_entry and fn.body and used.y) or used.z then return nil end
  local x, y = coordinate(fn, "x"), coordinate(fn, "y")
  return x and y and { x = x, y = y } or nil
end

-- Is a form the same for all threads of a block?
local function is_same(fn, form)
  for monomial in pairs(form) do
    for _, factor in ipairs(forms.factors(monomial)) do
      local d, kept = fn.variables[factor], sides_of.kept(fn, factor)
      local is_kept = kept and (kept.parameter
        or next(sides_of.of(fn, kept.init) or { x = true }) == nil)
      if factor:find("threadIdx", 1, true) or d and not is_kept then return false end
    end
  end
  return true
end

local function is_turned(fn, access, at)
  local index = access.indices and #access.indices == 1 and access.indices[1]
  local form = index and forms.of(fn, index, { [at.x] = true, [at.y] = true })
  local along, rest, across
  if form then along, rest = forms.part_with(form, at.x) end
  if along and next(along) then across, rest = forms.part_with(rest, at.y) end
  if not across or not forms.is_one(across) then return false end
  local pitch = forms.constant(along)
  if pitch and math.abs(pitch) < LEAST_PITCH then return false end
  return is_same(fn, along) and is_same(fn, rest)
end

---@class gilua.turned
---@field access table
---@field base string its array
---@field at { x: string, y: string } the coordinates

--- Returns the elements of a source's kernels that are turned, the first of each array on a line.
---@return gilua.turned[]
function M.all(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local at, seen = M.coordinates(fn), {}
    for _, access in ipairs(at and effects.of(fn, fn.body).accesses or {}) do
      local d = access.base and fn:declaration(access.base, access.token)
      local line = access.node and kernel:line_of(access.node.first)
      if d and line and not d.shared and #d.extents == 0 and is_turned(fn, access, at)
        and not seen[line .. access.base] then
        seen[line .. access.base] = true
        list[#list + 1] = { fn = fn, access = access, base = access.base, at = at, line = line,
          from = fn.line, last = fn.last_line }
      end
    end
  end
  table.sort(list, function(a, b) return a.line < b.line end)
  return list
end

return M
