--- width: by what does a kernel call the number of its block's threads, blockDim.x or a macro?
--
-- Yes, where it is only the step of loops that threads go through together, or what they divide by:
-- { name, macro, now (how many threads that are, where it is known) }. No is nil and a sentence.

local expression = require "gilua.source.expression"
local pattern = require "gilua.source.pattern"

local M = {}

local LEAST_THREADS = 32 -- of a macro's value that may be a block's width

--- Returns the width that a tree is: a macro's name, or "blockDim.x"; nil of anything else.
---@param tree table?
---@return string?
function M.of_tree(fn, tree)
  if not tree then return nil end
  if tree.kind == "cast" then return M.of_tree(fn, tree.a) end
  if pattern.match(tree, "blockDim.x") then return "blockDim.x" end
  local macro = tree.kind == "name" and fn.kernel.macros[tree.text]
  local value = macro and math.tointeger(tonumber(macro.value))
  return value and value >= LEAST_THREADS and tree.text or nil
end

-- The width by which threads go through a loop together, or into as many parts divide what is
-- there.
local function in_loops(fn)
  local found
  for _, loop in ipairs(fn.loops) do
    found = found or loop.counted and loop.sign > 0 and M.of_tree(fn, loop.by) or nil
  end
  local function see(node)
    local is_part = not found and node.kind == "binary" and node.op == "/" and #fn.loops > 0
    found = found or is_part and M.of_tree(fn, node.b) or nil
  end
  for _, s in ipairs(found and {} or fn.statements) do
    for _, d in ipairs(s.declared or {}) do expression.walk(d.init, see) end
  end
  return found
end

--- Is a name among the words from one token to another?
---@param from integer
---@param to integer
---@param name string
function M.mentions(fn, from, to, name)
  for i = from, to do
    if fn.kernel.words[i] == name then return true end
  end
  return false
end

-- Does anything that the kernel may call, or a macro that it uses, have a name?
local function is_hidden(fn, name)
  local kernel, knows = fn.kernel, {}
  for _, other in ipairs(kernel.functions) do
    knows[other.name] = other ~= fn and other.kind == "device"
      and M.mentions(other, other.open, other.close, name) or nil
  end
  for i = fn.open, fn.close do
    local word = kernel.words[i]
    if knows[word] then return true end
    for _, inside in ipairs((kernel.macros[word] or {}).names or {}) do
      if inside == name then return true end
    end
  end
  return false
end

local function found(fn)
  local width, options = in_loops(fn), fn.kernel.options
  if not width then return nil, "its threads go through no loop together" end
  if is_hidden(fn, width:match "^[%w_]+") then
    return nil, ("what it calls uses %s, too"):format(width:match "^[%w_]+")
  elseif (options.constants or {})[width] then
    return nil, ("%s is a parameter of the problem"):format(width)
  end
  local macro = fn.kernel.macros[width] and width
  local now = macro and math.tointeger(tonumber(fn.kernel.macros[macro].value))
  local block = (options.values and options.values(fn) or {})["blockDim.x"]
  if macro and block and block ~= now then
    return nil, ("%s is %d, and its blocks have %d threads"):format(width, now, block)
  end
  return { name = width, macro = macro, now = now or block }
end

--- Returns a kernel's width; nil and why it has none that may be another.
---@return { name: string, macro: string?, now: integer? }?
---@return string? why
function M.of(fn)
  fn.width = fn.width or table.pack(found(fn))
  return fn.width[1], fn.width[2]
end

return M
