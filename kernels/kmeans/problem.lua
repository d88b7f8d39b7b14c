--- The assignment step of k-means as a problem: cases for kernel.cu, and how to launch it.
--
--   { seed = 7 }                               50000 points, 64 centres
--   { seed = 7, points = 100, centres = 5 }    smaller

local gi = require "gilua"

local DIMS = 8
local FIELDS = { -- name, default, least, most
  { "points", 50000, 1, 1 << 24 },
  { "centres", 64, 1, 1024 }, -- the kernel has constant memory for 1024
}

local function case(problem, spec)
  local s = gi.settings.spec("kmeans", spec, FIELDS)
  local n, k = { "i64", s.points }, { "i64", s.centres }
  local centres, norms = gi.array("f32", s.centres, DIMS), gi.array("f32", s.centres)
  local rows, planes = gi.array("f32", s.points, DIMS), gi.array("f32", DIMS, s.points)
  local expected = gi.array("i32", s.points)
  problem.lib:call("kmeans_points", { { "i64", s.seed }, n, k, centres, rows, planes, norms })
  problem.lib:call("kmeans_nearest", { rows, centres, n, k, expected })
  return {
    name = ("%d points, %d centres, seed %d"):format(s.points, s.centres, s.seed),
    answers = s.points, expected = expected, output = gi.array("i32", s.points),
    compare = { limit = 0 },
    rows = rows, planes = planes, centres = centres, norms = norms,
    points = s.points, k = s.centres,
  }
end

local function launch(c, values)
  local points = values.block_size * values.points_per_thread
  return {
    grid = (c.points + points - 1) // points,
    block = values.block_size,
    args = { c.output, c.planes, c.rows, c.centres, c.norms, { "i32", c.points }, { "i32", c.k } },
    constants = { c_centres = c.centres },
  }
end

return {
  name = "kmeans",
  title = "k-means: the nearest centre of every point",
  source = "kernel.cu",
  kernel = "kmeans",
  reference = "reference.c",
  grammar = {
    open_loops = false, -- they say which points, centres and coordinates there are
    pragmas = true, restricts = true, consts = true, volatiles = true,
    launch_bounds = true, launch_bounds_threads = "block_size",
  },
  parameters = {
    { name = "block_size", default = 256, values = { 32, 64, 128, 256, 512, 1024 },
      doc = "threads a block" },
    { name = "points_per_thread", default = 1, values = { 1, 2, 4, 8 },
      doc = "points compared with a centre before the next centre" },
    { name = "centres_from", default = 0, values = { 0, 1, 2 },
      doc = "centres: 0 global memory; 1 constant memory; 2 shared memory" },
    { name = "portion", default = 32, values = { 16, 32, 64, 128 },
      doc = "centres in shared memory at a time" },
    { name = "rowPoints", switch = true, doc = "points are read as rows of two float4" },
    { name = "expanded", switch = true, doc = "|c|^2 - 2 p c is compared, not |p - c|^2" },
  },
  tolerance = { max_error = 0, wrong_above = 0 }, -- numbers of centres
  checked_case = { seed = 1, points = 333, centres = 37 },
  case = case,
  launch = launch,
}
