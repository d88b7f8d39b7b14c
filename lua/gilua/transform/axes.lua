-- axes: x and y change places: threads that are neighbours along y come to be neighbours along x,
-- and read neighbouring elements, where a kernel gave x to the rows.
--
--   int row = blockIdx.x * blockDim.x + threadIdx.x;      int row = blockIdx.y * blockDim.y + …
--   int column = blockIdx.y * blockDim.y + threadIdx.y;   int column = blockIdx.x * blockDim.x + …
--
-- The launch changes with it, so that each thread does what another did: nothing changes but which
-- threads are of one warp.

local affine = require "gilua.source.affine"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local threads = require "gilua.facts.threads"

local OTHER = { x = "y", y = "x" }

-- Why x and y of a kernel cannot change places; nil where they can.
local function unfit(fn)
  local uses = threads.uses(fn)
  if uses.hidden then return uses.hidden end
  if uses.whole then return ("%s is used as a whole"):format(uses.whole) end
  if uses.grid then return ("it uses %s, which counts all threads"):format(uses.grid) end
  local all = effects.of(fn, fn.body)
  if all.warp then return "lanes of a warp tell each other something" end
  if #uses.threadIdx.x == 0 or #uses.threadIdx.y == 0 then
    return "its threads do not differ along both x and y"
  end
end

-- The names that come from threadIdx of one side, and of that alone: { name = "x", "y" or "both" }.
local function sides_of(fn)
  local sides = {}
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.declared or {}) do
      for i = d.init and d.init.first or 0, d.init and d.init.last or -1 do
        local word = fn.kernel.words[i]
        local side = word == "threadIdx" and fn.kernel.words[i + 2] or sides[word]
        if side then sides[d.name] = (sides[d.name] or side) == side and side or "both" end
      end
    end
  end
  return sides
end

-- By which side neighbours are in memory, as an index says: the one that is added as it is, where
-- the other one is multiplied, or in an earlier dimension.
local function neighbours_by(fn, access, sides)
  local form = affine.form(fn.kernel, access.indices[#access.indices])
  local plain, times = nil, nil
  for monomial, n in pairs(form or {}) do
    for factor in monomial:gmatch "[^*]+" do
      local side = sides[factor] or factor:match "^threadIdx%.([xy])$"
      if side and monomial == factor and n == 1 then plain = side elseif side then times = side end
    end
  end
  return plain and plain ~= times and plain or nil
end

-- Does a kernel go through memory by y, at more places than by x?
local function is_turned(fn)
  local sides, by = sides_of(fn), { x = 0, y = 0, both = 0 }
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    local d = access.base and fn:declaration(access.base, access.token)
    if access.indices and #access.indices > 0 and d and #d.extents == 0 then
      local side = neighbours_by(fn, access, sides)
      if side then by[side] = by[side] + 1 end
    end
  end
  return by.y > by.x
end

local M = { name = "axes", first = true,
  doc = "x and y of threads and blocks change places." }

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    if fn.is_entry and fn.body and kernel:is_open(fn.line, fn.last_line) and not unfit(fn)
      and is_turned(fn) then
      list[#list + 1] = { line = fn.line, args = {} }
    end
  end
  return list
end

function M.make(kernel, line)
  for _, fn in ipairs(kernel.functions) do
    if fn.line == line and fn.is_entry and fn.body then
      local why = unfit(fn)
      if why then return nil, why end
      local e, uses = edit.new(kernel), threads.uses(fn)
      for _, name in ipairs { "threadIdx", "blockIdx", "blockDim", "gridDim" } do
        for side, other in pairs(OTHER) do
          for _, token in ipairs(uses[name][side]) do e:replace(token + 2, token + 2, other) end
        end
      end
      return { edits = e:lines(), launch = "axes=yx",
        says = ("x and y of %s's threads and blocks change places"):format(fn.name) }
    end
  end
  return nil, "no kernel begins there"
end

return M
