--- NiftyReg's spline kernel as a problem: how to make cases for kernel.cu and how to launch it.
--
-- A case is an active list (the groups of 1x5x5 voxels that hold a voxel of the region of interest)
-- and a random smooth displacement of the control points; the answers expected of the kernel come
-- from reference.c. The region is the paper's random squashed ball, or any NIfTI image:
--
--   { seed = 7 }                              the ball of section 4.1 in a cube of side 217
--   { seed = 7, side = 40 }                   a small one
--   { seed = 7, image = "brain" }             the skull-stripped head of Debian's mricron-data
--   { seed = 7, image = path, threshold = 0 } the voxels above the threshold
--
-- image_seed: of the ball, when it is to stay the same while the displacements change with seed.
-- rms: size of the displacements in voxels. bspline = false: the interpolating cubic instead.

local gi = require "gilua"

local SPACING = 5             -- voxels from one control point to the next
local GROUP = SPACING * SPACING -- answers of a group
local BRAIN = "/usr/share/mricron/templates/ch2bet.nii.gz"

local SPEC = { seed = true, side = true, image = true, threshold = true, image_seed = true,
               rms = true, bspline = true }

-- Regions ---------------------------------------------------------------------------------------

--- The image of a ball, and its name.
local function ball(problem, side, seed)
  local image = gi.array("f32", side, side, side)
  problem.lib:call("niftyreg_ball", { { "i64", seed }, { "i64", side }, image })
  return image, ("ball %d"):format(side)
end

--- The voxels of an image file, and its name; or nil, message, code.
local function voxels_of(path)
  if path == "brain" then path = os.getenv("GILUA_BRAIN") or BRAIN end
  local image, message, code = gi.nifti.read(path)
  if image then return image.data, path:match("[^/]*$") end
  if path == BRAIN then
    message = message .. " - the brain comes with Debian's mricron-data (apt-get install it), "
      .. "or let GILUA_BRAIN name another image, or use the ball { side = 217 }"
  end
  return nil, message, code
end

--- Sizes of the volume along x, y, z; or nil, message, code when there is more than one.
local function volume_size(image)
  local shape = { image:shape() } -- slowest first
  local n = #shape
  for i = 1, n - 3 do
    if shape[i] > 1 then
      return nil, ("a 3-D image is needed, this one has %d dimensions"):format(n), "format"
    end
  end
  return shape[n], shape[n - 1] or 1, shape[n - 2] or 1
end

--- The active list of an image: a table that cases share; or nil, message, code.
local function region_of(problem, image, name, threshold)
  local nx, ny, nz = volume_size(image)
  if not nx then return nil, name .. ": " .. ny, nz end
  local type = image:dtype()
  local active = "niftyreg_active_" .. type
  local size = { { "i64", nx }, { "i64", ny }, { "i64", nz } }
  local function list(groups, capacity)
    return problem.lib:call(active, { image, size[1], size[2], size[3], { "f64", threshold },
                                      groups, { "i64", capacity } }, "i64")
  end

  local n = list(gi.array("i32", 1), 0)
  if n < 0 then return nil, name .. ": more voxels than a 32-bit index can name", "format" end
  if n == 0 then return nil, ("%s: no voxel is above %g"):format(name, threshold), "format" end
  local groups = gi.array("i32", n)
  list(groups, n)
  local voxels = problem.lib:call("niftyreg_voxels_" .. type,
    { image, { "i64", nx * ny * nz }, { "f64", threshold } }, "i64")
  return { name = name, size = { nx, ny, nz }, groups = groups, voxels = voxels,
           output = gi.array("f32", n, GROUP, 4) }
end

--- The region of a spec. The last one is kept: cases of one image differ in their seed only.
local function region(problem, spec)
  local threshold = spec.threshold or 0
  local key = spec.image and ("%s %g"):format(spec.image, threshold)
    or ("ball %d %d %g"):format(spec.side or 217, spec.image_seed or spec.seed, threshold)
  local kept = problem.region
  if kept and kept.key == key then return kept end

  local image, name, code
  if spec.image then
    image, name, code = voxels_of(spec.image)
  else
    image, name = ball(problem, spec.side or 217, spec.image_seed or spec.seed)
  end
  if not image then return nil, name, code end
  local made, message, why = region_of(problem, image, name, threshold)
  if not made then return nil, message, why end
  made.key = key
  problem.region = made
  return made
