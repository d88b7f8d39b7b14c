--- Stereo matching by sums that slide along the row: richer material for the search.
--
-- Cases, reference and answers are those of ../stereo (EuroGP 2014).

local here = debug.getinfo(1, "S").source:match("^@(.*)problem%.lua$")
local faithful = assert(loadfile(here .. "../stereo/problem.lua"))()

local WARP, TURN, LABELS = 32, 12, 128
local MOST_SHARED = 49152 -- bytes every launch may have

-- Launches ----------------------------------------------------------------------------------------

--- What combinations that cannot be stand for, by the rules in kernel.cu.
local function possible(values)
  local per_lane, rows = values.disparities_per_lane, values.rows
  if values.lanes * per_lane > LABELS then per_lane = 4 end
  if rows * per_lane > 18 then rows = 1 end
  local in_shared = values.ring_in == "SHARED" or rows * per_lane > 12
  return { lanes = values.lanes, per_lane = per_lane, rows = rows, in_shared = in_shared,
           products = values.squares == "products" }
end

--- Pixels of a block's tile along x.
local function tile_of(p, warps, turns)
  return warps * (WARP // p.lanes) * TURN * (turns - 1)
end

--- Bytes of shared memory, by the layout in kernel.cu.
local function shared(p, c, warps, turns)
  local way = p.lanes * p.per_lane
  local reach = (c.max_disparity // way + 1) * way
  local tile = tile_of(p, warps, turns)
  local columns = tile + TURN
  local both = 2 * columns + reach
  local slots = both + (p.per_lane % 2 == 0 and both // p.per_lane or 0)
  local bytes = 16 * p.rows * slots + 2 * 4 * p.rows * tile
  if p.products then bytes = bytes + 4 * p.rows * both end
  if p.in_shared then bytes = bytes + 4 * p.rows * p.per_lane * TURN * WARP * warps end
  return bytes
end

--- Warps and turns: those asked for, or as many as the shared memory of every launch holds.
local function shape(p, c, warps, turns)
  while warps > 1 and shared(p, c, warps, turns) > MOST_SHARED do warps = warps // 2 end
  while turns > 2 and shared(p, c, warps, turns) > MOST_SHARED do turns = turns - 1 end
  return warps, turns
end

--- The faithful problem's values for these: its defaults, but for how textures are read.
local function faithful_values(values)
  local all = { GPtexturereadmode = "ElementType", OUT_TYPE = values.OUT_TYPE }
  for _, parameter in ipairs(faithful.parameters) do
    if all[parameter.name] == nil then all[parameter.name] = parameter.default end
  end
  return all
end

local function launch(c, values)
  local launched = faithful.launch(c, faithful_values(values)) -- output, answers, textures
  local p = possible(values)
  local warps, turns = shape(p, c, values.warps, values.turns)
  local tile = tile_of(p, warps, turns)
  return {
    grid = { (c.width + tile - 1) // tile, (c.height + p.rows - 1) // p.rows },
    block = WARP * warps,
    shared = shared(p, c, warps, turns),
    args = { c.output, c.left, c.right, { "i32", c.width }, { "i32", c.height },
             { "i32", c.max_disparity }, { "i32", turns } },
    constants = launched.constants,
    textures = launched.textures,
  }
end

-- The problem -------------------------------------------------------------------------------------

--- A parameter of the faithful problem, the same here.
local function same(name)
  for _, parameter in ipairs(faithful.parameters) do
    if parameter.name == name then return parameter end
  end
  error("stereo_wide: ../stereo/problem.lua has no parameter " .. name)
end

return {
  name = "stereo_wide",
  title = "Disparities of a stereo pair by sums that slide along the row",
  paper = faithful.paper,
  source = "kernel.cu",
  kernel = faithful.kernel,
  reference = "../stereo/reference.c",
  grammar = {
    open_loops = false, pragmas = true, restricts = true,
    launch_bounds = true, launch_bounds_threads = "256",
  },
  parameters = {
    { name = "lanes", default = 32, values = { 8, 16, 32 },
      doc = "neighbouring threads that share the disparities of a pixel" },
    { name = "disparities_per_lane", default = 1, values = { 1, 2, 3, 4, 5, 6, 7, 9 },
      doc = "disparities of a thread" },
    { name = "rows", default = 1, values = { 1, 2, 3 }, doc = "rows a thread works on at a time" },
    { name = "turns", default = 4, values = { 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 21, 28 },
      in_source = false, doc = "a strip is 12 * (turns - 1) pixels wide" },
    { name = "warps", default = 4, values = { 1, 2, 4, 8 }, in_source = false,
      doc = "warps a block, or as many as its shared memory holds" },
    { name = "packs", default = 1, values = { 1, 2, 4, 8 },
      doc = "columns whose pixels a thread asks for at a time" },
    { name = "squares", default = "differences", values = { "differences", "products" },
      doc = "the sum of (left - right)^2 as it stands, or by products of left and right" },
    { name = "ring_in", default = "LOCAL", values = { "LOCAL", "SHARED" },
      doc = "where the columns are kept that a window will lose" },
    { name = "reduces", switch = true, value = "1",
      doc = "the least of 32 lanes by one instruction, not by shuffles" },
    same "OUT_TYPE",
    { name = "textures", switch = true, value = "1",
      doc = "images are read through textures, not by plain loads" },
  },
  tolerance = faithful.tolerance,
  checked_case = { seed = 1, width = 75, height = 12, max_disparity = 40 }, -- two ways of 32
  prepare = faithful.prepare,
  case = faithful.case,
  launch = launch,
}
