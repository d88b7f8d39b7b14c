--- fuse_kernels: kernel fusion of two launches, one right behind the other
--
-- where     kernels
-- needs     next_kernel
-- becomes   two kernels that a program launches one behind the other as one; a thread does both
-- promises  next_kernel
--
--   static __device__ void a_part(float *x, int n) { … }
--   static __device__ void b_part(float *y, int m) { … }
--
--   __global__ void b(float *y, int m) { b_part(y, m); }
--
--   struct b_arguments { float *y; int m; };
--   __global__ void a(float *x, int n, b_arguments b) { a_part(x, n); b_part(b.y, b.m); }
--
-- It saves a launch, and what both load is near when it is loaded again. A struct's fields lie to
-- each other as arguments do, so that a launch can be given both.

local lists = require "gilua.base.lists"
local next_kernel = require "gilua.facts.next_kernel"

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

local function joined(list, before) return table.concat(list, ", " .. (before or "")) end

-- The initialisers of a struct's fields, by a constructor's parameters of their names: with braces
-- instead of that, C++ would refuse an int for an unsigned.
local function given(names)
  local list = lists.map(names, function(name) return ("%s(%s)"):format(name, name) end)
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

local function becomes(at, e)
  local fn, other, kernel = at.fn, at.next.fn, at.kernel
  local struct, more = other.name .. "_arguments", at.names "behind"
  if kernel:fresh(struct) ~= struct then return nil, struct .. " is another thing already" end
  local parts = {}
  for i, one in ipairs { fn, other } do
    parts[i] = at.names(one.name .. "_part")
    e:replace(one.first, one.head - 1, "static __device__ __forceinline__ void " .. parts[i])
  end
  local first, first_names = parameters(fn)
  local second, second_names = parameters(other)
  first[#first + 1] = struct .. " " .. more
  e:after(math.max(fn.close, other.close), TEXT:format(other.name, joined(second), parts[2],
    joined(second_names), struct, table.concat(second, ";\n    "), struct, joined(second),
    given(second_names), fn.name, joined(first), parts[1], joined(first_names), parts[2],
    more .. "." .. joined(second_names, more .. ".")))
  return ("%s is done by the threads of %s, behind it"):format(other.name, fn.name),
    { launch = ("before.%s+%d"):format(other.name, at.next.byte), alone = true }
end

local function is_seen(at)
  local seen, promise = next_kernel.is_seen(at.fn)
  if not seen then return seen, promise end
  return next_kernel.is_seen(at.next.fn)
end

return { name = "fuse_kernels", where = "kernels", judged = true,
  doc = "Two kernels that a program launches one behind the other, as one.",
  pays = function(at)
    local other = next_kernel.of(at.fn)
    local is_open = not other or at.kernel:is_open(other.fn.line, other.fn.last_line)
    return is_open, not is_open and "the kernel behind it may not be changed" or nil
  end,
  needs = {
    { "next_kernel", function(at) return next_kernel.of(at.fn) end, gives = "next" },
    { "next_kernel", is_seen, promised = true },
  },
  becomes = becomes,
}
