-- The wide stereo problem: every choice it offers gives the disparities of the faithful kernel.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local choices = require "choices"
local gi = require "gilua"

local SMALL = { seed = 5, width = 61, height = 19, max_disparity = 20 }
local RANDOM = tonumber(os.getenv("GILUA_COMBINATIONS") or 16)

local problem = gi.problem "kernels/stereo_wide"
local farm = gi.farm(problem, { jobs = 2 })

local function all_right(genomes, spec, what)
  choices.all_right(farm, genomes, spec, what)
end

tap.case("every choice alone is right, and any combination", function()
  all_right(choices.alone(problem), SMALL, "alone")
  all_right(choices.random(problem, RANDOM, gi.rng(11)), SMALL, "at random")
end)

-- All the ways that lanes can share, with one, some and too many disparities each (lanes *
-- disparities_per_lane are 128 at most).
local WAYS = {
  "squares=products", "lanes=8 disparities_per_lane=7 squares=products", "disparities_per_lane=9",
  "disparities_per_lane=4 reduces", "lanes=16 disparities_per_lane=6 ring_in=SHARED rows=2",
}

tap.case("few disparities, and as many as there can be", function()
  for _, most in ipairs { 1, 31, 32, 128 } do
    all_right(WAYS, { seed = 6, width = 150, height = 7, max_disparity = most },
      ("disparities to %d"):format(most))
  end
end)

--- A pair of pictures as a case; pixel(side, x, y) is their grey.
local function drawn(width, height, most, pixel)
  local name, spec = os.tmpname(), { max_disparity = most }
  os.remove(name)
  for _, side in ipairs { "left", "right" } do
    local image = gi.array("u8", height, width)
    for i = 0, #image - 1 do image[i + 1] = pixel(side, i % width, i // width) end
    spec[side] = ("%s-%s.pgm"):format(name, side)
    assert(gi.image.write(spec[side], image))
  end
  return spec
end

-- Noise, and the same noise further left: the least sum is 0 there, and large everywhere else.
tap.case("every disparity can win", function()
  local rng, noise = gi.rng(3), {}
  for i = 1, 12 * 428 do noise[i] = rng:int(256) - 1 end
  for _, d in ipairs { 0, 32, 127, 128 } do
    local spec = drawn(300, 12, 128, function(side, x, y)
      return noise[y * 428 + x + (side == "right" and d or 0) + 1]
    end)
    tap.is(problem:case(spec).expected[150], d, "the reference finds " .. d)
    all_right(WAYS, spec, ("disparity %d"):format(d))
    os.remove(spec.left)
    os.remove(spec.right)
  end
end)

tap.case("images smaller than a window, and wider than a tile", function()
  for _, size in ipairs { { 1, 1 }, { 3, 40 }, { 289, 12 }, { 700, 5 } } do
    all_right(WAYS, { seed = 7, width = size[1], height = size[2], max_disparity = 12 },
      ("%d x %d"):format(size[1], size[2]))
  end
end)

tap.case("sums as large as they can be", function()
  for _, white in ipairs { "left", "right" } do
    local spec = drawn(40, 12, 128, function(side) return side == white and 255 or 0 end)
    all_right(WAYS, spec, white .. " is white, the other black")
    os.remove(spec.left)
    os.remove(spec.right)
  end
end)

tap.case("no thread races with another, and nothing is read that was not written", function()
  local verdicts = farm:check { "", "squares=products reduces", "ring_in=SHARED rows=2",
    "lanes=8 disparities_per_lane=2 squares=products" }
  for _, v in ipairs(verdicts) do
    tap.is(v.status .. " " .. v.uninitialised_reads, "ok 0", v.message or "a setting")
  end
end)

tap.case("a block has the warps that its shared memory holds", function()
  local c = problem:case { seed = 1, width = 1000, height = 8, max_disparity = 128 }
  local function launch(values) return problem.definition.launch(c, problem:values(values)) end
  tap.is(launch({}).block, 128, "four warps by default")
  local large = launch { rows = 3, turns = 28, warps = 8 }
  tap.ok(large.block < 128 and large.shared <= 49152, "fewer where 48 KiB do not hold theirs")
  tap.ok(large.grid[1] * large.block // 32 * 12 * 27 >= 1000, "and the tiles cover the image")
end)

farm:close()
tap.done()
