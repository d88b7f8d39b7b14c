--- Local alignment of many pairs of sequences as a problem: cases for kernel.cu, and its launch.
--
--   { seed = 7 }                                       200 pairs of 150 and 250 letters
--   { seed = 7, pairs = 3, rows = 70, columns = 33 }   rows: of the query, columns: of the subject

local gi = require "gilua"

local FIELDS = { -- name, default, least, most
  { "pairs", 200, 1, 1 << 16 }, { "rows", 150, 1, 1 << 14 }, { "columns", 250, 1, 2048 },
}

local function case(problem, spec)
  local s = gi.settings.spec("smith_waterman", spec, FIELDS)
  local queries = gi.array("u8", s.pairs, s.rows)
  local subjects = gi.array("u8", s.pairs, s.columns)
  local expected = gi.array("i32", s.pairs, s.rows)
  local size = { { "i64", s.pairs }, { "i64", s.rows }, { "i64", s.columns } }
  problem.lib:call("smith_waterman_sequences",
    { { "i64", s.seed }, size[1], size[2], size[3], queries, subjects })
  problem.lib:call("smith_waterman_best",
    { queries, subjects, size[1], size[2], size[3], expected })
  return {
    name = ("%d pairs of %d and %d letters, seed %d"):format(s.pairs, s.rows, s.columns, s.seed),
    answers = s.pairs * s.rows, expected = expected,
    output = gi.array("i32", s.pairs, s.rows), compare = { limit = 0 },
    queries = queries, subjects = subjects, pairs = s.pairs, rows = s.rows, columns = s.columns,
  }
end

local function launch(c, values)
  return {
    grid = c.pairs,
    block = values.block_size,
    shared = 9 * c.columns,
    args = { c.output, c.queries, c.subjects, { "i32", c.rows }, { "i32", c.columns } },
  }
end

return {
  name = "smith_waterman",
  title = "Smith-Waterman local alignment with affine gaps",
  source = "kernel.cu",
  kernel = "smith_waterman",
  reference = "reference.c",
  grammar = {
    open_loops = false, -- a barrier stands in the loop over steps: all threads take as many
    pragmas = true, restricts = true, consts = true, volatiles = false,
    launch_bounds = true, launch_bounds_threads = "block_size",
  },
  parameters = {
    { name = "block_size", default = 64, values = { 32, 64, 128, 256, 512 },
      doc = "threads a block, and rows of a strip" },
    { name = "scores_from", default = 0, values = { 0, 1, 2 },
      doc = "scores: 0 constant memory; 1 shared memory; 2 calculated" },
    { name = "sharedSubject", switch = true, doc = "the subject is copied to shared memory first" },
    { name = "shuffles", switch = true, doc = "rows of a warp hand on their values by shuffles" },
    { name = "nextLetter", switch = true, doc = "the next column's letter is fetched early" },
    { name = "warpBarrier", switch = true, doc = "a block of one warp waits for the warp only" },
  },
  tolerance = { max_error = 0, wrong_above = 0 }, -- scores are whole numbers
  checked_case = { seed = 1, pairs = 20, rows = 75, columns = 6 },
  case = case,
  launch = launch,
}
