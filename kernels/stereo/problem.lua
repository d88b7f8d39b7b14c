--- Stereo matching as a problem: how to make pairs for kernel.cu and how to launch it.
--
--   { seed = 7 }                             a made-up scene of 320 x 240, its depth known
--   { seed = 7, width = 640, height = 480 }  noise = 2 (grey levels), exposure = 1.03 (the right's)
--   { image = "aloe" }                       the pair of Debian's opencv-doc, a quarter of its size
--   { image = "aloe", scale = 2 }            1, 2, 4 or 8: one n-th of it
--   { left = path, right = path }            PGM or PNG
--   { folder = path, seed = 7 }              one pair of equal names in path/left and path/right
--
-- All take max_disparity = 50 (1 to 128). Real pairs accept a seed, and but for folders ignore it.

local gi = require "gilua"
local lfs = require "lfs"

local RADIUS = 5 -- as in kernel.cu
local MOST_PIXELS = 1 << 28

-- Pairs of files ----------------------------------------------------------------------------------

--- A picture as bytes; or nil, message, code.
local function bytes_of(problem, path)
  local image, maxval, code = gi.image.read(path)
  if not image then return nil, maxval, code end
  if maxval == 255 then return image end
  local bytes = gi.array("u8", image:shape())
  problem.lib:call(image:dtype() == "u16" and "stereo_bytes" or "stereo_stretch",
    { image, { "i64", #image }, { "i64", maxval }, bytes })
  return bytes
end

--- Both pictures of a pair, of one size; or nil, message, code.
local function read_pair(problem, left_path, right_path)
  local left, why, code = bytes_of(problem, left_path)
  if not left then return nil, why, code end
  local right, why_right, code_right = bytes_of(problem, right_path)
  if not right then return nil, why_right, code_right end
  local height, width = left:shape()
  local other_height, other_width = right:shape()
  if height ~= other_height or width ~= other_width then
    return nil, ("%s is %d x %d and %s %d x %d: the pictures of a pair must be of one size"):format(
      left_path, width, height, right_path, other_width, other_height), "format"
  end
  return { left = left, right = right, name = left_path:match("[^/]*$") }
end

--- A JPEG as the text of a grey map of 1/scale of its size, by djpeg; or nil, message, code.
local function decoded(path, scale)
  if lfs.attributes(path, "mode") ~= "file" then
    return nil, ("there is no %s beside the left picture of the pair"):format(path), "io"
  end
  local pipe <close> = io.popen(("djpeg -grayscale -pnm -scale 1/%d %s 2>/dev/null"):format(scale,
    gi.shell.quoted(path)), "r")
  local map = pipe and pipe:read "a" or ""
  if #map > 0 then return map end
  return nil, ("djpeg cannot decode %s: it is in Debian's libjpeg-turbo-progs (apt-get install it)")
    :format(path), "io"
end

--- The Aloe pair as two grey maps; or nil, message, code.
local function decoded_aloe(scale)
  local left, absent, io = gi.samples.path "aloe"
  if not left then return nil, absent, io end
  local right, found = left:gsub("L(%.%w+)$", "R%1")
  if found == 0 then
    return nil, ("the left picture of the pair must be named …L.jpg, not %s"):format(left), "io"
  end
  local left_map, why, code = decoded(left, scale)
  if not left_map then return nil, why, code end
  local right_map, why_right, code_right = decoded(right, scale)
  if not right_map then return nil, why_right, code_right end
  return { left = left_map, right = right_map }
end

--- Text as a file of its own, while `use` has its name.
local function with_file(text, use)
  local path <close> = setmetatable({ name = os.tmpname() },
    { __close = function(self) os.remove(self.name) end })
  local f <close> = assert(io.open(path.name, "wb"))
  f:write(text):flush()
  return use(path.name)
end

local function aloe(problem, s)
  local maps, why, code = s.decoded, nil, nil
  if not maps then maps, why, code = decoded_aloe(s.scale) end
  if not maps then return nil, why, code end
  local pair
  pair, why, code = with_file(maps.left, function(left)
    return with_file(maps.right, function(right) return read_pair(problem, left, right) end)
  end)
  if not pair then return nil, why, code end
  pair.name = ("aloe 1/%d"):format(s.scale)
  return pair
end

--- The names of the pictures in a folder, in order; or nil, message, code.
local function pictures_in(folder)
  if lfs.attributes(folder, "mode") ~= "directory" then
    return nil, ("%s is not a folder: one with pairs has folders left and right"):format(folder),
      "io"
  end
  local names = {}
  for name in lfs.dir(folder) do
    if name:match("%.pgm$") or name:match("%.png$") then names[#names + 1] = name end
  end
  if #names == 0 then return nil, ("there is no .pgm or .png in %s"):format(folder), "io" end
  table.sort(names)
  return names
end

local function from_folder(problem, folder, seed)
  local names, why, code = pictures_in(folder .. "/left")
  if not names then return nil, why, code end
  local name = names[seed % #names + 1]
  return read_pair(problem, folder .. "/left/" .. name, folder .. "/right/" .. name)
end

-- Scenes ------------------------------------------------------------------------------------------

--- A made-up pair, with the depth of every pixel of the left one, and whether the right shows it.
local function scene(problem, s)
  local height, width = s.height, s.width
  local pair = {
    left = gi.array("u8", height, width), right = gi.array("u8", height, width),
    depth = gi.array("f32", height, width), seen = gi.array("u8", height, width),
    name = ("%dx%d, seed %d"):format(width, height, s.seed),
  }
  problem.lib:call("stereo_scene", { { "i64", s.seed }, { "i64", width }, { "i64", height },
    { "f64", s.max_disparity }, { "f64", s.noise }, { "f64", s.exposure },
    pair.left, pair.right, pair.depth, pair.seen })
  return pair
end

-- Cases -------------------------------------------------------------------------------------------

-- name, default, least, most; and for which kind of pair
local NUMBERS = {
  { "max_disparity", 50, 1, 128, whole = true },
  { "width", 320, 1, 16384, whole = true, kind = "scene" },
  { "height", 240, 1, 16384, whole = true, kind = "scene" },
  { "noise", 2, 0, 100, kind = "scene" },
  { "exposure", 1.03, 0.1, 10, kind = "scene" },
  { "scale", 4, 1, 8, whole = true, kind = "image" },
}

--- "scene", "image", "files" or "folder": what a spec asks for.
local function kind_of(spec)
  if spec.image ~= nil then return "image" end
  if spec.left ~= nil or spec.right ~= nil then return "files" end
  return spec.folder ~= nil and "folder" or "scene"
end

local function check_number(s, field)
  local name, _, least, most = table.unpack(field)
  local value = s[name]
  local fine = field.whole and math.type(value) == "integer"
    or not field.whole and type(value) == "number"
  if not fine or not (value >= least and value <= most) then
    gi.fail("stereo: %s must be a %snumber from %g to %g, not %s", name,
      field.whole and "whole " or "", least, most, value)
  end
end

local function check_texts(s, kind)
  local needed = { files = { "left", "right" }, folder = { "folder" }, image = { "image" } }
  for _, name in ipairs(needed[kind] or {}) do
    if type(s[name]) ~= "string" then
      gi.fail("stereo: a case with a pair of files needs '%s', the name of one", name)
    end
  end
  if kind == "image" and s.image ~= "aloe" then
    gi.fail("stereo: image can be 'aloe', not '%s'; { left = path, right = path } names files",
      s.image)
  end
end

--- The spec, complete and checked.
local function checked(spec)
  local kind = kind_of(spec)
  local defaults = {}
  for _, field in ipairs(NUMBERS) do
    if not field.kind or field.kind == kind then defaults[field[1]] = field[2] end
  end
  local s = gi.settings.fill("stereo: case", spec, defaults,
    { "seed", "image", "decoded", "left", "right", "folder" })
  for _, field in ipairs(NUMBERS) do
    if defaults[field[1]] then check_number(s, field) end
  end
  check_texts(s, kind)
  local needs_seed = kind == "scene" or kind == "folder"
  if (needs_seed or s.seed ~= nil) and math.type(s.seed) ~= "integer" then
    gi.fail("stereo: a case needs an integer seed")
  end
  if kind == "image" and 8 % s.scale ~= 0 then
    gi.fail("stereo: scale must be 1, 2, 4 or 8, not %d", s.scale)
  end
  return s, kind
end

local function pair_of(problem, s, kind)
  if kind == "image" then return aloe(problem, s) end
  if kind == "files" then return read_pair(problem, s.left, s.right) end
  if kind == "folder" then return from_folder(problem, s.folder, s.seed) end
  return scene(problem, s)
end

--- What a wrong disparity costs (8.14.5.3): nothing where there is no match, -1, which is 255 as a
--- byte. Bytes hold every disparity up to 128, and the sentinel, 171, is none of them.
local function comparison(type, most)
  return { limit = 0.5, penalty = { ignore = type == "u8" and 255 or -1, unset = 200,
                                    outside = 100, low = 0, high = most } }
end

--- The answers, in each of the types that OUT_TYPE may choose; false without memory.
local function add_answers(problem, c)
  local height, width = c.height, c.width
  for _, type in ipairs { "f32", "i32", "i16", "u8" } do
    c["expected_" .. type] = gi.array(type, height, width)
    c["output_" .. type] = gi.array(type, height, width)
  end
  local made = problem.lib:call("stereo_match", { c.left, c.right, { "i64", width },
    { "i64", height }, { "i64", c.max_disparity }, c.expected_f32 }, "u8")
  if made == 0 then return false end
  problem.lib:call("stereo_convert", { c.expected_f32, { "i64", width * height },
    c.expected_i32, c.expected_i16, c.expected_u8 })
  c.expected, c.output = c.expected_f32, c.output_f32
  return true
end

local function case(problem, spec)
  local s, kind = checked(spec)
  local pair, why, code = pair_of(problem, s, kind)
  if not pair then return nil, why, code end
  local height, width = pair.left:shape()
  if height * width > MOST_PIXELS then
    return nil, ("%s: %d x %d pixels are more than an index in 32 bits is good for"):format(
      pair.name, width, height), "format"
  end
  local c = {
    name = ("%s, disparities to %d"):format(pair.name, s.max_disparity),
    answers = width * height, compare = comparison("f32", s.max_disparity),
    width = width, height = height, max_disparity = s.max_disparity,
    left = pair.left, right = pair.right, depth = pair.depth, seen = pair.seen,
    work = gi.array("i32", height, width),
    size = ("%dx%d"):format(width, height),
    group = kind == "scene" and "made-up pairs" or "real pairs",
  }
  if not add_answers(problem, c) then return nil, "no memory for the disparities", "nomem" end
  return c
end

--- Workers start no programs: the JPEGs are decoded before.
local function prepare(_, spec)
  local s, kind = checked(spec)
  if kind ~= "image" then return spec end
  local maps, why, code = decoded_aloe(s.scale)
  if not maps then return nil, why, code end
  return { image = "aloe", scale = s.scale, max_disparity = s.max_disparity, decoded = maps }
end

-- Launches ----------------------------------------------------------------------------------------

local OUTPUT = { float = "f32", int = "i32", short = "i16", uchar = "u8" }
local CACHE = { None = false, Shared = "shared", L1 = "l1", Equal = "equal" }

--- Threads a block and pixels a tile is wide, as kernel.cu works them out.
local function geometry(values)
  local block_w = values.BLOCK_W
  local groups = block_w * values.DPER <= 1024 and values.DPER or 1
  local halo = values.XHALO and block_w > 2 * RADIUS
  return block_w * groups, halo and block_w - 2 * RADIUS or block_w
end

--- What the textures are told. The hardware filters only what it reads as floats, and mirrors and
--- wraps only normalised coordinates: else Point and Clamp.
local function texture_options(values)
  local element = values.GPtexturereadmode == "ElementType"
  local normalized = values.texturenormalized == 1
  return {
    read = element and "element" or "normalized",
    filter = not element and values.texturefilterMode == "Linear" and "linear" or "point",
    address = normalized and values.textureaddressMode:lower() or "clamp",
    coords = normalized and "normalized" or "texel",
  }
end

local function texture(image, c, options)
  local t = { array = image, kind = "array", channels = 1, size = { c.width, c.height } }
  for name, value in pairs(options) do t[name] = value end
  return t
end

local function launch(c, values)
  local threads, tile_w = geometry(values)
  local rows = values.ROWSperTHREAD
  local kind = OUTPUT[values.OUT_TYPE]
  c.output, c.expected = c["output_" .. kind], c["expected_" .. kind]
  c.compare = comparison(kind, c.max_disparity)
  local options = texture_options(values)
  return {
    grid = { (c.width + tile_w - 1) // tile_w, (c.height + rows - 1) // rows },
    block = threads,
    args = { c.output, c.work, c.left, c.right, { "i32", c.width }, { "i32", c.width },
             { "i32", c.height }, { "i32", c.max_disparity } },
    scratch = { c.work },
    cache = CACHE[values.cache_preference] or nil,
    constants = { leftTexture = { texture = "left" }, rightTexture = { texture = "right" } },
    textures = { left = texture(c.left, c, options), right = texture(c.right, c, options) },
  }
end

--- The assembler's -dlcm. The virtual GPU runs PTX and knows nothing of it.
local function compile(values)
  if values.dlcm == "default" then return {} end
  return { "--ptxas-options=-dlcm=" .. values.dlcm }
end

-- The problem -------------------------------------------------------------------------------------

local function rows_per_thread()
  local rows = {}
  for i = 1, 18 do rows[i] = i end
  for _, n in ipairs { 20, 21, 24, 26, 30, 34, 40, 48, 60, 80, 120, 240 } do rows[#rows + 1] = n end
  return rows
end

return {
  name = "stereo",
  title = "Disparities of a stereo pair by 11 x 11 sums of squared differences (StereoCamera)",
  paper = "Langdon: Genetically Improved Software, Handbook of Genetic Programming Applications, "
    .. "2015; Langdon, Harman: Genetically Improved CUDA Software, EuroGP 2014",
  source = "kernel.cu",
  kernel = "stereo_disparity",
  reference = "reference.c",
  grammar = {
    open_loops = true, pragmas = true, volatiles = true, consts = true, restricts = true,
    launch_bounds = true, launch_bounds_threads = "BLOCK_W * GROUPS",
  },
  parameters = {
    { name = "cache_preference", default = "None", values = { "None", "Shared", "L1", "Equal" },
      in_source = false, doc = "L1 cache or shared memory (Table 8.1)" },
    { name = "dlcm", default = "default", values = { "default", "ca", "cg", "cs", "cv" },
      in_source = false, doc = "-Xptxas -dlcm: how loads are cached (Table 8.1)" },
    { name = "OUT_TYPE", default = "float", values = { "float", "int", "short", "uchar" },
      doc = "what a disparity is stored as (8.13.1.1)" },
    { name = "STORE_disparityPixel", default = "GLOBAL", values = { "GLOBAL", "SHARED", "LOCAL" },
      doc = "where the best disparities are kept (8.13.1.2)" },
    { name = "STORE_disparityMinSSD", default = "GLOBAL", values = { "GLOBAL", "SHARED", "LOCAL" },
      doc = "where their sums of squares are kept (8.13.1.2)" },
    { name = "DPER", default = 1, values = { 1, 2, 3, 4 },
      doc = "disparities worked on at a time (8.12.2)" },
    { name = "XHALO", switch = true,
      doc = "a thread for every column, those of the halo too (8.12.1)" },
    { name = "mul24", default = "__mul24", values = { "__mul24", "product" },
      doc = "multiplication in 24 bits or in 32 (8.13.1.3)" },
    { name = "GPtexturereadmode", default = "NormalizedFloat",
      values = { "NormalizedFloat", "ElementType", "None" },
      doc = "what textures give; None: images are read from memory (8.13.1.4)" },
    { name = "texturefilterMode", default = "Linear", values = { "Linear", "Point" },
      in_source = false, doc = "whether textures interpolate (8.13.1.4)" },
    { name = "textureaddressMode", default = "Clamp", values = { "Clamp", "Mirror", "Wrap" },
      doc = "what textures do outside the image (8.13.1.4)" },
    { name = "texturenormalized", default = 0, values = { 0, 1 },
      doc = "1: texture coordinates run from 0 to 1 (8.13.1.4)" },
    { name = "BLOCK_W", default = 64, values = { 8, 32, 64, 128, 192, 256, 384, 512 },
      doc = "threads side by side (8.11)" },
    { name = "ROWSperTHREAD", default = 40, values = rows_per_thread(),
      doc = "rows a thread works down (8.11)" },
  },
  tolerance = { max_error = 0.5, wrong_above = 0.5, parent_penalty = 6.0 }, -- 8.14.6
  checked_case = { seed = 1, width = 75, height = 44, max_disparity = 4 },
  loop_limit = 10 * 3567, -- ten times what a thread of the kernel takes there (8.14.5.1: 100)
  case = case,
  prepare = prepare,
  launch = launch,
  compile = compile,
}
