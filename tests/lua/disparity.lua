-- disparity, base64: what a stereo kernel computes, as pictures beside the truth.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local tap = require "tap"

local problem = gi.problem "kernels/stereo"
local SPEC = { seed = 5, width = 90, height = 60, max_disparity = 12 }

local function map_of(values)
  local map = gi.array("f32", 1, #values)
  for i, v in ipairs(values) do map[i] = v end
  return map
end

tap.case("the share within a pixel: of what is known, and of what both images show", function()
  local seen = gi.array("u8", 1, 5)
  for i = 1, 4 do seen[i] = 1 end
  local map, truth = map_of { 3, 3, -1, 9, 2 }, map_of { 2.5, 4.1, 0, -1, 2 }
  local all, visible = gi.disparity.shares(map, truth, seen)
  tap.is(all, 2 / 4, "two of four: no match is no hit, one is not known")
  tap.is(visible, 1 / 3, "one of three that both show")
  tap.is(select(2, gi.disparity.shares(map, truth)), nil, "nobody says what both show")
end)

tap.case("a scene's shares are those of the reference's own count", function()
  local c = assert(problem:case(SPEC))
  local want = gi.array("f64", 2)
  problem.lib:call("stereo_shares", { c.expected, c.depth, c.seen, { "i64", c.answers },
    { "f64", 1 }, want })
  local all, visible = gi.disparity.shares(c.expected, c.depth, c.seen)
  tap.near(all, want[1], ("all: %.3f"):format(all))
  tap.near(visible, want[2], ("what both show: %.3f"):format(visible))
end)

tap.case("a pair's pictures are what the genome writes, in every type of answer", function()
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local c = assert(problem:case(SPEC))
  for _, type in ipairs { "float", "int", "short", "uchar" } do
    local drawn = gi.disparity.draw(farm, "ROWSperTHREAD=5 OUT_TYPE=" .. type,
      { name = "p", title = "A pair", spec = SPEC })
    tap.is(#drawn.images, 3, type .. ": left, disparities, truth")
    local wrong = 0
    for i = 1, #c.expected do
      if drawn.images[2].pgm[i] ~= c.expected[i] + 1 then wrong = wrong + 1 end
    end
    tap.is(wrong, 0, type .. ": the grey map has the disparities")
    local height, width, colours = drawn.images[2].png:shape()
    tap.is(("%d %d %d"):format(height, width, colours), "60 90 3", "the other is in colours")
  end
end)

tap.case("what cannot be drawn is said in a sentence", function()
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local none = gi.disparity.draw(farm, "", { name = "p", title = "Gone",
    spec = { left = "no/a.pgm", right = "no/b.pgm" } })
  tap.is(none.images, nil, "no pictures of a pair that is not there")
  tap.has(none.text, "no/a.pgm", "which is named")
  none = gi.disparity.draw(farm, "<no_such>", { name = "p", title = "Bad", spec = SPEC })
  tap.is(none.images, nil, "nor by a mutant that does not run")
  tap.has(none.text, "no map: compile_error", "and that is said")
end)

tap.case("the Aloe pair has a truth where it is installed", function()
  local c, why = problem:case { image = "aloe", scale = 8, max_disparity = 30 }
  if not c then return tap.skip(why) end
  local truth = gi.disparity.truth(c, 8)
  if not truth then return tap.skip "there is no aloeGT.png" end
  local all = gi.disparity.shares(c.expected, truth)
  tap.ok(all > 0.6, ("%.3f of what is known is within one pixel"):format(all))
  tap.is(gi.disparity.truth({}, nil), nil, "other pairs have none")
end)

tap.case("bytes as text", function()
  local encode = gi.base64.encode
  tap.is(encode "", "", "none")
  tap.is(encode "f" .. " " .. encode "fo" .. " " .. encode "foo" .. " " .. encode "foobar",
    "Zg== Zm8= Zm9v Zm9vYmFy", "the examples of RFC 4648")
  tap.is(encode "\251\240\0", "+/AA", "the last letters")
end)

tap.done()
