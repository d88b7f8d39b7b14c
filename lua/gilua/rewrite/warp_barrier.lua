--- warp_barrier: narrowing of a barrier's scope to the warp
--
-- where     barriers
-- needs     threads
-- becomes   threads wait for those of their warp, not of their block
-- promises  threads
--
-- Right where what they give each other stays in a warp: in blocks of 32 threads, which the launch
-- then has to have, or where a warp has a slice of its own. The checked run, which sees races,
-- judges that on its data; with more work other warps may meet there: a promise.
--
--   T:warp_barrier<LINE>()   the barrier on a line
--   T:warp_barrier<LINE>(all)   all of the kernel that begins there

-- The barriers of a function, __syncthreads(); as statements of their own.
local function barriers(fn)
  local list = {}
  for _, s in ipairs(fn.body and fn.statements or {}) do
    local tree = s.kind == "expression" and s.tree
    if tree and tree.kind == "call" and tree.callee.kind == "name"
      and tree.callee.text == "__syncthreads" and #tree.args == 0 then
      list[#list + 1] = s
    end
  end
  return list
end

local WARP = 32

-- What a launch has to be for its blocks to be one warp, as those are that the problem says; nil
-- where it says no block, or a longer one.
local function one_warp(at)
  local ask = at.kernel.options.values
  local values = ask and ask(at.fn) or {}
  local x, y, z = values["blockDim.x"], values["blockDim.y"] or 1, values["blockDim.z"] or 1
  if not x or x * y * z > WARP then return nil end
  return ("block.x<=%d block.y<=%d block.z<=%d"):format(x, y, z)
end

local PROMISE = "no thread waits there for one of another warp, whatever the data and the sizes"

-- The barriers of each function together, then each, the first on its line.
local function places(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local found, last = barriers(fn), nil
    list[#list + 1] = found[1] and { fn = fn, line = fn.line, last = fn.last_line, list = found,
      way = "all" }
    for _, s in ipairs(found) do
      local line = kernel:line_of(s.first)
      if line ~= last then
        list[#list + 1] = { fn = fn, line = line, last = line, list = { s }, way = false }
      end
      last = line
    end
  end
  return list
end

return { name = "warp_barrier", where = places, set = "barriers",
  none = "no __syncthreads() is there", judged = true, PROMISE = PROMISE,
  doc = "Threads wait for their warp, not for their block.",
  args = { { "all", of = "way" } },
  pays = function(at) return not at.way or #at.list > 1, "it has one barrier" end,
  needs = { { "threads", one_warp, gives = "one_warp", says = PROMISE, promised = true } },
  becomes = function(at, e)
    for _, s in ipairs(at.list) do
      e:replace(s.tree.callee.first, s.tree.callee.last, "__syncwarp")
    end
    return at.way and "threads wait for their warp at all barriers"
      or ("threads wait for their warp at line %d"):format(at.line), { launch = at.one_warp }
  end,
}
