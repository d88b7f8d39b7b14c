--- elements: what is made of elements that one thread loads for others (gilua.facts.elements):
-- their source for another thread, and lines in the place of a loop.

local edit = require "gilua.rewrite.edit"
local elsewhere = require "gilua.rewrite.elsewhere"

local M = {}

--- The source of an element elsewhere, without brackets where its place is the iteration alone.
---@param names table of gilua.rewrite.elsewhere
---@param before string[] lines that declare what it needs
function M.elsewhere(loop, el, names, before)
  local text = elsewhere.text(loop.fn, el.node.first, el.node.last, names, before)
  return (text:gsub("%[%(([%w_ +*]+)%)%]$", "[%1]"))
end

--- Who a thread is in its block, and how many there are; and what that asks of the launch.
---@param used table<string, true> sides that the kernel asks for
---@return string thread
---@return string threads
---@return string launch
function M.block_of(used)
  if used.z then
    return "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x",
      "blockDim.x * blockDim.y * blockDim.z", ""
  elseif used.y then
    return "threadIdx.y * blockDim.x + threadIdx.x", "blockDim.x * blockDim.y", "block.z<=1"
  end
  return "threadIdx.x", "blockDim.x", "block.y<=1 block.z<=1"
end

-- Lines are moved in by \1, a level of the file's.

--- A text of the file, as lines that begin where the loop does.
---@param text string
---@return string[]
function M.split(loop, text)
  local lines, indent = {}, loop.fn.kernel:indent(loop.statement.first)
  for line in (text:gsub("\n" .. indent, "\n") .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = line
  end
  return lines
end

--- Appends lines, moved in, but for those of the preprocessor.
function M.put(lines, more, indent)
  for _, line in ipairs(more) do
    lines[#lines + 1] = line:find "^#" and line or indent .. line
  end
  return lines
end

--- Puts lines in the place of a loop and of the pragmas before it.
---@param lines string[]
---@param is_apart? boolean in braces of their own
function M.stand_in(loop, lines, e, is_apart)
  for _, pragma in ipairs(loop.pragmas) do e:remove(pragma.first, pragma.last) end
  if is_apart or not edit.is_listed(loop.statement) then
    lines = M.put({ "{" }, lines, "\1")
    lines[#lines + 1] = "}"
  end
  local text = table.concat(lines, "\n" .. loop.fn.kernel:indent(loop.statement.first))
  e:replace(loop.statement.first, loop.statement.last, (text:gsub("\1", edit.unit(loop.fn))))
end

return M
