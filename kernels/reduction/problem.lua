--- Sum of every row of a matrix as a problem: how to make cases for kernel.cu and how to launch it.
--
--   { seed = 7 }                              1000 rows of 4000 columns, elements in [-1, 1)
--   { seed = 7, rows = 5, columns = 33 }      smaller

local gi = require "gilua"

local MOST = 1 << 16 -- rows, and columns: more columns, and single precision needs more tolerance
local MOST_ELEMENTS = 1 << 28
local FIELDS = { { "rows", 1000, 1, MOST }, { "columns", 4000, 1, MOST } }

local function checked(spec)
  local s = gi.settings.spec("reduction", spec, FIELDS)
  if s.rows * s.columns > MOST_ELEMENTS then
    gi.fail("reduction: %d rows of %d columns are more than %d elements; ask for fewer", s.rows,
      s.columns, MOST_ELEMENTS)
  end
  return s
end

local function case(problem, spec)
  local s = checked(spec)
  local pitch = (s.columns + 3) // 4 * 4
  local size = { { "i64", s.rows }, { "i64", s.columns }, { "i64", pitch } }
  local values, expected = gi.array("f32", s.rows, pitch), gi.array("f32", s.rows)
  problem.lib:call("reduction_matrix", { { "i64", s.seed }, size[1], size[2], size[3], values })
  problem.lib:call("reduction_sums", { values, size[1], size[2], size[3], expected })
  return {
    name = ("%d rows of %d, seed %d"):format(s.rows, s.columns, s.seed),
    answers = s.rows, expected = expected, output = gi.array("f32", s.rows),
    compare = { limit = 0.1 },
    values = values, rows = s.rows, columns = s.columns, pitch = pitch,
  }
end

local function launch(c, values)
  return {
    grid = c.rows,
    block = values.block_size,
    args = { c.output, c.values, { "i32", c.columns }, { "i32", c.pitch } },
  }
end

return {
  name = "reduction",
  title = "Sum of every row of a matrix",
  source = "kernel.cu",
  kernel = "row_sums",
  reference = "reference.c",
  grammar = {
    open_loops = true, -- how far the tree goes, and in what steps, is what there is to find
    pragmas = true, restricts = true, consts = false, volatiles = true,
    launch_bounds = true, launch_bounds_threads = "block_size",
  },
  parameters = {
    { name = "block_size", default = 256, values = { 32, 64, 128, 256, 512, 1024 },
      doc = "threads a block" },
    { name = "unroll", default = 1, values = { 1, 2, 4 }, doc = "separate sums of a thread" },
    { name = "float4Loads", switch = true, doc = "four neighbours are read at once" },
    { name = "shuffles", switch = true, doc = "the last 32 sums are added by shuffles" },
    { name = "interleaved", switch = true, doc = "the tree adds neighbours first, not halves" },
  },
  tolerance = { max_error = 1e-3, wrong_above = 0.1 },
  checked_case = { seed = 1, rows = 3, columns = 1001 },
  case = case,
  launch = launch,
}
