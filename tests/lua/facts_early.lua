-- early: which trees can be evaluated for another iteration, before it begins.

package.path = "tests/lua/?.lua;" .. package.path
local early = require "gilua.facts.early"
local kernel = require "gilua.transform.kernel"
local tap = require "tap"

-- What a loop over i declares as `x`, or does in its body, and whether that is early.
local function loop_of(body, before)
  local known = kernel.of_text(([[
#define TILE 32
#define SIDE TILE
#define WIDE (TILE + MORE(2))
#define MORE(k) ((k) + TILE)
#define AT(k) ((k) + 1)
__device__ int touch(int *p);
__global__ void k(float *out, const float *a, const int *b, int n, int m)
{
  __shared__ int common;
  int j = 0;
%s
  for (int i = 0; i < n; i++) {
%s
  }
}
]]):format(before or "", body))
  return known.by_name.k.loops[1]
end

local function any() return true end
local function none() return false end

local function is(what, value, answer, body, can_load)
  local loop = loop_of((body or "") .. "int x = " .. value .. ";")
  tap.is(early.of(loop, loop.inside.declares.x.init, can_load or any), answer, what)
end

tap.case("what is made of the variable and of what stays the same is early", function()
  is("the variable", "i * 2 + m", true)
  is("what the body computes of it", "y + 1", true, "int y = i * 2; ")
  is("what it computes of what changes", "y + 1", false, "j += 2; int y = j * 2; ")
  is("what changes", "j", false, "j += i; ")
  is("what is changed behind it", "y", false, "int y = i; y = 3; ")
  is("what is declared twice", "y", false, "int y = i; { int y = j; } ")
  is("what has its address taken", "y", false, "int y = i; touch(&y); ")
  is("another name of a variable", "y", false, "int &y = j; ")
  is("an array's element of the body", "y[0]", false, "int y[2] = { i, 1 }; ")
  is("shared memory", "common", false)
  is("an effect", "j++", false)
  is("a call that is not known", "touch(0)", false)
  is("a pure one", "max(i, m)", true)
  is("a load, as the caller says", "b[i]", true)
  is("and as it says not", "b[i]", false, "", none)
  is("a load below what the body computes", "y", false, "int y = b[i]; ", none)
  is("a pointer of the iteration's own", "p[0]", true, "const int *p = b + i; ")
  is("one that something moves", "p[0]", false, "j++; const int *p = b + j; ")
end)

tap.case("macros", function()
  is("a number", "i * TILE", true)
  is("a macro of one", "i * SIDE", false)
  is("one of more words", "i * WIDE", false)
end)

tap.case("what moves from iteration to iteration", function()
  local function moves(what, value, answer, body)
    local loop = loop_of((body or "") .. "int x = " .. value .. ";")
    tap.is(early.moves(loop, loop.inside.declares.x.init), answer, what)
  end
  moves("the variable", "i + m", true)
  moves("what is made of it", "y", true, "int y = i / 2; ")
  moves("what stays", "m + y", false, "int y = n; ")
end)

tap.done()
