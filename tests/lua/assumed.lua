-- Sizes that only a run of the program says: what is assumed for them.
package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local arguments = require "gilua.new.arguments"
local assumed = require "gilua.new.assumed"
local gi = require "gilua"
local tap = require "tap"

local PARAMS = { { pointer = true }, { pointer = false }, { pointer = false } }

-- What is assumed of a program's sizes, which are made of its arguments.
local function of(alloc, most, words)
  local host = gi.hostcode.read(([[
    int main(int argc, char **argv) {
      int w = atoi(argv[1]), h = atoi(argv[2]);
      float *a = image(argv[3]);
      %s
      k<<<dim3(w / 16, h / 128), 16>>>(a, w, h);
    }]]):format(alloc))
  assumed.of(host, host:launch "k", PARAMS, most, words)
  return ("%s %s"):format(host.assumed.w, host.assumed.h)
end

tap.case("two sizes may be the sides of an array", function()
  tap.is(of "", "1024 1024", "of which nothing is known: it stays small")
  tap.is(of("", 128), "64 64", "or smaller where that is asked for")
  tap.is(of "cudaMalloc(&a, (w + h) * 4);", "4096 4096", "one that is known is what it is")
end)

tap.case("no more than what the program is run with", function()
  tap.is(of("", nil, { "48", "100000", "x.pgm" }), "48 16384", "where that is a number")
  tap.is(of("", nil, { "-1" }), "1024 1024", "and a size")
  tap.is(arguments.number("2 * atoi(argv[1])", { "7" }), nil, "and all that the name is made of")
  tap.is(arguments.number("std::strtol(argv[2], NULL, 10)", { "7", "8" }), 8, "by any function")
end)

tap.done()
