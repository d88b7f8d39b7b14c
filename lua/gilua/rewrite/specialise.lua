--- specialise: loop multiversioning for constant values
--
-- where     loops
-- needs     effects, types
-- becomes   it for the values that parameters have where the host launches, beside it for any
-- promises  nothing
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

local effects = require "gilua.facts.effects"
local iterations = require "gilua.rewrite.iterations"
local types = require "gilua.facts.types"

local MOST_VALUE = 4096 -- beyond it is a size, and none of a loop that could be unrolled

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

-- Can a loop be there twice?
local function fits_twice(at)
  local loop, s = at.loop, at.loop.statement
  local all = effects.of(at.fn, s)
  if not at.fn.is_entry then return nil, "it is in no kernel" end
  if not is_outermost(s) then return nil, "it is in another loop" end
  if all.conditional or not loop.balanced then return nil, "it has an #if" end
  if all["goto"] or all.label then return nil, "it has a goto" end
  return iterations.fits_twice(loop)
end

-- The parameters that a loop reads and whose values are known: { name, value }, by their names.
local function known(at)
  local list, fn, ask = {}, at.fn, at.kernel.options.values
  for name, value in pairs(ask and ask(fn) or {}) do
    if effects.of(fn, at.loop.statement).reads[name] and parameter(fn, name) and value > 1
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

-- All known values together, and each alone; a sentence where there is none.
local function proposed(at)
  local fits, why = fits_twice(at)
  local values = fits and known(at) or {}
  local list = { #values > 0 and arguments(values) or nil }
  for _, one in ipairs(#values > 1 and values or {}) do list[#list + 1] = arguments { one } end
  return list, why or "no value of what it asks for is known to be the same in all launches"
end

-- What a gene's arguments say: parameters and their values in turn.
local function read(args)
  local list = {}
  for i = 1, #args, 2 do
    local value = math.tointeger(tonumber(args[i + 1]))
    if not value or value < 0 then
      return nil, "behind each parameter stands its value, a whole number"
    end
    list[#list + 1] = { name = args[i], value = value }
  end
  if #list == 0 then return nil, "it is written specialise<LINE>(PARAMETER,VALUE)" end
  return list
end

-- Are its arguments parameters that keep their values, and that the loop reads?
local function are_read(at)
  for _, one in ipairs(at) do
    local p = parameter(at.fn, one.name)
    if not p then
      return nil, ("%s is no parameter of whole numbers that stays as it is"):format(one.name)
    elseif not effects.of(at.fn, at.loop.statement).reads[one.name] then
      return nil, ("it does not ask for %s"):format(one.name)
    end
    one.type = p.type
  end
  return true
end

local function becomes(at, e)
  local asks, before = {}, {}
  for i, one in ipairs(at) do
    asks[i] = ("%s == %d"):format(one.name, one.value)
    before[i] = ("const %s %s = %d;"):format(one.type, one.name, one.value)
  end
  return ("the loop at line %d is there twice, once for %s"):format(at.line,
    table.concat(asks, " and ")), iterations.put_twice(e, at.loop, asks, before)
end

return { name = "specialise", where = "loops", args = proposed, read = read,
  doc = "A loop for the values that parameters have, beside the loop for any.",
  needs = { { "effects", fits_twice }, { "types", are_read } },
  becomes = becomes,
}
