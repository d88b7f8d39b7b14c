-- gilua.new.trial: a size that was made smaller than the program's.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local tap = require "tap"

local function smaller(own, original, more)
  local text = ('return {\n  source = "kernel.cu",\n  size = %s,%s\n  block_size_x = 256,\n}\n')
    :format(own, original and " -- " .. gi.trial.SMALLER:format(original) .. (more or "") or "")
  return table.concat({ gi.trial.smaller(text) }, " of ")
end

tap.case("a size that is smaller than the program's", function()
  tap.is(smaller("2048", "4096"), "2048 of 4096", "is known by its note")
  tap.is(smaller("{ 64, 32 }", "{ 128, 64 }", ", and one more"), "{ 64, 32 } of { 128, 64 }",
    "of several dimensions")
  tap.is(smaller("4096", "4096"), "", "not where a person has set the program's")
  tap.is(smaller "4096", "", "nor where it is the program's")
end)

tap.done()
