--- Sparse matrix times vector as a problem: how to make cases for kernel.cu and how to launch it.
--
--   { seed = 7 }                                         20000 x 20000, about 12 elements a row
--   { seed = 7, rows = 100, columns = 50, mean = 4 }     smaller; mean: elements of a row

local gi = require "gilua"

local FIELDS = { -- name, default, least, most
  { "rows", 20000, 1, 1 << 20 }, { "columns", 20000, 1, 1 << 20 }, { "mean", 12, 1, 256 },
}

local function case(problem, spec)
  local s = gi.settings.spec("spmv", spec, FIELDS)
  local lib, seed = problem.lib, { "i64", s.seed }
  local rows, columns = { "i64", s.rows }, { "i64", s.columns }
  local first = gi.array("i32", s.rows + 1)
  local n = lib:call("spmv_lengths", { seed, rows, columns, { "i64", s.mean }, first }, "i64")
  local column, values = gi.array("i32", math.max(n, 1)), gi.array("f32", math.max(n, 1))
  local x, expected = gi.array("f32", s.columns), gi.array("f32", s.rows)
  lib:call("spmv_elements", { seed, rows, columns, first, column, values, x })
  lib:call("spmv_product", { first, column, values, x, rows, expected })
  return {
    name = ("%dx%d, %d elements, seed %d"):format(s.rows, s.columns, n, s.seed),
    answers = s.rows, expected = expected, output = gi.array("f32", s.rows),
    compare = { limit = 0.01 },
    first = first, column = column, values = values, x = x, rows = s.rows,
  }
end

local function launch(c, values)
  local per_block = values.block_size // values.lanes * values.rows_per_thread
  return {
    grid = (c.rows + per_block - 1) // per_block,
    block = values.block_size,
    args = { c.output, c.first, c.column, c.values, c.x, { "i32", c.rows } },
    constants = { xTexture = { texture = "x" } },
    textures = { x = { array = c.x, kind = "linear", channels = 1 } },
  }
end

return {
  name = "spmv",
  title = "Sparse matrix times vector, in compressed rows",
  source = "kernel.cu",
  kernel = "spmv",
  reference = "reference.c",
  grammar = {
    open_loops = true, -- which elements a thread adds is in the loops' headers
    pragmas = true, restricts = true, consts = true, volatiles = false,
    launch_bounds = true, launch_bounds_threads = "block_size",
  },
  parameters = {
    { name = "block_size", default = 256, values = { 32, 64, 128, 256, 512, 1024 },
      doc = "threads a block" },
    { name = "lanes", default = 1, values = { 1, 2, 4, 8, 16, 32 },
      doc = "neighbouring threads that share a row" },
    { name = "rows_per_thread", default = 1, values = { 1, 2, 4, 8 },
      doc = "rows that a thread does one after the other" },
    { name = "textureX", switch = true, doc = "the vector is read through a texture" },
    { name = "streamA", switch = true, doc = "the matrix is read past the cache" },
    { name = "twoSums", switch = true, doc = "a thread adds to two sums in turn" },
    { name = "warpRows", switch = true, doc = "the rows of a thread are next to each other" },
  },
  tolerance = { max_error = 1e-4, wrong_above = 0.01 },
  checked_case = { seed = 1, rows = 333, columns = 200, mean = 5 },
  case = case,
  launch = launch,
}
