-- specialise: a loop for the values that parameters have where the host launches the kernel, behind
-- a question whether they have them, so that any other value is as right as before:
--
--   if (taps == 63) {
--     const int taps = 63;
--     for (int k = 0; k < taps; k++) …      the compiler knows how often
--   } else {
--     for (int k = 0; k < taps; k++) …
--   }
--
-- The compiler unrolls such loops and divides by constants. Which values those are the problem
-- says: kernel.options.values(fn) -> { [parameter] = integer }, of those that are the same in all
-- launches that it knows, whatever their size.

local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local types = require "gilua.facts.types"

local LEVEL = "    "
local MOST_VALUE = 4096 -- beyond it is a size, and none of a loop that could be unrolled
local MOST_TOKENS = 2000 -- of a loop, which is there twice afterwards

local INTEGERS = {}
for type in ("int,unsigned int,long,unsigned long,long long,unsigned long long,short,char,"
  .. "unsigned short,unsigned char,int16_t,uint16_t,int8_t,uint8_t,uchar,ushort"):gmatch "[^,]+" do
  INTEGERS[type] = true
end

-- A function's parameter of that name, where it is a whole number that nothing changes.
local function parameter(fn, name)
  for _, p in ipairs(fn.params) do
    if p.name == name and p.pointer == 0 and not p.reference and #p.extents == 0
      and INTEGERS[types.plain(p.type)] and not effects.of(fn, fn.body).writes[name]
      and not fn.addressed[name] then
      return p
    end
  end
end

local LOOPS = { ["for"] = true, ["while"] = true, ["do"] = true }

local function is_outermost(s)
  local at = s.parent
  while at do
    if LOOPS[at.kind] then return false end
    at = at.parent
  end
  return true
end

-- Why a loop cannot be there twice; nil where it can.
local function unfit(loop)
  local fn, s = loop.fn, loop.statement
  local all = effects.of(fn, s)
  if not fn.is_entry then return "it is in no kernel" end
  if not is_outermost(s) then return "it is in another loop" end
  if all.conditional or not loop.balanced then return "it has an #if" end
  if all["goto"] or all.label then return "it has a goto" end
  if s.last - s.first > MOST_TOKENS then return "it is too long to be there twice" end
  for _, d in pairs(all.declares) do
    if d.shared or d.extern or d.static then return "it declares shared memory" end
  end
end

-- The parameters that a loop reads, of which values are known: { name, value }, by their names.
local function known(loop)
  local list, fn, ask = {}, loop.fn, loop.fn.kernel.options.values
  for name, value in pairs(ask and not unfit(loop) and ask(fn) or {}) do
    if effects.of(fn, loop.statement).reads[name] and parameter(fn, name) and value > 1
      and value <= MOST_VALUE then
      list[#list + 1] = { name, value }
    end
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

local function arguments(list)
  local args = {}
  for _, one in ipairs(list) do
    args[#args + 1], args[#args + 2] = one[1], ("%d"):format(one[2])
  end
  return args
end

local M = { name = "specialise", twice = true,
  doc = "A loop for the values that parameters have, beside the loop for any." }

function M.find(kernel)
  local list = {}
  for _, loop in ipairs(kernel:open_loops()) do
    local values = known(loop)
    if #values > 0 then list[#list + 1] = { line = loop.line, args = arguments(values) } end
    for _, one in ipairs(#values > 1 and values or {}) do
      list[#list + 1] = { line = loop.line, args = arguments { one } }
    end
  end
  return list
end

-- What a gene's arguments say of a function: { parameter, value }; nil and why.
local function asked(fn, args)
  local list = {}
  for i = 1, #args, 2 do
    local p, value = parameter(fn, args[i]), math.tointeger(tonumber(args[i + 1]))
    if not p then
      return nil, ("%s is no parameter of whole numbers that stays as it is"):format(args[i])
    elseif not value or value < 0 then
      return nil, "behind each parameter stands its value, a whole number"
    end
    list[#list + 1] = { p = p, value = value }
  end
  if #list == 0 then return nil, "it is written specialise<LINE>(PARAMETER,VALUE)" end
  return list
end

local function specialised(loop, list)
  local kernel, s, e = loop.fn.kernel, loop.statement, edit.new(loop.fn.kernel)
  local first = loop.pragmas[1] and loop.pragmas[1].first or s.first
  local asks, before = {}, {}
  for i, one in ipairs(list) do
    asks[i] = ("%s == %d"):format(one.p.name, one.value)
    before[i + 1] = LEVEL .. ("const %s %s = %d;"):format(one.p.type, one.p.name, one.value)
  end
  before[1] = ("if (%s) {"):format(table.concat(asks, " && "))
  local copy = kernel:source(first, s.last):gsub("\n" .. kernel:indent(s.first), "\n")
  before[#before + 1] = LEVEL .. copy:gsub("\n", "\n" .. LEVEL)
  before[#before + 1] = "} else {"
  e:around(s, before, { "}" })
  e:before(first, LEVEL)
  if first ~= s.first then e:before(s.first, LEVEL) end
  local deeper = e:deepen(s.first, s.last, LEVEL)
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  return { edits = edits, indent = deeper and { deeper },
    says = ("the loop at line %d is there twice, once for %s"):format(loop.line,
      table.concat(asks, " and ")) }
end

function M.make(kernel, line, args)
  return kernel:first_loop(line, function(loop)
    local why = unfit(loop)
    if why then return nil, why end
    local list, reason = asked(loop.fn, args)
    if not list then return nil, reason end
    for _, one in ipairs(list) do
      if not effects.of(loop.fn, loop.statement).reads[one.p.name] then
        return nil, ("it does not ask for %s"):format(one.p.name)
      end
    end
    return specialised(loop, list)
  end)
end

return M
