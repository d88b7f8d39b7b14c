-- warp_barrier: threads wait for those of their warp, not of their block. Right where what they
-- give each other stays in a warp: in blocks of 32 threads, which the launch then has to have, or
-- where a warp has a slice of its own. The checked run, which sees races, judges that on its data;
-- with more work other warps may meet there: a promise.
--
--   T:warp_barrier<LINE>()   the barrier on a line
--   T:warp_barrier<LINE>(all)   all of the kernel that begins there

local edit = require "gilua.rewrite.edit"

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
local function one_warp(fn)
  local ask = fn.kernel.options.values
  local values = ask and ask(fn) or {}
  local x, y, z = values["blockDim.x"], values["blockDim.y"] or 1, values["blockDim.z"] or 1
  if not x or x * y * z > WARP then return nil end
  return ("block.x<=%d block.y<=%d block.z<=%d"):format(x, y, z)
end

local M = { name = "warp_barrier", judged = true,
  doc = "Threads wait for their warp, not for their block." }

M.PROMISE = "no thread waits there for one of another warp, whatever the data and the sizes"

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local open = kernel:is_open(fn.line, fn.last_line)
    local found, last = open and barriers(fn) or {}, nil
    if #found > 1 then list[#list + 1] = { line = fn.line, args = { "all" } } end
    for _, s in ipairs(found) do
      local line = kernel:line_of(s.first)
      if line ~= last then list[#list + 1] = { line = line, args = {} } end
      last = line
    end
  end
  return list
end

-- The barriers that a gene means: of the kernel on a line, or on the line itself; and the function.
local function meant(kernel, line, all)
  for _, fn in ipairs(kernel.functions) do
    if all and fn.line == line then return barriers(fn), fn end
    for _, s in ipairs(not all and barriers(fn) or {}) do
      if kernel:line_of(s.first) == line then return { s }, fn end
    end
  end
  return {}
end

function M.make(kernel, line, args)
  if args[2] or args[1] and args[1] ~= "all" then
    return nil, "it is written warp_barrier<LINE>(), or (all) of a kernel that begins there"
  end
  local e, list, fn = edit.new(kernel), meant(kernel, line, args[1])
  if #list == 0 then return nil, "no __syncthreads() is there" end
  for _, s in ipairs(list) do e:replace(s.tree.callee.first, s.tree.callee.last, "__syncwarp") end
  local launch = one_warp(fn)
  return { edits = e:lines(), launch = launch, promise = not launch and M.PROMISE or nil,
    says = args[1] and "threads wait for their warp at all barriers"
      or ("threads wait for their warp at line %d"):format(line) }
end

return M
