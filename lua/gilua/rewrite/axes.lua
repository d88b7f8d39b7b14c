--- axes: loop interchange of thread axes (for coalesced access)
--
-- where     kernels
-- needs     threads, effects
-- becomes   x and y change places, in it and in its launch
-- promises  nothing
--
--   int row = blockIdx.x * blockDim.x + threadIdx.x;      int row = blockIdx.y * blockDim.y + …
--   int column = blockIdx.y * blockDim.y + threadIdx.y;   int column = blockIdx.x * blockDim.x + …
--
-- Threads that are neighbours along y come to be neighbours along x, and read neighbouring
-- elements, where a kernel gave x to the rows. Each thread does what another did: nothing changes
-- but which threads are of one warp.

local affine = require "gilua.source.affine"
local effects = require "gilua.facts.effects"
local threads = require "gilua.facts.threads"

local OTHER = { x = "y", y = "x" }

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
local function is_turned(at)
  if not at.fn.body then return true end
  local fn, sides, by = at.fn, sides_of(at.fn), { x = 0, y = 0, both = 0 }
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    local d = access.base and fn:declaration(access.base, access.token)
    if access.indices and #access.indices > 0 and d and #d.extents == 0 then
      local side = neighbours_by(fn, access, sides)
      if by[side] then by[side] = by[side] + 1 end
    end
  end
  return by.y > by.x, "its threads are neighbours in memory as they are"
end

-- Are all places seen where it counts on x or y?
local function are_seen(at)
  local uses = threads.uses(at.fn)
  if uses.hidden then return nil, uses.hidden end
  if uses.whole then return nil, ("%s is used as a whole"):format(uses.whole) end
  if uses.grid then return nil, ("it uses %s, which counts all threads"):format(uses.grid) end
  if #uses.threadIdx.x == 0 or #uses.threadIdx.y == 0 then
    return nil, "its threads do not differ along both x and y"
  end
  return uses
end

return { name = "axes", where = "kernels", launch = "axes=yx", pays = is_turned,
  doc = "x and y of threads and blocks change places.",
  needs = { { "threads", are_seen, gives = "uses" },
            { "effects", function(at) return not effects.of(at.fn, at.fn.body).warp end,
              says = "lanes of a warp tell each other something" } },
  becomes = function(at, e)
    for _, name in ipairs { "threadIdx", "blockIdx", "blockDim", "gridDim" } do
      for side, other in pairs(OTHER) do
        for _, token in ipairs(at.uses[name][side]) do e:replace(token + 2, token + 2, other) end
      end
    end
    return ("x and y of %s's threads and blocks change places"):format(at.fn.name)
  end,
}