end

-- Cases -----------------------------------------------------------------------------------------

--- Control points along an axis of n voxels: one before the image, two after it.
local function points(n)
  return (n + SPACING - 1) // SPACING + 3
end

local function check_spec(spec)
  for name in pairs(spec) do
    if not SPEC[name] then
      gi.fail("niftyreg: a case has no field '%s'%s", name, gi.settings.meant(name, SPEC))
    end
  end
  local side = spec.side or 217
  if math.type(spec.seed) ~= "integer" then gi.fail("niftyreg: a case needs an integer seed") end
  if math.type(side) ~= "integer" or side < 8 or side > 1024 then
    gi.fail("niftyreg: side must be a whole number from 8 to 1024, not %s", side)
  end
end

--- Random displacements of the control points, the weights, and the answers expected of the kernel.
local function case(problem, spec)
  check_spec(spec)
  local r, message, code = region(problem, spec)
  if not r then return nil, message, code end
  local nx, ny, nz = table.unpack(r.size)
  local gx, gy, gz = points(nx), points(ny), points(nz)
  local bspline = { "i32", spec.bspline == false and 0 or 1 }
  local control = gi.array("f32", gz, gy, gx, 4)
  local basis, basis_a = gi.array("f32", SPACING, 4), gi.array("f32", 4, SPACING)
  local n = #r.groups
  local expected = gi.array("f32", n, GROUP, 4)

  local lib = problem.lib
  lib:call("niftyreg_basis", { bspline, basis, basis_a })
  -- seeds are hashed by the generator, so the ball's and the field's streams must not be equal
  local made = lib:call("niftyreg_control", { { "i64", ~spec.seed }, { "i64", gx }, { "i64", gy },
    { "i64", gz }, { "f64", spec.rms or 3 }, control }, "u8")
  if made == 0 then return nil, "no memory for the control points", "nomem" end
  lib:call("niftyreg_deform", { r.groups, { "i64", n }, { "i64", nx }, { "i64", ny }, { "i64", nz },
    control, bspline, expected })

  return {
    name = ("%s, seed %d"):format(r.name, spec.seed), answers = n * GROUP, voxels = r.voxels,
    expected = expected, output = r.output, compare = { width = 4, used = 3, limit = 0.1 },
    groups = r.groups, control = control, basis = basis, basis_a = basis_a, use_bspline = bspline,
    image_size = gi.array.from({ nx, ny, nz }, "i32"),
    grid_size = gi.array.from({ gx, gy, gz }, "i32"),
    volume = { nx, ny, nz }, positions = r.groups, box = { 1, SPACING, SPACING },
  }
end

