-- Sizes that only a run of the program says: what is assumed for them.
package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local assumed = require "gilua.new.assumed"
local gi = require "gilua"
local tap = require "tap"

local PARAMS = { { pointer = true }, { pointer = false }, { pointer = false } }

-- What is assumed of a program's sizes, which are made of its arguments.
local function of(alloc, most)
  local host = gi.hostcode.read(([[
    int main(int argc, char **argv) {
      int w = atoi(argv[1]), h = atoi(argv[2]);
      float *a = image(argv[3]);
      %s
      k<<<dim3(w / 16, h / 128), 16>>>(a, w, h);
    }]]):format(alloc))
  assumed.of(host, host:launch "k", PARAMS, most)
  return ("%s %s"):format(host.assumed.w, host.assumed.h)
end

tap.case("two sizes may be the sides of an array", function()
  tap.is(of "", "1024 1024", "of which nothing is known: it stays small")
  tap.is(of("", 128), "64 64", "or smaller where that is asked for")
  tap.is(of "cudaMalloc(&a, (w + h) * 4);", "4096 4096", "one that is known is what it is")
end)

tap.done()
