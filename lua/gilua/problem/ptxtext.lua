--- ptxtext: kernels in the text of a PTX module, in the form in which gi.ptx prints it: a problem
--- whose kernels have no source is of such a text.

local core = require "gilua.core"
local fail = require "gilua.base.fail"

local M = {}

--- The module as gi.ptx prints it, which edits of it keep to.
---@param text string
---@param whose string for messages
---@return string
function M.canonical(text, whose)
  local ptx <close>, why = core.ptx.open(text)
  if not ptx then fail("the PTX of %s: %s", whose, why) end
  local printed, unprinted = ptx:apply ""
  if not printed then fail("the PTX of %s: %s", whose, unprinted) end
  return printed
end

-- The first and last byte of a kernel, from its line on; nil where it is not there.
local function span(text, name)
  local at = text:find("%.entry%s+" .. name:gsub("%p", "%%%0") .. "%s*%(")
  if not at then return nil end
  local first = at
  while first > 1 and text:sub(first - 1, first - 1) ~= "\n" do first = first - 1 end
  local last = select(2, text:find("\n}\n", at, true))
  return first, last or #text
end

local NAME = "%.entry%s+([%w_$%%]+)%s*%("

--- A module without kernels that are not named; all else of it stays.
---@param text string
---@param kernels table<string, any> by name
---@return string
function M.only(text, kernels)
  local parts, from, at, _, name = {}, 1, text:find(NAME)
  while at do
    local last = select(2, text:find("\n}\n", at, true)) or #text
    if not kernels[name] then
      parts[#parts + 1] = text:sub(from, at - 1):match "^(.*\n)[^\n]*$" -- without its own line
      from = last + 1
    end
    at, _, name = text:find(NAME, last)
  end
  parts[#parts + 1] = text:sub(from)
  return table.concat(parts)
end

--- A module with kernels of another text in the place of its own.
---@param text string
---@param other string
---@return string
function M.with(text, other)
  for name in other:gmatch(NAME) do
    local first, last = span(text, name)
    local from, to = span(other, name)
    if not first then fail("the module has no kernel %s any more", name) end
    text = text:sub(1, first - 1) .. other:sub(from, to) .. text:sub(last + 1)
  end
  return text
end

--- The types that a kernel reads and writes in global memory: { f32 = true, … }.
---@param text string
---@param name string
---@return table<string, boolean>
function M.types(text, name)
  local first, last = span(text, name)
  local set = {}
  for type in text:sub(first or 1, last or 0):gmatch "%.global[%w.]*%.(%l%d+)%s" do
    set[type] = true
  end
  return set
end

--- A module in which a kernel does nothing.
---@param text string
---@param name string
---@return string
function M.emptied(text, name)
  local first = span(text, name)
  local open = select(2, text:find("\n{\n", first, true))
  return text:sub(1, open) .. "\tret;\n" .. text:sub(open + 1)
end

--- A module whose products are rounded before they are added: what nvcc's -fmad=false makes.
---@param text string
---@return string
function M.without_fma(text)
  return (text:gsub("\n(\t?@?!?[%w%%]*%s*)fma%.rn(%.?%l*)%.f(%d%d)%s+([%w%%]+), ([^,;\n]+), "
    .. "([^,;\n]+), ([^,;\n]+);", function(before, more, bits, to, a, b, c)
      local type = more .. ".f" .. bits
      return ("\n\t{\n\t.reg .f%s %%gilua_product;\n\tmul.rn%s %%gilua_product, %s, %s;\n"
        .. "%sadd.rn%s %s, %%gilua_product, %s;\n\t}"):format(bits, type, a, b, before, type, to, c)
    end))
end

return M
