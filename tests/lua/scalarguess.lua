-- scalarguess: what a number is of which nothing says it, by what the kernel does with it.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local csource = require "gilua.source.csource"
local scalarguess = require "gilua.new.scalarguess"
local scalaruse = require "gilua.new.scalaruse"

local function guess(body, name, type, used, is_member)
  local source <close> = csource.tokens("__global__ void k() {" .. body .. "}")
  return (scalarguess.of({ name = name, type = type or "i32" }, source, used or 1,
    is_member or false))
end

local I = "int i = blockIdx.x * blockDim.x + threadIdx.x; int j = blockIdx.y; int at = i + 1; "

tap.case("what threads are compared with is a size", function()
  tap.is(guess(I .. "if (i >= pq) return;", "pq"), '"size_x"', "on the right")
  tap.is(guess(I .. "if (pq > at && x) y = 1;", "pq"), '"size_x"', "on the left; what is of it")
  tap.is(guess(I .. "if (i < a && j < pq) y = 1;", "pq", "i64", 2), '"size_y"', "its dimension")
  tap.is(guess(I .. "for (int k = i; k < pq; k += 9) y = 1;", "pq"), '"size_x"', "in steps")
  tap.is(guess(I .. "if (i < v.pq) y = 1;", "pq", "u32", 1, true), '"size_x"', "a member")
  tap.is(guess(I .. "if (i < v.pq) y = 1;", "pq"), "1", "not another's member")
end)

tap.case("a parameter that nothing uses", function()
  local function is(before, body, answer)
    local source <close> = csource.tokens(before .. "__global__ void k(int pq) {" .. body .. "}")
    tap.is(scalaruse.is_named(source, "pq"), answer, before .. body)
  end
  is("", "x[pqr] = 1;", false)
  is("", "x[pq] = 1;", true)
  is("#define Q (pq + 1)\n", "x[Q] = 1;", true)
  is("#define pqr 1\n", "x[pqr] = 1;", false)
end)

tap.case("rows that several threads share are fewer", function()
  local at = "int i = (blockIdx.x * blockDim.x + threadIdx.x)"
  local row = " / 32; if (i < pq) y = 1;"
  tap.is(guess(at .. row, "pq"), '"size_x // 32"', "a warp's")
  tap.is(guess(at .. " >> 4; if (i >= pq) return;", "pq"), '"size_x // 16"', "half of one's")
  tap.is(guess("\n#define LANES 8\n" .. at .. " / LANES; if (i >= pq) return;", "pq"),
    '"size_x // 8"', "a macro's")
  tap.is(guess("const int W = 32; " .. at .. " / W; if (i >= pq) return;", "pq"),
    '"size_x // 32"', "a constant's")
  tap.is(guess("int w = threadIdx.x / warpSize; int r = blockIdx.x * 4 + w; if (r < pq) y = 1;",
    "pq"), '"size_x // 32"', "of those in the block")
  tap.is(guess("auto t = cg::tiled_partition<16>(b); int r = blockIdx.x * t.meta_group_size() "
    .. "+ t.meta_group_rank(); if (r >= pq) return;", "pq"), '"size_x // 16"', "a tile's")
  tap.is(guess(at .. " / 100; if (i < pq) y = 1;", "pq"), '"size_x"', "more are no warp's")
end)

tap.case("what a thread's place in its block is compared with is less than that", function()
  tap.is(guess(I .. "int l = threadIdx.x; if (l < pq) y = 1;", "pq"), "16", "not a size")
  tap.is(guess(I .. "for (int k = threadIdx.x; k < n; k += 32) y = 1;", "n"), "16", "in steps")
  tap.is(guess(I .. "int l = threadIdx.x, g = l + blockIdx.x * 9; if (g < pq) y = 1;", "pq"),
    '"size_x"', "with the block's it is one of all")
end)

tap.case("what a loop counts to is small", function()
  tap.is(guess(I .. "for (int k = 0; k < pq; k++) y += k;", "pq"), "8", "rounds")
  tap.is(guess(I .. "for (int k = 0; k < n; k++) y += k;", "n"), "8", "whatever its name")
  tap.is(guess(I .. "for (int k = 0; k < pq; k++) y += k; if (i < pq) y = 1;", "pq"), '"size_x"',
    "but where it bounds threads, too")
end)

tap.case("what is computed with it", function()
  tap.is(guess("y = x[i / pq];", "pq"), "4", "a divisor")
  tap.is(guess("y = x[i % pq];", "pq", "u32"), "4", "of what is left")
  tap.is(guess("y = x[i * pq + k];", "pq"), "8", "a factor")
  tap.is(guess("y = powf(x, pq);", "pq", "f32"), "1.5", "an exponent")
  tap.is(guess("y = x / pq;", "pq", "f32"), "1.75", "a float's divisor")
  tap.is(guess("float4 r = curand_uniform4(&s); y = (r.x < pq) / pq;", "pq", "f32"), "0.5",
    "a probability")
  tap.is(guess("if (my_rand(&s) >= pq) y = 1 / pq;", "pq", "f32"), "0.5", "of whatever draws")
  tap.is(guess("float r = curand_uniform(&s); y = r / pq;", "pq", "f32"), "1.75", "not compared")
  tap.is(guess("y = operand < pq ? 1 / pq : 0;", "pq", "f32"), "1.75", "nothing draws")
  tap.is(guess("if (x < pq) y = 1;", "eps", "f32"), "0.125", "small by its name")
  tap.is(guess("y = x * pq;", "pq", "f32"), "0.75", "any float, but not 1: it would be no factor")
end)

tap.case("choices", function()
  tap.is(guess("if (pq == 3) y = 1; else if (pq == 4) y = 2;", "pq"), "3", "compared with")
  tap.is(guess("if (pq) y = 1;", "pq"), "1", "a condition")
  tap.is(guess("y = pq ? 1 : 2;", "pq", "u8"), "1", "small ones")
end)

tap.case("names", function()
  tap.is(guess("y = x[i + offset];", "offset"), "0", "what begins somewhere")
  tap.is(guess("y = x[i + width];", "width", "i32", 2), '"size_x"', "a size")
end)

tap.done()
