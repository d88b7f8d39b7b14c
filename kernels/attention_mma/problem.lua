--- Attention by tensor cores in f16 as a problem: how to make cases for kernel.cu and to launch it.
---
---   { seed = 7 }                             256 queries, 256 keys, rows of 64 numbers in [-1, 1)
---   { seed = 7, queries = 70, keys = 45 }

local gi = require "gilua"

local WIDTH <const>, SCALE <const> = 64, 0.5
local FIELDS = { { "queries", 256, 1, 16384 }, { "keys", 256, 1, 16384 } }

local function rows(lib, seed, n)
  local values = gi.array("f16", n, WIDTH)
  lib:call("mma_random", { { "i64", seed }, { "i64", n * WIDTH }, values })
  return values
end

local function case(problem, spec)
  local s = gi.settings.spec("attention_mma", spec, FIELDS)
  local rng = gi.rng(s.seed)
  local q = rows(problem.lib, rng:int(1 << 31), s.queries)
  local k = rows(problem.lib, rng:int(1 << 31), s.keys)
  local v = rows(problem.lib, rng:int(1 << 31), s.keys)
  local expected = gi.array("f32", s.queries, WIDTH)
  problem.lib:call("mma_attention",
    { q, k, v, { "i64", s.queries }, { "i64", s.keys }, { "f64", SCALE }, expected })
  return {
    name = ("%d queries, %d keys, seed %d"):format(s.queries, s.keys, s.seed),
    answers = s.queries * WIDTH, expected = expected, output = gi.array("f32", s.queries, WIDTH),
    compare = { limit = 0.02 },
    q = q, k = k, v = v, queries = s.queries, keys = s.keys,
  }
end

local function launch(c)
  return {
    grid = (c.queries + 63) // 64, block = 128,
    args = { c.output, c.q, c.k, c.v, { "i32", c.queries }, { "i32", c.keys }, { "f32", SCALE } },
  }
end

return {
  name = "attention_mma",
  title = "Attention by tensor cores in f16",
  source = "kernel.cu",
  kernel = "attention_mma",
  reference = "reference.c",
  grammar = {
    open_loops = false, -- barriers and warps' products stand in loops: trip counts must not vary
    pragmas = true, restricts = true, consts = true, volatiles = false,
    launch_bounds = true, launch_bounds_threads = "threads",
  },
  parameters = {
    { name = "tile_keys", default = 32, values = { 16, 32, 64, 128 }, doc = "keys of a tile" },
    { name = "wide", switch = true, doc = "16 bytes are copied at a time" },
    { name = "padded", switch = true, doc = "rows of the tiles are 16 bytes longer" },
    { name = "kept", switch = true, doc = "fragments of the queries are loaded once for all keys" },
    { name = "approx", switch = true, doc = "powers of two by the GPU's own instruction" },
  },
  tolerance = { max_error = 2e-3, wrong_above = 0.02 },
  checked_case = { seed = 1, queries = 70, keys = 45 },
  case = case,
  launch = launch,
}
