--- warp_atomic: warp-aggregated atomics
--
-- where     statements
-- needs     added, uniform
-- becomes   an atomicAdd before which the lanes of a warp add up what they have
-- promises  apart
--
-- Without an argument all threads mean the same element, atomicAdd(&y[0], v), and one lane updates
-- it. With `match`, of counters: the lanes that mean the same element are found, and one of them
-- adds their number.

local added = require "gilua.facts.added"
local affine = require "gilua.source.affine"
local uniform = require "gilua.facts.uniform"
local warp_add = require "gilua.rewrite.warp_add"

local THREAD = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"

local function all_uniform(fn, access)
  for _, index in ipairs(access.indices or {}) do
    if not uniform.of(fn, index) then return false end
  end
  return access.indices ~= nil and access.root ~= nil
end

local function by_shuffles(fn, call, access, type)
  local kernel = fn.kernel
  return warp_add.lines(kernel, type, kernel:plain(call.args[1]), kernel:plain(call.args[2])),
    ("the lanes of a warp add to %s together"):format(kernel:plain(access.node))
end

local function by_match(fn, call, access)
  local kernel, n = fn.kernel, affine.integer(call.args[2])
  local place, same = kernel:fresh("place"), kernel:fresh("same_place")
  return {
    "{",
    ("  auto %s = %s;"):format(place, kernel:plain(call.args[1])),
    ("  unsigned int %s = __match_any_sync(__activemask(), (unsigned long long)%s);"):format(same,
      place),
    ("  if ((%s) %% 32 == __ffs(%s) - 1)"):format(THREAD, same),
    ("    atomicAdd(%s, %s__popc(%s));"):format(place, n ~= 1 and n .. " * " or "", same),
    "}",
  }, ("the lanes that mean the same element of %s add to it together"):format(access.base or "it")
end

local COUNTED = { int = true, ["unsigned int"] = true, ["unsigned long long"] = true }

local function adds(at)
  local one = added.of(at.fn, at.s)
  if not one then return nil, "no atomicAdd of its own is there" end
  if not one.type then return nil, "its element's type is not known" end
  if at.fn.kind ~= "kernel" then return nil, "it is in no kernel" end
  if at[1] and not (COUNTED[one.type] and affine.integer(one.call.args[2])) then
    return nil, "it does not count by a constant"
  end
  return one
end

return { name = "warp_atomic", where = "statements",
  doc = "The lanes of a warp add up what they have before one of them updates memory.",
  args = { { "way", { false, "match" } } },
  needs = {
    { "added", adds, gives = "added" },
    { "uniform", function(at) return at[1] or all_uniform(at.fn, at.added.access) end,
      says = "its element differs between threads" },
  },
  becomes = function(at, e)
    local one = at.added
    local lines, says = (at[1] and by_match or by_shuffles)(at.fn, one.call, one.access, one.type)
    e:replace(at.s.first, at.s.last, table.concat(lines, "\n" .. at.kernel:indent(at.s.first)))
    return says
  end,
}
