--- Breadth-first search from many sources as a problem: cases for kernel.cu, and how to launch it.
--
--   { seed = 7 }                                             2000 vertices, 8000 edges, 100 sources
--   { seed = 7, vertices = 33, edges = 40, sources = 3 }     smaller

local gi = require "gilua"

local FIELDS = { -- name, default, least, most
  { "vertices", 2000, 1, 65536 }, { "edges", 8000, 1, 1 << 24 },
  { "sources", 100, 1, 65536 }, -- three bit sets: 24 KiB
}

local function case(problem, spec)
  local s = gi.settings.spec("bfs", spec, FIELDS)
  local lib, seed, vertices = problem.lib, { "i64", s.seed }, { "i64", s.vertices }
  local first, edges = gi.array("i32", s.vertices + 1), gi.array("i32", 2 * s.edges)
  local sources, expected = gi.array("i32", s.sources), gi.array("i32", s.sources, s.vertices)
  lib:call("bfs_sources", { seed, vertices, { "i64", s.sources }, sources })
  local made = lib:call("bfs_graph", { seed, vertices, { "i64", s.edges }, first, edges }, "u8")
  if made ~= 0 then
    made = lib:call("bfs_levels",
      { first, edges, vertices, sources, { "i64", s.sources }, expected }, "u8")
  end
  if made == 0 then return nil, "no memory for the graph", "nomem" end
  return {
    name = ("%d vertices, %d edges, %d sources, seed %d"):format(s.vertices, s.edges, s.sources,
      s.seed),
    answers = s.sources * s.vertices, expected = expected,
    output = gi.array("i32", s.sources, s.vertices), compare = { limit = 0 },
    first = first, edges = edges, sources = sources, vertices = s.vertices,
  }
end

local function launch(c, values)
  return {
    grid = #c.sources,
    block = values.block_size,
    shared = 3 * 4 * ((c.vertices + 31) // 32),
    args = { c.output, c.sources, c.first, c.edges, { "i32", c.vertices } },
  }
end

return {
  name = "bfs",
  title = "Breadth-first search from many sources",
  source = "kernel.cu",
  kernel = "bfs",
  reference = "reference.c",
  grammar = {
    open_loops = true, -- which vertices and edges a thread looks at is in the loops' headers
    pragmas = true, restricts = true, consts = true, volatiles = false,
    launch_bounds = true, launch_bounds_threads = "block_size",
  },
  parameters = {
    { name = "block_size", default = 128, values = { 32, 64, 128, 256, 512, 1024 },
      doc = "threads a block" },
    { name = "lanes", default = 1, values = { 1, 2, 4, 8, 16, 32 },
      doc = "neighbouring threads that share the edges of a vertex" },
    { name = "pull_from", default = 99, values = { 1, 2, 3, 4, 5, 99 },
      doc = "level from which unvisited vertices look for the frontier; 99: never" },
    { name = "testFirst", switch = true, doc = "vertices visited before are not written again" },
    { name = "skipWords", switch = true, doc = "32 vertices outside the frontier are skipped" },
  },
  tolerance = { max_error = 0, wrong_above = 0 }, -- levels are whole numbers
  checked_case = { seed = 1, vertices = 160, edges = 250, sources = 2 },
  case = case,
  launch = launch,
}
