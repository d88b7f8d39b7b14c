--- places: which thread of a block an element belongs to.

local forms = require "gilua.facts.forms"
local sides_of = require "gilua.facts.sides"

local M = {}

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
        local block = "blockDim." .. side .. "*blockIdx." .. side
        local is_of_grid = rest[block] == 1
        local one = { name = d.name, d = d, side = side,
          from_zero = is_of_grid and next(rest, next(rest)) == nil }
        if is_of_grid then return one end
        found = found or one
      end
    end
  end
  return found
end

--- The coordinates of a kernel, { x, y }, each { name, d, side, from_zero }; without y in a kernel
--- that does not ask for threadIdx.y; nil where there are none.
---@param fn table of kernel.read
function M.coordinates(fn)
  if fn.coordinates == nil then
    local used = sides_of.used(fn)
    local x, y = coordinate(fn, "x"), used.y and coordinate(fn, "y") or nil
    local fits = fn.kind == "kernel" and fn.body and x and not used.z and (y or not used.y)
    fn.coordinates = fits and { x = x, y = y } or false
  end
  return fn.coordinates or nil
end

--- The names of the coordinates.
---@return table<string, true>
function M.atoms(at)
  return { [at.x.name] = true, [at.y and at.y.name or ""] = true }
end

--- Is a form the same for all threads of a block?
---@param fn table
---@param form table<string, integer>
---@param uniform table<string, true> names that are
---@return boolean
function M.is_uniform(fn, form, uniform)
  for monomial in pairs(form) do
    for _, factor in ipairs(forms.factors(monomial)) do
      if factor:find("threadIdx", 1, true) then return false end
      local d = fn.variables[factor]
      local is_kept = sides_of.kept(fn, factor)
      if d and not uniform[factor] and not (is_kept and (is_kept.parameter
        or next(sides_of.of(fn, is_kept.init, uniform) or { x = true }) == nil)) then
        return false
      end
    end
  end
  return true
end

return M
