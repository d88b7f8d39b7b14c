-- fixedblock: why the block of a kernel is not to be tuned: its code relies on a number of threads
-- that the launch does not give it. Where one is missed, mutants with another block are wrong, and
-- checks find that.

local csource = require "gilua.source.csource"

local M = {}

local function is_offered(offer, name)
  for _, macro in ipairs(offer and offer.macros or {}) do
    if macro.name == name then return true end
  end
  return false
end

-- Is an expression made of macros that are offered?
local function is_made_of(host, offer, text)
  local t <close>, any = csource.tokens(text), false
  for i = 1, #t do
    if t:kind(i) == "name" and not host.SIZES[t[i]] and t[i] ~= "static_cast" then
      if not is_offered(offer, t[i]) then return false end
      any = true
    end
  end
  return any
end

-- The heads of loops: where each begins and ends.
local function loop_heads(body)
  local list, i = {}, body:find(1, "for", "(")
  while i do
    list[#list + 1] = { i + 1, body:match(i + 1) or #body }
    i = body:find(i + 1, "for", "(")
  end
  return list
end

local function is_in(ranges, i)
  for _, range in ipairs(ranges) do
    if i >= range[1] and i <= range[2] then return true end
  end
  return false
end

-- Names that a statement, not the head of a loop, makes of threadIdx.
local function of_threads(body, heads)
  local names, i = {}, body:find(1, "threadIdx")
  while i do
    local at = not is_in(heads, i) and i or 0
    while at > 0 and not body[at]:find "^[;{}=]$" do at = at - 1 end
    if at > 1 and body[at] == "=" then names[body[at - 1]] = true end
    i = body:find(i + 1, "threadIdx")
  end
  return names
end

-- Is an array of a size of its own used as any number of threads would? So it is where a loop takes
-- steps of the block over its size, and no index is made of threadIdx beside such loops.
local function goes_by_block(read, array, size)
  local body, steps = read.body, false
  local heads = loop_heads(body)
  for _, head in ipairs(heads) do
    local text = body:text(head[1], head[2])
    steps = steps or text:find(size, 1, true) ~= nil and text:find "%+=%s*blockDim" ~= nil
  end
  local names, i = of_threads(body, heads), steps and body:find(1, array, "[")
  while i do
    local close = body:match(i + 1) or #body
    for k = i + 2, close - 1 do
      if body[k] == "threadIdx" or names[body[k]] then return false end
    end
    i = body:find(close, array, "[")
  end
  return steps
end

-- Shared memory of a size of its own, which is no warp's.
local function fixed_shared(read, offer)
  local body = read.body
  local i = body:find(1, "__shared__")
  while i do
    repeat i = i + 1 until not body[i] or body[i] == ";" or body[i] == "["
    local close = body[i] == "[" and body:match(i)
    local inner = close and body:text(i + 1, close - 1)
    if inner and inner ~= "32" and read.host:value(inner)
        and not is_made_of(read.host, offer, inner)
        and not goes_by_block(read, body[i - 1], inner) then
      return inner
    end
    i = body:find(i, "__shared__")
  end
end

-- A name that the launch makes its block of and the kernel uses as well.
local function shared_name(read, offer)
  local text = read.launch and read.launch.block or ""
  local t <close> = csource.tokens(read.host.dims[text] or text)
  for i = 1, #t do
    if t:kind(i) == "name" and t[i] ~= "dim3" and read.body:find(1, t[i])
        and not is_offered(offer, t[i]) then
      return t[i]
    end
  end
end

--- The arguments of __launch_bounds__ in a kernel's head; nil where it has none.
---@param head userdata tokens
---@return string?
function M.launch_bounds(head)
  local i = head:find(1, "__launch_bounds__", "(")
  local close = i and head:match(i + 1)
  return close and head:text(i + 2, close - 1)
end

--- Does the code rely on a number of threads that the launch does not give it? Why it does, or nil.
---@param read Reading
---@param block integer[]
---@param offer? Offer macros that go with the block: who relies on them relies on nothing else
---@return string?
function M.why(read, block, offer)
  local inner = fixed_shared(read, offer)
  if inner then return "shared memory has a size of its own, " .. inner end
  for i, p in ipairs(read.sliced.item.template or {}) do
    if read.template[i] == tostring(block[1]) then
      return ("template parameter %s is it"):format(p.name)
    end
  end
  local name, bounds = shared_name(read, offer), M.launch_bounds(read.head)
  if name then return ("the kernel uses %s as well"):format(name) end
  return bounds and ("__launch_bounds__(%s)"):format(bounds)
end

return M
