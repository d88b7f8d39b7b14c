-- fuse_kernels: two kernels of a recorded program, the launch of one right behind each launch of
-- the other, become one: a thread does what it did in both.
--
--   static __device__ void a_part(float *x, int n) { … }
--   static __device__ void b_part(float *y, int m) { … }
--
--   __global__ void b(float *y, int m) { b_part(y, m); }
--
--   struct b_arguments { float *y; int m; };
--   __global__ void a(float *x, int n, b_arguments b) { a_part(x, n); b_part(b.y, b.m); }
--
-- It saves a launch, and what both load is near when it is loaded again. Between two kernels all
-- threads wait; here none does, so that it is right where what a thread of b touches no other
-- thread of a does, which the checked run decides, as it sees races. A struct's fields lie to each
-- other as arguments do, so that a launch can be given both.

local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local types = require "gilua.facts.types"

local BYTES = { char = 1, bool = 1, short = 2, int = 4, float = 4, ["unsigned int"] = 4, long = 8,
  ["long long"] = 8, double = 8, ["unsigned long"] = 8, ["unsigned long long"] = 8,
  ["unsigned char"] = 1, ["signed char"] = 1, ["unsigned short"] = 2 }

-- How a parameter is aligned; nil of a type that is not known here.
local function alignment(p)
  if p.reference or #p.extents > 0 then return nil end
  return p.pointer > 0 and 8 or BYTES[types.plain(p.type)]
end

-- Where the second kernel's arguments begin, behind so many bytes; nil where that is not known.
local function beginning(bytes, fn)
  local widest = 1
  for _, p in ipairs(fn.params) do
    local own = alignment(p)
    if not own then return nil end
    widest = math.max(widest, own)
  end
  return #fn.params > 0 and (bytes + widest - 1) // widest * widest or nil
end

-- Why a kernel can be no part of another; nil where it can.
local function unfit(fn)
  local words = fn.kernel.words
  if not fn.body then return ("%s is not understood"):format(fn.name) end
  for i = fn.first, fn.head do
    if words[i] == "template" then return fn.name .. " is a template" end
  end
  for i = 1, fn.first - 1 do
    if words[i] == "{" and (words.match[i] or 0) > fn.close then
      return fn.name .. " is in a namespace"
    end
  end
  for i = fn.open, fn.close do
    if words[i] == "extern" and words[i + 1] == "__shared__" then
      return fn.name .. " has shared memory whose size the launch says"
    end
    if words[i] == "this_grid" or words[i] == fn.name then
      return fn.name .. " waits for its grid, or launches itself"
    end
  end
end

-- The kernel behind one, and where its arguments begin; nil and why there is none.
local function behind(fn)
  local ask = fn.kernel.options.values
  local other, bytes
  for key, value in pairs(ask and ask(fn) or {}) do
    local name = key:match "^before%.(.+)$"
    if name then other, bytes = fn.kernel.by_name[name], value end
  end
  if not other then return nil, "no launch of another kernel stands behind each of its own" end
  local why = unfit(fn) or unfit(other)
  if why then return nil, why end
  local at = beginning(bytes, other)
  if not at then
    return nil, ("how the arguments of %s lie is not known"):format(other.name)
  end
  return other, at
end

-- The parameters of a kernel as they are declared, and their names.
local function parameters(fn)
  local words, list, names, from, depth = fn.kernel.words, {}, {}, fn.head + 1, 0
  local close = words.match[fn.head]
  for i = from, close do
    local w = words[i]
    if w == "<" then depth = depth + 1 elseif w == ">" then depth = depth - 1 end
    if (i == close or w == "," and depth <= 0) and i > from then
      list[#list + 1] = fn.kernel:source(from, i - 1):gsub("%s+", " ")
      names[#names + 1] = fn.params[#list].name
      from = i + 1
    end
  end
  return list, names
end

-- Does an element's place hang on what is loaded, so that other data may have other ones?
local function hangs_on_data(fn)
  local all = effects.of(fn, fn.body)
  for _, access in ipairs(all.accesses) do
    if not access.indices then return true end
    for _, index in ipairs(access.indices) do
      if #effects.of(fn, index).accesses > 0 then return true end
      for name in pairs(effects.of(fn, index).reads) do
        for _, d in ipairs(fn.variables[name] or {}) do
          if d.init and #effects.of(fn, d.init).accesses > 0 then return true end
        end
      end
    end
  end
  return all.opaque or false
end

local function make_part(e, fn, name)
  e:replace(fn.first, fn.head - 1, "static __device__ __forceinline__ void " .. name)
end

local function joined(list, before) return table.concat(list, ", " .. (before or "")) end

-- The initialisers of a struct's fields, by a constructor's parameters of their names: with braces
-- instead of that, C++ would refuse an int for an unsigned.
local function given(names)
  local list = {}
  for i, name in ipairs(names) do list[i] = ("%s(%s)"):format(name, name) end
  return table.concat(list, ", ")
end

-- The kernels, made of the two functions.
local TEXT = [[


extern "C" __global__ void %s(%s)
{
    %s(%s);
}

struct %s
{
    %s;

    __host__ __device__ %s(%s)
        : %s
    {
    }
};

extern "C" __global__ void %s(%s)
{
    %s(%s);
    %s(%s);
}]]

local function make(fn)
  local other, at = behind(fn)
  if not other then return nil, at end
  local kernel, names = fn.kernel, fn.kernel:names()
  local one, two = names(fn.name .. "_part"), names(other.name .. "_part")
  local struct, more = other.name .. "_arguments", names "behind"
  if kernel:fresh(struct) ~= struct then return nil, struct .. " is another thing already" end
  local e = edit.new(kernel)
  make_part(e, fn, one)
  make_part(e, other, two)
  local first, first_names = parameters(fn)
  local second, second_names = parameters(other)
  local all = table.move(first, 1, #first, 1, {})
  all[#all + 1] = struct .. " " .. more
  e:after((fn.close > other.close and fn or other).close, TEXT:format(other.name, joined(second),
    two, joined(second_names), struct, table.concat(second, ";\n    "), struct, joined(second),
    given(second_names), fn.name, joined(all), one, joined(first_names), two,
    more .. "." .. joined(second_names, more .. ".")))
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  local promise = (hangs_on_data(fn) or hangs_on_data(other))
    and "no thread touches what another one touches in the other kernel" or nil
  return { edits = edits, launch = ("before.%s+%d"):format(other.name, at), alone = true,
    promise = promise, says = ("%s is done by the threads of %s, behind it"):format(other.name,
      fn.name) }
end

local M = { name = "fuse_kernels", judged = true,
  doc = "Two kernels that a program launches one behind the other, as one." }

local function is_open(kernel, fn) return kernel:is_open(fn.line, fn.last_line) end

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local other = fn.is_entry and is_open(kernel, fn) and behind(fn)
    if other and is_open(kernel, other) then list[#list + 1] = { line = fn.line, args = {} } end
  end
  return list
end

function M.make(kernel, line, args)
  if args[1] then return nil, "it is written fuse_kernels<LINE>()" end
  for _, fn in ipairs(kernel.functions) do
    if fn.is_entry and fn.line == line then return make(fn) end
  end
  return nil, "no kernel begins there"
end

return M
