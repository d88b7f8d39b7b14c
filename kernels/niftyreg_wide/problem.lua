--- The spline kernel of ../niftyreg with many ways to compute it: richer material for the search.
--
-- Cases, reference and answers are those of ../niftyreg (GECCO 2014); a case gets some inputs more,
-- other layouts of the same data: the list decoded, control points as three planes, reciprocals.

local gi = require "gilua"

local here = debug.getinfo(1, "S").source:match("^@(.*)problem%.lua$")
local faithful = assert(loadfile(here .. "../niftyreg/problem.lua"))()

local SPACING, LANES = 5, 32
local RUN_CELLS = { 4, 1, 2, 3, 5, 6, 8, 12, 16 } -- the default first
local SLOTS = 36 -- float4 of shared memory a group: 16 columns, 20 rows
local WINDOW = 168 -- float4 of shared memory a team with sum_order = 4: eight planes
local CELL = 125 -- float4 more with packedStores
local MOST_SLOTS = 80 -- groups whose slots fit the 48 KiB that every launch may have

-- Cases -----------------------------------------------------------------------------------------

--- The list as the kernel's decode_by = 2 wants it: 5 * (first control point) + x % 5.
local function decoded(groups, size, grid)
  local nx, ny, gx, gy = size[1], size[2], grid[1], grid[2]
  local nodes = gi.array("i32", #groups)
  for i = 1, #groups do
    local voxel = groups[i]
    local x, y, z = voxel % nx, voxel // nx % ny, voxel // (nx * ny)
    local node = (z // SPACING * gy + y // SPACING) * gx + x // SPACING
    nodes[i] = SPACING * node + x % SPACING
  end
  return nodes
end

--- The runs of the list, int4 { first control point, x % 5, first group, group behind the last }:
--- groups that follow each other along x, within `cells` spacings.
local function runs(groups, nodes, cells)
  local list, first = {}, 1
  for i = 2, #groups + 1 do
    local cell = nodes[first] // SPACING
    if i > #groups or groups[i] ~= groups[i - 1] + 1 or nodes[i] // SPACING >= cell + cells then
      local n = #list
      list[n + 1], list[n + 2] = cell, nodes[first] % SPACING
      list[n + 3], list[n + 4] = first - 1, i - 1
      first = i
    end
  end
  return gi.array.from(list, "i32")
end

--- One component (1, 2, 3) of every control point.
local function plane(control, component)
  local n = #control // 4
  local values = gi.array("f32", n)
  for i = 1, n do values[i] = control[4 * (i - 1) + component] end
  return values
end

--- Multiplier and shift that divide a number below 2^31 by d: see divided() in kernel.cu.
local function reciprocal(d)
  local shift = 0
  while 1 << shift < d do shift = shift + 1 end
  return gi.array.from({ ((1 << 31 + shift) + d - 1) // d, shift }, "u32")
end

--- What is made of the active list alone. The last one's is kept: cases of one image share it.
local function lists_of(problem, c)
  local kept = problem.lists
  if kept and kept.groups == c.groups then return kept end
  local size = c.image_size
  local made = {
    groups = c.groups, nodes = decoded(c.groups, size, c.grid_size),
    reciprocal_x = reciprocal(size[1]), reciprocal_xy = reciprocal(size[1] * size[2]),
  }
  for _, cells in ipairs(RUN_CELLS) do
    made["runs" .. cells] = runs(c.groups, made.nodes, cells)
  end
  problem.lists = made
  return made
end

local function case(problem, spec)
  local c, message, code = faithful.case(problem, spec)
  if not c then return nil, message, code end
  for name, list in pairs(lists_of(problem, c)) do c[name] = list end
  c.point_x, c.point_y, c.point_z = plane(c.control, 1), plane(c.control, 2), plane(c.control, 3)
  return c
end

-- Launches --------------------------------------------------------------------------------------

--- Does a team take a run from the host's list?
local function by_runs(values)
  return values.runs and values.sum_order >= 2
end

--- Threads of a team and groups of a batch, by the rules in kernel.cu for combinations that have no
--- meaning of their own.
local function team_and_batch(values)
  local block, along_x = values.block_size, values.sum_order >= 2
  local four = values.team_size == 128 and block % 128 == 0 and not along_x
  local team = four and 128 or LANES
  local batch = values.batch_size
  if along_x or batch * (block // team) > MOST_SLOTS then batch = 1 end
  return team, batch
end

--- Float4 of shared memory a team.
local function slots(values, batch)
  local sums = values.sum_order == 4 and WINDOW or SLOTS * batch
  return sums + (values.packedStores and by_runs(values) and CELL or 0)
end

local function launch(c, values)
  local block = values.block_size
  local team, batch = team_and_batch(values)
  local teams = block // team
  local run_name = "runs" .. values.run_cells -- a worker keeps textures by their names
  local run_list = c[run_name]
  if not run_list then
    gi.fail("niftyreg_wide: there are no lists of runs for run_cells=%s; take one of %s",
      values.run_cells, table.concat(RUN_CELLS, ", "))
  end
  local shares = (#c.groups + values.groups_per_team - 1) // values.groups_per_team
  if by_runs(values) then shares = #run_list // 4 end
  local groups, points = { "i32", #c.groups }, { "i32", #c.control // 4 }
  return {
    grid = (shares + teams - 1) // teams,
    block = block,
    shared = 16 * teams * slots(values, batch),
    args = { c.output, c.groups, c.nodes, run_list, c.control, c.point_x, c.point_y, c.point_z,
             groups, { "i32", shares }, { "i32", c.grid_size[1] }, { "i32", c.grid_size[2] },
             points },
    constants = {
      c_ActiveVoxelNumber = groups,
      c_Shares = { "i32", shares },
      c_ImageSize = c.image_size,
      c_ControlPointGrid = c.grid_size,
      c_ControlPoints = points,
      givenUseBSpline = c.use_bspline,
      givenSpacing = { "i32", SPACING },
      c_ReciprocalX = c.reciprocal_x,
      c_ReciprocalXY = c.reciprocal_xy,
      c_Basis = c.basis,
      activeVoxelTexture = { texture = "active" },
      activeNodeTexture = { texture = "nodes" },
      runTexture = { texture = run_name },
      controlPointTexture = { texture = "control" },
      basisTexture = { texture = "basis" },
      basisTexture4 = { texture = "basis4" },
    },
    textures = {
      active = { array = c.groups, kind = "linear", channels = 1 },
      nodes = { array = c.nodes, kind = "linear", channels = 1 },
      [run_name] = { array = run_list, kind = "linear", channels = 4 },
      control = { array = c.control, kind = "linear", channels = 4 },
      basis = { array = c.basis, kind = "linear", channels = 1 },
      basis4 = { array = c.basis, kind = "linear", channels = 4 },
    },
  }
end

-- The problem -----------------------------------------------------------------------------------

--- A parameter of the faithful problem, the same here.
local function same(name)
  for _, parameter in ipairs(faithful.parameters) do
    if parameter.name == name then return parameter end
  end
  error("niftyreg_wide: ../niftyreg/problem.lua has no parameter " .. name)
end

local function choice(name, values, doc)
  return { name = name, default = values[1], values = values, doc = doc }
end

local function switch(name, value, doc)
  return { name = name, switch = true, value = value, doc = doc }
end

return {
  name = "niftyreg_wide",
  title = "Cubic B-spline deformation of a 3-D image, with more ways to order it",
  paper = faithful.paper,
  source = "kernel.cu",
  kernel = faithful.kernel,
  reference = "../niftyreg/reference.c",
  grammar = faithful.grammar,
  parameters = {
    same "block_size", same "ptxas", same "arch",
    choice("team_size", { 32, 128 }, "threads that work together: a warp or four"),
    choice("groups_per_team", { 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32 },
      "consecutive entries of the active list a team processes"),
    choice("batch_size", { 1, 2, 4, 5, 8 }, "groups a team processes at a time"),
    choice("sum_order", { 0, 1, 2, 3, 4 },
      "0: x, then yz; 1: x, y, z; moving along x: 2: yz; 3: y, z; 4: y of eight planes, z"),
    switch("runs", "1", "moving along x, a team takes a run of neighbours, listed by the host"),
    choice("run_cells", RUN_CELLS, "longest run, in control point spacings"),
    switch("wholeCells", "1", "with runs: five groups are calculated together, wanted or not"),
    switch("packedStores", "1", "with runs: the answers of a cell are stored by all 32 lanes"),
    switch("shuffles", "1", "partial sums travel by shuffles, not through shared memory"),
    choice("decode_by", { 0, 1, 2 }, "the list: 0 division; 1 reciprocals; 2 decoded by the host"),
    switch("laneDecode", "1", "a lane decodes an entry, before the loop over groups"),
    switch("plainList", "1", "the list by plain loads, not a texture"),
    choice("points_from", { 0, 1, 2 }, "control points: 0 texture; 1 plain loads; 2 three planes"),
    choice("weights_from", { 0, 1, 2, 3 },
      "weights: 0 texture; 1 constant memory; 2 shared memory; 3 calculated"),
    switch("keptWeights", "1", "weights that stay the same are kept in registers"),
    switch("directxBasis", "1", "the weights along x are looked up, not calculated"),
    switch("reciprocalWeights", "1", "weights are calculated without division"),
    choice("store_by", { 0, 1, 2, 3 }, "answers: 0 as usual; 1 streaming; 2 L2 only; 3 through"),
    same "c_UseBSpline", same "c_controlPointVoxelSpacing",
    switch("sizesAsArguments", "1", "sizes are arguments, not variables in constant memory"),
  },
  tolerance = faithful.tolerance,
  checked_case = faithful.checked_case,
  case = case,
  launch = launch,
  compile = faithful.compile,
  reference_time = faithful.reference_time,
}
