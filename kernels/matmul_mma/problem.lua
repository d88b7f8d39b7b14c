--- Product of two matrices of f16 by tensor cores as a problem: how to make cases for kernel.cu and
--- to launch it.
---
---   { seed = 7 }                               256 x 256 times 256 x 256, elements in [-1, 1)
---   { seed = 7, m = 104, n = 48, k = 40 }      104 x 40 times 40 x 48; multiples of 8

local gi = require "gilua"

local MOST = 4096 -- rows and columns
local FIELDS = { { "m", 256, 8, MOST }, { "n", 256, 8, MOST }, { "k", 256, 8, MOST } }

local function matrix(lib, seed, rows, columns)
  local values = gi.array("f16", rows, columns)
  lib:call("mma_random", { { "i64", seed }, { "i64", rows * columns }, values })
  return values
end

local function case(problem, spec)
  local s = gi.settings.spec("matmul_mma", spec, FIELDS)
  local m, n, k = s.m // 8 * 8, s.n // 8 * 8, s.k // 8 * 8
  local a, b = matrix(problem.lib, s.seed, m, k), matrix(problem.lib, ~s.seed, k, n)
  local expected = gi.array("f32", m, n)
  problem.lib:call("mma_product", { a, b, { "i64", m }, { "i64", n }, { "i64", k }, expected })
  return {
    name = ("%dx%d by %dx%d, seed %d"):format(m, k, k, n, s.seed),
    answers = m * n, expected = expected, output = gi.array("f32", m, n),
    compare = { limit = 0.01 },
    a = a, b = b, m = m, n = n, k = k,
  }
end

local function launch(c, values)
  local columns = values.tile_n
  return {
    grid = { (c.n + columns - 1) // columns, (c.m + 63) // 64 }, block = 128,
    args = { c.output, c.a, c.b, { "i32", c.m }, { "i32", c.n }, { "i32", c.k } },
  }
end

return {
  name = "matmul_mma",
  title = "Product of two matrices of f16 by tensor cores",
  source = "kernel.cu",
  kernel = "matmul_mma",
  reference = "reference.c",
  grammar = {
    open_loops = false, -- barriers and warps' products stand in loops: trip counts must not vary
    pragmas = true, restricts = true, consts = true, volatiles = false,
    launch_bounds = true, launch_bounds_threads = "threads",
  },
  parameters = {
    { name = "tile_n", default = 64, values = { 32, 64, 128 },
      doc = "columns that a block computes" },
    { name = "depth", default = 32, values = { 16, 32, 64 }, doc = "numbers of a tile along k" },
    { name = "wide", switch = true, doc = "16 bytes are copied at a time" },
    { name = "padded", switch = true, doc = "rows of the tiles are 16 bytes longer" },
    { name = "kept", switch = true, doc = "a fragment of A is loaded once for all columns" },
  },
  tolerance = { max_error = 1e-3, wrong_above = 0.01 },
  checked_case = { seed = 1, m = 72, n = 80, k = 40 },
  case = case,
  launch = launch,
}
