-- wrong_types: each field of a problem.lua, whatever its depth, with values of every other type: it
-- is refused in one sentence, or the problem's case can be made.

package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local scratch = require "scratch"
local tap = require "tap"

local SOURCE = [==[
__constant__ float c[3];
struct P { float dt; int n; };
struct Q { float a; int b; float *p; };
extern "C" __global__ void k(int n, P p, const float *x, const int *at, Q *q,
                             cudaTextureObject_t t, float *y)
{
  extern __shared__ float s[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = 1;
  if (i < n)
    y[i] = x[at[i]] * p.dt + c[1] + s[threadIdx.x] + q[i].a + tex1Dfetch<float>(t, i);
}
]==]

local function good()
  return { name = "k", title = "t", source = "kernel.cu", kernel = "k", size = 100,
    block_size_x = 32,
    args = { { name = "n", type = "i32", value = "size_x" },
      { name = "p", type = "struct", fields = { { "dt", "f32", 0.1 }, { "n", "i32", "size_x" } } },
      { name = "x", type = "f32", count = "n", fill = { 0, 1 } },
      { name = "at", type = "i32", count = "n", fill = { 0, "n - 1" } },
      { name = "q", type = "struct", count = "n", bytes = 16, fields = {
        { "a", "f32", fill = "normal" }, { "b", "i32", each = 1, at = 4 },
        { "p", "f32", count = 4, at = 8, role = "in" } } },
      { name = "t", type = "f32", count = "n", texture = { kind = "linear", channels = 1 } },
      { name = "y", type = "f32", count = "n", role = "out", max_error = 1e-3, rel_error = 0 } },
    constants = { c = { type = "f32", count = 3, fill = "normal" } },
    tune_params = { block_size_x = { 32, 64 } }, restrictions = { "block_size_x < 100" },
    defaults = { block_size_x = 32 }, grid_div_x = { "block_size_x" },
    shared = "block_size_x * 4", include = { "." }, defines = { "A=1" }, options = { "-lineinfo" },
    grammar = { open_loops = true, math = true }, check_races = "shared", benign_races = "warn",
    checked_size = 70, checked_values = { n = 7 },
    on_gpu = { size = 90, values = { n = 9 } },
    made_from = { path = "x.cu", template = { "float" } },
    tolerance = { max_error = 1e-3, rel_error = 0, wrong_above = 0, parent_penalty = 1 } }
end

local RAW = {} -- text of Lua, as a value
local VALUES = { "nil", "true", "-1", "1.5", "0/0", "1/0", "1<<62", "'x'", "('x'):rep(300)", "{}",
  "{1}", "{{}}", "{x=1}", "function() end", "coroutine.create(print)" }

local function text_of(v)
  if getmetatable(v) == RAW then return v[1] end
  if type(v) == "string" then return ("%q"):format(v) end
  if type(v) ~= "table" then return tostring(v) end
  local parts = {}
  for _, x in ipairs(v) do parts[#parts + 1] = text_of(x) end
  for k, x in pairs(v) do
    if type(k) == "string" then parts[#parts + 1] = k .. " = " .. text_of(x) end
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- Each place in a table, from the outermost: lists of keys.
local function places(t, prefix, list)
  for k, v in pairs(t) do
    local place = table.move(prefix, 1, #prefix, 1, {})
    place[#place + 1] = k
    list[#list + 1] = place
    if type(v) == "table" then places(v, place, list) end
  end
  return list
end

local function changed(place, value)
  local t = good()
  local at = t
  for i = 1, #place - 1 do at = at[place[i]] end
  at[place[#place]] = setmetatable({ value }, RAW)
  return text_of(t)
end

local function opened(folder)
  local problem = gi.problem(folder)
  problem:case(problem.checked_case)
end

tap.case("fields of every wrong type", function()
  local folder = scratch.problem(SOURCE, text_of(good()))
  tap.is(scratch.sentence(opened, folder), nil, "the table itself is right")
  for _, place in ipairs(places(good(), {}, {})) do
    local lua_errors, refused = {}, 0
    for _, value in ipairs(VALUES) do
      scratch.write(folder .. "/problem.lua", "return " .. changed(place, value))
      local said = scratch.sentence(opened, folder)
      refused = refused + (said and 1 or 0)
      if said and (said:find "^a Lua error" or said:find("\n", 1, true)) then
        lua_errors[#lua_errors + 1] = value .. ": " .. said
      end
    end
    tap.is(table.concat(lua_errors, "\n"), "", ("%s: %d of %d values refused, each in a sentence")
      :format(table.concat(place, "."), refused, #VALUES))
  end
end)

tap.case("fills that give no numbers", function()
  local folder = scratch.problem(SOURCE, text_of(good()))
  local function told(fill, argument)
    scratch.write(folder .. "/problem.lua",
      "return " .. changed({ "args", argument, "fill" }, fill))
    return scratch.sentence(opened, folder)
  end
  tap.has(told("function() return {} end", 3), "the function gives a table for element 0 of f32",
    "a table")
  tap.has(told("function() return 1.5 end", 4), "must be a whole number", "a half")
end)

tap.done()