--- Seconds the reference takes for a spec's case with so many threads, the least of five; or nil,
--- message.
local function reference_time(problem, spec, threads)
  local c, why = case(problem, spec)
  if not c then return nil, why end
  local nx, ny, nz = table.unpack(region(problem, spec).size)
  local out, best = gi.array("f32", #c.groups, GROUP, 4), math.huge
  for _ = 1, 5 do
    local s = problem.lib:call("niftyreg_deform_threads", { c.groups, { "i64", #c.groups },
      { "i64", nx }, { "i64", ny }, { "i64", nz }, c.control, c.use_bspline,
      { "i64", math.min(threads, 1024) }, out }, "f64")
    if s < 0 then return nil, ("%d threads could not be started"):format(threads) end
    best = math.min(best, s)
  end
  return best
end

-- Launches --------------------------------------------------------------------------------------

--- A warp for every group; 16 float4 of shared memory a warp.
local function launch(c, values)
  local block = values.block_size
  local warps = block // 32
  return {
    grid = (#c.groups + warps - 1) // warps,
    block = block,
    shared = 16 * 16 * warps,
    args = { c.output },
    constants = {
      c_ActiveVoxelNumber = { "i32", #c.groups },
      c_ImageSize = c.image_size,
      c_ControlPointGrid = c.grid_size,
      givenUseBSpline = c.use_bspline,
      givenSpacing = { "i32", SPACING },
      c_Basis = c.basis,
      c_BasisA = c.basis_a,
      activeVoxelTexture = { texture = "active" },
      controlPointTexture = { texture = "control" },
      basisTexture = { texture = "basis" },
      basisTextureA = { texture = "basis_a" },
    },
    textures = {
      active = { array = c.groups, kind = "linear", channels = 1 },
      control = { array = c.control, kind = "linear", channels = 4 },
      basis = { array = c.basis, kind = "linear", channels = 1 },
      basis_a = { array = c.basis_a, kind = "linear", channels = 1 },
    },
  }
end

-- The problem -----------------------------------------------------------------------------------

local function multiples_of_32()
  local sizes = {}
  for i = 1, 32 do sizes[i] = 32 * i end
  return sizes
end

-- Section 4.3's last step, as far as NVRTC has it. A virtual architecture leaves the machine code
-- to the driver; the virtual GPU runs PTX and ignores options of ptxas. (NVRTC's own
-- --maxrregcount changes the PTX as well.)
local PTXAS = {
  default = {}, O1 = { "--ptxas-options=-O1" }, O2 = { "--ptxas-options=-O2" },
  dlcm_ca = { "--ptxas-options=-dlcm=ca" }, dlcm_cg = { "--ptxas-options=-dlcm=cg" },
  registers_24 = { "--ptxas-options=-maxrregcount=24" },
  registers_32 = { "--ptxas-options=-maxrregcount=32" },
  registers_40 = { "--ptxas-options=-maxrregcount=40" },
  registers_64 = { "--ptxas-options=-maxrregcount=64" },
}

local function compile(values)
  local options = PTXAS[values.ptxas]
  if not options then
    gi.fail("niftyreg: there is no ptxas=%s; kernels/niftyreg/problem.lua lists what there is",
      values.ptxas)
  end
  return options, values.arch ~= "default" and values.arch or nil
end

local function switch(name, value, doc)
  return { name = name, switch = true, value = value, doc = doc }
end

return {
  name = "niftyreg",
  title = "Cubic B-spline deformation of a 3-D image (NiftyReg)",
  paper = "Langdon, Modat, Petke, Harman: Improving 3D Medical Image Registration CUDA Software "
    .. "with Genetic Programming, GECCO 2014",
  source = "kernel.cu",
  kernel = "spline_deformation",
  reference = "reference.c",
  grammar = {
    open_loops = false, -- section 3.4: loop headers and loop variables are protected
    pragmas = true, restricts = true, consts = false, volatiles = false,
    launch_bounds = true, launch_bounds_threads = "block_size",
  },
  parameters = {
    { name = "block_size", default = 192, values = multiples_of_32(),
      doc = "threads a block (4.2)" },
    { name = "ptxas", default = "default", in_source = false,
      values = { "default", "O1", "O2", "dlcm_ca", "dlcm_cg", "registers_24", "registers_32",
                 "registers_40", "registers_64" },
      doc = "options of the assembler (4.3)" },
    { name = "arch", default = "default", in_source = false,
      values = { "default", "compute_75", "compute_80", "compute_86", "compute_90" },
      doc = "-arch: a virtual architecture in place of the GPU's own (4.3)" },
    switch("c_UseBSpline", "1", "the kind of spline is known to the compiler (3.1.1)"),
    switch("c_controlPointVoxelSpacing", "5", "their spacing is known to the compiler (3.1.1)"),
    switch("constantBasis", "1", "weights are read from constant memory, not a texture (3.1.2)"),
    switch("BasisA", "1", "the tables of weights are indexed the other way round (3.1.2)"),
    switch("directxBasis", "1", "the weights along x are looked up, not calculated (3.1.2)"),
    switch("RemX", "1", "x % 5 is calculated once and kept (3.1.2)"),
  },
  tolerance = { max_error = 0.001, wrong_above = 0.1 }, -- section 3.8
  checked_case = { side = 20, seed = 1 },
  case = case,
  launch = launch,
  compile = compile,
  reference_time = reference_time,
}
