--- Product of two dense matrices as a problem: how to make cases for kernel.cu and to launch it.
--
--   { seed = 7 }                              256 x 256 times 256 x 256, elements in [-1, 1)
--   { seed = 7, m = 100, n = 50, k = 33 }     100 x 33 times 33 x 50

local gi = require "gilua"

local MOST = 4096 -- rows and columns
local FIELDS = { { "m", 256, 1, MOST }, { "n", 256, 1, MOST }, { "k", 256, 1, MOST } }

local function matrix(lib, seed, rows, columns)
  local values = gi.array("f32", rows, columns)
  lib:call("matmul_random", { { "i64", seed }, { "i64", rows * columns }, values })
  return values
end

local function case(problem, spec)
  local s = gi.settings.spec("matmul", spec, FIELDS)
  local m, n, k = s.m, s.n, s.k
  local a, b = matrix(problem.lib, s.seed, m, k), matrix(problem.lib, ~s.seed, k, n)
  local expected = gi.array("f32", m, n)
  problem.lib:call("matmul_product",
    { a, b, { "i64", m }, { "i64", n }, { "i64", k }, expected })
  return {
    name = ("%dx%d by %dx%d, seed %d"):format(m, k, k, n, s.seed),
    answers = m * n, expected = expected, output = gi.array("f32", m, n),
    compare = { limit = 0.01 },
    a = a, b = b, m = m, n = n, k = k,
  }
end

local function launch(c, values)
  local tile = values.tile
  return {
    grid = { (c.n + tile - 1) // tile, (c.m + tile - 1) // tile },
    block = { tile, tile // values.rows_per_thread },
    args = { c.output, c.a, c.b, { "i32", c.m }, { "i32", c.n }, { "i32", c.k } },
  }
end

return {
  name = "matmul",
  title = "Product of two dense matrices, tile by tile",
  source = "kernel.cu",
  kernel = "matmul",
  reference = "reference.c",
  grammar = {
    open_loops = false, -- barriers stand in the loop over tiles: its trip count must not vary
    pragmas = true, restricts = true, consts = true, volatiles = false,
    launch_bounds = true, launch_bounds_threads = "block_threads",
  },
  parameters = {
    { name = "tile", default = 16, values = { 8, 16, 32 }, doc = "side of a block's square" },
    { name = "rows_per_thread", default = 1, values = { 1, 2, 4, 8 },
      doc = "elements of a column that a thread computes" },
    { name = "direct", switch = true, doc = "no tiles: factors are read from global memory" },
    { name = "padded", switch = true, doc = "rows of the tiles are one float longer" },
    { name = "tileAT", switch = true, doc = "the tile of A is stored transposed" },
  },
  tolerance = { max_error = 1e-3, wrong_above = 0.01 },
  checked_case = { seed = 1, m = 37, n = 50, k = 41 },
  case = case,
  launch = launch,
}
