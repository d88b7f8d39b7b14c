--- Histograms of the tiles of an image as a problem: cases for kernel.cu, and how to launch it.
--
--   { seed = 7 }                                     1000 x 800 pixels in tiles of 64 x 64
--   { seed = 7, width = 33, height = 9, side = 8 }   side: of a tile, a multiple of 4

local gi = require "gilua"

local BINS = 256
local MOST = 16384 -- pixels along each axis
local FIELDS = { { "width", 1000, 1, MOST }, { "height", 800, 1, MOST }, { "side", 64, 4, 1024 } }

local function checked(spec)
  local s = gi.settings.spec("histogram", spec, FIELDS)
  if s.side % 4 ~= 0 then gi.fail("histogram: side must be a multiple of 4, not %d", s.side) end
  return s
end

local function case(problem, spec)
  local s = checked(spec)
  local pitch = (s.width + 3) // 4 * 4
  local across, down = (s.width + s.side - 1) // s.side, (s.height + s.side - 1) // s.side
  local image = gi.array("u8", s.height, pitch)
  local expected = gi.array("i32", across * down, BINS)
  local size = { { "i64", s.width }, { "i64", s.height }, { "i64", pitch } }
  problem.lib:call("histogram_image", { { "i64", s.seed }, size[1], size[2], size[3], image })
  problem.lib:call("histogram_counts",
    { image, size[1], size[2], size[3], { "i64", s.side }, expected })
  return {
    name = ("%dx%d in tiles of %d, seed %d"):format(s.width, s.height, s.side, s.seed),
    answers = across * down * BINS, expected = expected,
    output = gi.array("i32", across * down, BINS), compare = { limit = 0 },
    image = image, width = s.width, height = s.height, pitch = pitch, side = s.side,
    across = across, down = down,
  }
end

local function launch(c, values)
  return {
    grid = { c.across, c.down },
    block = values.block_size,
    args = { c.output, c.image, { "i32", c.width }, { "i32", c.height }, { "i32", c.pitch },
             { "i32", c.side } },
  }
end

local BLOCKS = { 32, 64, 128, 192, 256, 384, 512, 768, 1024 }

return {
  name = "histogram",
  title = "Histograms of the tiles of an image, with atomics",
  source = "kernel.cu",
  kernel = "tile_histograms",
  reference = "reference.c",
  grammar = {
    open_loops = true, -- how the pixels are shared out is in the loops' headers
    pragmas = true, restricts = true, consts = true, volatiles = false,
    launch_bounds = true, launch_bounds_threads = "block_size",
  },
  parameters = {
    { name = "block_size", default = 256, values = BLOCKS, doc = "threads a block" },
    { name = "copies", default = 1, values = { 1, 2, 4, 8 },
      doc = "histograms in shared memory that share the work" },
    { name = "globalBins", switch = true, doc = "counts in the result, with global atomics" },
    { name = "fourPixels", switch = true, doc = "a thread reads four neighbours at once" },
    { name = "runs", switch = true, doc = "equal neighbours are added up, then counted" },
    { name = "padded", switch = true, doc = "the copies begin in different banks" },
  },
  tolerance = { max_error = 0, wrong_above = 0 }, -- counts are whole numbers
  checked_case = { seed = 1, width = 50, height = 37, side = 24 },
  case = case,
  launch = launch,
}
