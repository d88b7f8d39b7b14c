-- fixedblock: which kernels rely on the number of threads that they are launched with.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local csource = require "gilua.source.csource"
local fixedblock = require "gilua.new.fixedblock"
local tap = require "tap"

-- Why a kernel of this body cannot have another block; nil where it can.
local function why(body)
  local inside <close> = csource.tokens(body)
  local head <close> = csource.tokens "__global__ void k()"
  local read = { body = inside, head = head, sliced = { item = {} }, template = {},
    launch = { block = "256" }, host = { SIZES = {}, dims = {}, value = function(_, text)
      return tonumber(text) or ({ BINS = 64, BLOCK = 256 })[text]
    end } }
  return fixedblock.why(read, { 256 })
end

local CLEAR = "for (int b = threadIdx.x; b < BINS; b += blockDim.x) s[b] = 0; __syncthreads(); "

tap.case("an array that loops of the block go over has any number of threads", function()
  tap.is(why("__shared__ unsigned s[BINS]; " .. CLEAR
    .. "int i = blockIdx.x * blockDim.x + threadIdx.x; int b = x[i] & 63; atomicAdd(&s[b], 1u);"),
    nil, "a histogram")
end)

tap.case("one that threads index has as many as it has elements", function()
  local SAID = "shared memory has a size of its own, BLOCK"
  tap.is(why "__shared__ float s[BLOCK]; s[threadIdx.x] = x[threadIdx.x];", SAID, "by threadIdx")
  tap.is(why("__shared__ float s[BLOCK]; int t = threadIdx.x; "
    .. "for (int b = threadIdx.x; b < BLOCK; b += blockDim.x) s[b] = 0; s[t] = x[t];"), SAID,
    "by a name of it, beside such a loop")
  tap.is(why("__shared__ float s[BLOCK]; for (int b = 0; b < BLOCK; b += 32) s[b] = 0;"), SAID,
    "where steps are not the block's")
end)

tap.done()
