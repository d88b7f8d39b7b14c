-- warp_barrier: threads wait for those of their warp, not of their block. Right where what they
-- give each other stays in a warp: in blocks of 32 threads, or where a warp has a slice of its own;
-- the checked run, which sees races, judges that.
--
--   T:warp_barrier<LINE>()   the barrier on a line
--   T:warp_barrier<LINE>(all)   all of the kernel that begins there

local edit = require "gilua.transform.edit"

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

local M = { name = "warp_barrier", judged = true,
  doc = "Threads wait for their warp, not for their block." }

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

-- The barriers that a gene means: of the kernel on a line, or on the line itself.
local function meant(kernel, line, all)
  for _, fn in ipairs(kernel.functions) do
    if all and fn.line == line then return barriers(fn) end
    for _, s in ipairs(not all and barriers(fn) or {}) do
      if kernel:line_of(s.first) == line then return { s } end
    end
  end
  return {}
end

function M.make(kernel, line, args)
  if args[2] or args[1] and args[1] ~= "all" then
    return nil, "it is written warp_barrier<LINE>(), or (all) of a kernel that begins there"
  end
  local list, e = meant(kernel, line, args[1]), edit.new(kernel)
  if #list == 0 then return nil, "no __syncthreads() is there" end
  for _, s in ipairs(list) do e:replace(s.tree.callee.first, s.tree.callee.last, "__syncwarp") end
  return { edits = e:lines(), says = args[1] and "threads wait for their warp at all barriers"
    or ("threads wait for their warp at line %d"):format(line) }
end

return M
