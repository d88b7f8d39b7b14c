-- The wide spline problem: every choice it offers gives the answers of the faithful kernel.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local choices = require "choices"
local gi = require "gilua"

local SMALL = { side = 24, seed = 5 }
local RANDOM = tonumber(os.getenv("GILUA_COMBINATIONS") or 40)

local problem = gi.problem "kernels/niftyreg_wide"
local farm = gi.farm(problem, { jobs = 2 })

local function all_right(genomes, spec, what)
  choices.all_right(farm, genomes, spec, what)
end

tap.case("every choice alone is right", function()
  all_right(choices.alone(problem), SMALL, "alone")
end)

tap.case("the ways along x, with and without the host's runs", function()
  local genomes = {}
  for order = 2, 4 do
    local way = "sum_order=" .. order
    for _, more in ipairs { "groups_per_team=7", "groups_per_team=32 laneDecode",
                            "groups_per_team=9 shuffles decode_by=2 points_from=1", "runs",
                            "runs wholeCells plainList", "runs packedStores store_by=1",
                            "runs shuffles points_from=2 run_cells=2",
                            "runs run_cells=1 weights_from=2 team_size=128 block_size=256",
                            "runs run_cells=16 wholeCells packedStores block_size=512" } do
      genomes[#genomes + 1] = way .. " " .. more
    end
  end
  all_right(genomes, SMALL, "along x")
end)

tap.case("teams and batches", function()
  local genomes = {}
  for order = 0, 1 do
    for _, more in ipairs { "batch_size=8 groups_per_team=12",
                            "batch_size=5 groups_per_team=24 laneDecode",
                            "team_size=128 block_size=128 batch_size=5 groups_per_team=5",
                            "team_size=128 block_size=384 batch_size=8 laneDecode",
                            "team_size=128 block_size=1024 keptWeights batch_size=5",
                            "batch_size=8 block_size=1024",
                            "shuffles keptWeights groups_per_team=3" } do
      genomes[#genomes + 1] = ("sum_order=%d %s"):format(order, more)
    end
  end
  all_right(genomes, SMALL, "teams")
end)

tap.case("any combination is right: those that exclude each other fall back", function()
  local blocks = { block_size = 15 } -- up to 512 threads, for speed
  all_right(choices.random(problem, RANDOM, gi.rng(11), blocks), SMALL, "at random")
end)

tap.case("the interpolating cubic, on all ways", function()
  local spec = { side = 24, seed = 6, bspline = false }
  all_right({ "", "sum_order=1 weights_from=3", "sum_order=2 directxBasis", "sum_order=3 runs",
              "sum_order=4 runs weights_from=3 wholeCells" }, spec, "interpolating")
end)

tap.case("the cases are the faithful kernel's: same groups, same answers", function()
  local faithful = gi.problem "kernels/niftyreg"
  local ours, theirs = problem:case(SMALL), faithful:case(SMALL)
  tap.is(ours.answers, theirs.answers, "as many answers")
  tap.is(#ours.groups, #theirs.groups, "the same active list")
  local same = true
  for i = 1, #ours.expected do same = same and ours.expected[i] == theirs.expected[i] end
  tap.ok(same, "the same expected answers")
  tap.is(problem:values().block_size, faithful:values().block_size, "the same default block")
  local again = problem:case { side = SMALL.side, seed = 6, image_seed = SMALL.seed }
  tap.ok(again.runs4 == ours.runs4 and again.control ~= ours.control,
    "another deformation of the same image shares the lists")
end)

tap.case("the host's other layouts say what the active list says", function()
  local c = problem:case(SMALL)
  local nx, ny = c.image_size[1], c.image_size[2]
  local gx, gy = c.grid_size[1], c.grid_size[2]
  local right = true
  for i = 1, #c.groups do
    local node, x = c.nodes[i] // 5, c.nodes[i] % 5
    local cx, cy, cz = node % gx, node // gx % gy, node // (gx * gy)
    right = right and c.groups[i] == 5 * cx + x + nx * (5 * cy + ny * 5 * cz)
  end
  tap.ok(right, "decoded list")
end)

tap.case("the reciprocals divide every number below 2^31 exactly", function()
  for _, side in ipairs { 8, 21, 32, 40 } do
    local c = problem:case { side = side, seed = 1 }
    for i, list in ipairs { c.reciprocal_x, c.reciprocal_xy } do
      local d = i == 1 and side or side * side
      local exact, most = true, (1 << 31) - 1
      for _, n in ipairs { 0, 1, d - 1, d, 2 * d - 1, most // d * d - 1, most // d * d, most } do
        exact = exact and 2 * n * list[1] >> 32 >> list[2] == n // d
      end
      tap.ok(exact, ("by %d"):format(d))
    end
  end
end)

tap.case("runs hold every group once, in order, and stay within their length", function()
  local c = problem:case(SMALL)
  for _, cells in ipairs { 1, 2, 4, 5, 16 } do
    local runs, next_group, sound = c["runs" .. cells], 0, true
    for i = 1, #runs, 4 do
      local node, x, first, last = runs[i], runs[i + 1], runs[i + 2], runs[i + 3]
      sound = sound and first == next_group and last > first and x + last - first <= 5 * cells
        and c.nodes[first + 1] == 5 * node + x
        and c.groups[last] - c.groups[first + 1] == last - first - 1
      next_group = last
    end
    tap.ok(sound and next_group == #c.groups, ("runs of up to %d spacings"):format(cells))
  end
end)

tap.case("a length of runs the host has no list of is refused by name", function()
  local m = farm:evaluate({ "sum_order=4 runs run_cells=7" }, SMALL)[1]
  tap.is(m.status, "launch_error", "no launch")
  tap.has(m.message or "", "run_cells=7", "and the message says why")
end)

farm:close()
tap.done()
