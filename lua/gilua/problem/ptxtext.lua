--- ptxtext: the kernels in the text of a PTX module, in the form that gi.ptx prints. A problem
--- whose kernels have no source works on such a text.

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

-- These kernels and those that they name, which are those that they launch.
local function with_launched(text, kernels)
  local is_kernel, kept, new = {}, {}, {}
  for name in text:gmatch(NAME) do is_kernel[name] = true end
  for name in pairs(kernels) do kept[name], new[#new + 1] = true, name end
  while #new > 0 do
    local first, last = span(text, table.remove(new))
    for word in first and text:sub(first, last):gmatch "[%w_$%%]+" or function() end do
      if is_kernel[word] and not kept[word] then kept[word], new[#new + 1] = true, word end
    end
  end
  return kept
end

--- A module without kernels that are neither named nor launched by these; all else of it stays.
---@param text string
---@param kernels table<string, any> by name
---@return string
function M.only(text, kernels)
  kernels = with_launched(text, kernels)
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

-- What an instruction writes: its first operand, or all in its first braces.
local function written(line)
  local operands = line:match "^\t@?!?[%w%%]*%s*[%a_][%w_.:]*%s+([^\n]*)" or ""
  return operands:match "^(%b{})" or operands:match "^([%w%%_$]+)" or ""
end

-- How often each register of a function is written.
local function count_writes(lines)
  local n = {}
  for _, line in ipairs(lines) do
    for name in written(line):gmatch "%%[%w_$]+" do n[name] = (n[name] or 0) + 1 end
  end
  return n
end

local PRODUCT = "^\tmul(%.?%l*)%.f(%d%d)%s+([%w%%]+), ([^,;]+), ([^,;]+);"
local SUM = "^\t(%l+)(%.?%l*)%.f(%d%d)%s+([%w%%]+), ([^,;]+), ([^,;]+);"
local FUSED = "\t{\n\t.reg %s %%gilua_minus;\n\tneg%s %%gilua_minus, %s;\n"
  .. "\tfma.rn%s %s, %s, %s, %s;\n\t}"

-- Returns a sum's line as one fused instruction, or nil if none of its operands is a product.
local function fused(line, products)
  local op, more, bits, to, a, b = line:match(SUM)
  if (op ~= "add" and op ~= "sub") or (more ~= "" and more ~= ".ftz") then return nil end
  local type = more .. ".f" .. bits
  local p, other, is_first = products[b], a, false
  if not (p and p.type == type) then p, other, is_first = products[a], b, true end
  if not (p and p.type == type) then return nil end
  if op == "add" then
    return ("\tfma.rn%s %s, %s, %s, %s;"):format(type, to, p.a, p.b, other)
  elseif is_first then
    return FUSED:format(".f" .. bits, type, other, type, to, p.a, p.b, "%gilua_minus")
  end
  return FUSED:format(".f" .. bits, type, p.a, type, to, "%gilua_minus", p.b, other)
end

local function fuse_function(body)
  local lines = {}
  for line in (body .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  local writes, products = count_writes(lines), {}
  for i, line in ipairs(lines) do
    local more, bits, to, a, b = line:match(PRODUCT)
    local once = to and writes[to] == 1 and (writes[a] or 0) <= 1 and (writes[b] or 0) <= 1
    if line:find "^[%w_$]+:" or line:find "^\t@?!?[%w%%]*%s*bra" then
      products = {} -- another block: what a register held may have been written again
    elseif once and (more == "" or more == ".ftz") then
      products[to] = { type = more .. ".f" .. bits, a = a, b = b }
    else
      lines[i] = fused(line, products) or line
    end
  end
  return table.concat(lines, "\n")
end

--- A module whose products are added without being rounded before, where PTX leaves that to its
--- assembler: `mul.f32` and `add.f32` without `.rn` (PTX ISA, mul). GPUs' assemblers do it.
---@param text string
---@return string
function M.with_fma(text)
  return (text:gsub("(\n{\n)(.-)(\n}\n)", function(open, body, close)
    return open .. fuse_function(body) .. close
  end))
end

return M
