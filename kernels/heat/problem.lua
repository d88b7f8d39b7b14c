--- Steps of the heat equation as a problem: how to make cases for kernel.cu and how to launch it.
--
--   { seed = 7 }                                    700 x 500 cells, 2 steps
--   { seed = 7, width = 30, height = 7, steps = 3 } steps: 1 to 3

local gi = require "gilua"

-- steps: fewer than half of the smallest block's side, or it would have no cell to write
local FIELDS = { -- name, default, least, most
  { "width", 700, 1, 8192 }, { "height", 500, 1, 8192 }, { "steps", 2, 1, 3 },
}

local function case(problem, spec)
  local s = gi.settings.spec("heat", spec, FIELDS)
  local before = gi.array("f32", s.height, s.width)
  local conductivity = gi.array("f32", s.height, s.width)
  local expected = gi.array("f32", s.height, s.width)
  local width, height = { "i64", s.width }, { "i64", s.height }
  problem.lib:call("heat_plate", { { "i64", s.seed }, width, height, before, conductivity })
  local made = problem.lib:call("heat_steps",
    { before, conductivity, width, height, { "i64", s.steps }, expected }, "u8")
  if made == 0 then return nil, "no memory for the temperatures", "nomem" end
  return {
    name = ("%dx%d, %d steps, seed %d"):format(s.width, s.height, s.steps, s.seed),
    answers = s.width * s.height, expected = expected,
    output = gi.array("f32", s.height, s.width), compare = { limit = 0.1 },
    before = before, conductivity = conductivity, width = s.width, height = s.height,
    steps = s.steps,
  }
end

local function launch(c, values)
  local across, down = values.block_x - 2 * c.steps, values.block_y - 2 * c.steps
  return {
    grid = { (c.width + across - 1) // across, (c.height + down - 1) // down },
    block = { values.block_x, values.block_y },
    args = { c.output, c.before, c.conductivity, { "i32", c.width }, { "i32", c.height },
             { "i32", c.steps } },
  }
end

return {
  name = "heat",
  title = "Steps of the heat equation on a plate, several in one launch",
  source = "kernel.cu",
  kernel = "heat",
  reference = "reference.c",
  grammar = {
    open_loops = false, -- a barrier stands in the only loop: all threads take as many steps
    pragmas = true, restricts = true, consts = true, volatiles = true,
    launch_bounds = true, launch_bounds_threads = "block_x * block_y",
  },
  parameters = {
    { name = "block_x", default = 32, values = { 8, 16, 32 },
      doc = "threads a block along x" },
    { name = "block_y", default = 8, values = { 8, 16, 32 }, doc = "threads a block along y" },
    { name = "oneBuffer", switch = true, doc = "one copy of the piece, two barriers a step" },
    { name = "wholePiece", switch = true, doc = "every thread calculates in every step" },
    { name = "factored", switch = true, doc = "the neighbours' sum less four times the cell" },
    { name = "rateInShared", switch = true, doc = "conductivity is kept in shared memory" },
  },
  tolerance = { max_error = 1e-3, wrong_above = 0.1 },
  checked_case = { seed = 1, width = 45, height = 21, steps = 2 },
  case = case,
  launch = launch,
}
