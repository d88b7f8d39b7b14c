--- tile: two-level tiling of a matrix product (in shared memory and in registers)
--
-- where     loops
-- needs     contraction
-- becomes   a block computes a tile of outputs, a thread several of them
-- promises  apart, contraction
--
--   for (int i_next = 0, slab = 0; i_next < k + 16; i_next += 16, slab++) {
--     __pipeline_wait_prior(0);
--     __syncthreads();
--     …                                   // copies of slab i_next of a and b begin
--     __pipeline_commit();
--     if (slab < 1) continue;
--     …                                   // products of the slab before
--   }
--
-- An operand lies in shared memory as it does in global memory, rows padded, so that copies of 16
-- bytes need no transposition. Where its rows are not aligned elements are copied one by one: the
-- code asks. What is beyond an end is zero in a slab, and no output is stored there. A sum has its
-- products in the order that it had, so that it is the same to the bit but for the sign of a zero.

local contraction = require "gilua.facts.contraction"
local operands = require "gilua.facts.operands"
local text = require "gilua.rewrite.tiletext"

-- Outputs of a block down and across, elements of a slab; outputs of a thread; slabs in shared
-- memory; t: operands along the long index are transposed. Small outputs want the first, to fill a
-- GPU, large ones the last; the sums of a convolution of 3 x 3 have multiples of 24 products.
local SCHEDULES = { "32x32x32_4x4_3", "32x64x32_4x4_2", "32x64x24_4x4_2", "32x64x32_8x4_2",
  "64x64x32_8x4_2", "64x64x24_8x4_2", "32x128x32_8x4_2t", "32x128x16_8x4_3", "64x128x16_8x8_3",
  "128x128x16_8x8_2t" }

local MOST_BYTES = 48 * 1024 -- of shared memory that a source may declare
local RESIDENT = 512 -- threads with 128 registers that have all of a multiprocessor
local PAD = 16 -- bytes by which rows along the long index are longer

--- Reads a schedule from its text; returns nil where the text is not one.
local function read_schedule(word)
  local o, list = {}, {}
  for n in word:gmatch "%d+" do list[#list + 1] = math.tointeger(tonumber(n)) end
  o.down, o.across, o.slab, o.rows, o.columns, o.stages = table.unpack(list)
  if not o.stages then return nil end
  o.is_turned = word:find "t$" ~= nil
  local same = ("%dx%dx%d_%dx%d_%d%s"):format(o.down, o.across, o.slab, o.rows, o.columns, o.stages,
    o.is_turned and "t" or "")
  return same == word and o or nil
end

-- How an operand lies in shared memory: { extents, along the long index?, bytes, count of elements
-- in 16 bytes }; nil where its elements cannot be shared out evenly.
local function layout_of(found, one, o)
  local length = one.index == "down" and o.down or o.across
  local bytes = operands.BYTES[one.type]
  local is_long = found.variables[one.along] ~= nil
  local is_turned = is_long and o.is_turned and one.wide ~= nil
  local minor, major = length, o.slab
  if is_long then minor, major = o.slab, length end
  local count = 16 // bytes
  local each = one.wide and count or 1
  if minor % count ~= 0 or major * minor % (o.threads * each) ~= 0 then return nil end
  local rows, row = major, minor + (is_long and PAD // bytes or 0)
  if is_turned then rows, row = minor, major + PAD // bytes end
  return { major = major, minor = minor, is_long = is_long, is_turned = is_turned,
    is_row = is_long and not is_turned, count = count, bytes = bytes,
    vector = operands.VECTORS[one.type], one = one,
    extents = ("[%d][%d][%d]"):format(o.stages, rows, row), total = o.stages * rows * row * bytes }
end

-- Is a schedule one that this contraction can have? It gets threads and layouts.
local function fits(at)
  local o = read_schedule(at[1])
  local is_even = o and o.down > 0 and o.rows > 0 and o.columns > 0 and o.stages > 1
    and o.down % o.rows == 0 and o.across % o.columns == 0
  if not is_even then return nil, "the parts of a thread do not make up those of a block" end
  if o.is_turned and next(at.found.slopes) then
    return nil, "slabs that a triangle's side cuts come element by element"
  end
  o.wide, o.high = o.across // o.columns, o.down // o.rows
  o.threads = o.wide * o.high
  if o.threads % 32 ~= 0 or o.threads > 1024 then return nil, "its blocks have no whole warps" end
  local total = 0
  for _, which in ipairs { "down", "across" } do
    o[which .. "_layout"] = layout_of(at.found, at.found.operands[which], o)
    if not o[which .. "_layout"] then return nil, "its threads cannot share a slab evenly" end
    total = total + o[which .. "_layout"].total
  end
  if total > MOST_BYTES then return nil, "it is too much memory" end
  return o
end

-- Is a side of the grid that nothing bounds, where it is known, no multiple of a tile's side?
local function leaves_rest(at, index, length)
  local ask = at.kernel.options.values
  local blocks = ask and not index.usual and ask(at.fn)["gridDim." .. index.side]
  return blocks and blocks % length ~= 0
end

local function proposed(at)
  local list, found = {}, contraction.of(at.loop)
  for _, word in ipairs(found and SCHEDULES or {}) do
    if not leaves_rest(at, found.down, read_schedule(word).down) then list[#list + 1] = { word } end
  end
  return list
end

local function read(args)
  if #args == 1 and read_schedule(args[1]) then return { args[1] } end
  return nil, "it is written tile<LINE>(128x128x8_8x8_2): outputs of a block down and across, "
    .. "elements of a slab, outputs of a thread, stages"
end

-- Tells the compiler how many threads a block has, and that of large sums a multiprocessor is to
-- hold those of so many threads.
local function bound_registers(fn, o, e)
  local words, first = fn.kernel.words, nil
  local is_large = o.rows * o.columns >= 64 and o.threads <= RESIDENT // 2
  local bounds = ("__launch_bounds__(%d%s)"):format(o.threads,
    is_large and (", %d"):format(RESIDENT // o.threads) or "")
  for i = fn.first, fn.open do
    if words[i] == "__launch_bounds__" then return e:replace(i, words.match[i + 1], bounds) end
    if words[i] == "__global__" then first = i end
  end
  e:after(first, " " .. bounds)
end

-- What becomes of the launch: blocks for the outputs along two sides; along the third each block
-- has one of what were blocks or threads.
local function launch_of(found, o)
  local words, blocks = {}, { [found.across.side] = o.across, [found.down.side] = o.down }
  local threads = { x = o.threads, y = 1, z = 1 }
  local used = { [found.across.side] = found.across, [found.down.side] = found.down }
  for _, index in ipairs(found.batch) do used[index.side] = index end
  for _, side in ipairs { "x", "y", "z" } do
    local index = used[side]
    if index and index.usual then
      words[#words + 1] = ("grid.%s@%d block.%s=%d"):format(side, blocks[side] or 1, side,
        threads[side])
    else
      if blocks[side] then
        words[#words + 1] = ("grid.%s%%%d grid.%s/%d"):format(side, o.down, side, o.down)
      end
      words[#words + 1] = ("block.%s==1"):format(side)
    end
  end
  return table.concat(words, " ")
end

local function becomes(at, e)
  local o, kernel, body = at.schedule, at.kernel, at.fn.body.body
  if not kernel.text:find("cuda_pipeline.h", 1, true) then
    e:before(1, "#include <cuda_pipeline.h>\n")
  end
  bound_registers(at.fn, o, e)
  e:replace(body[1].first, body[#body].last, text.of(at.found, o, at.names))
  return ("a block computes %d x %d outputs, a thread %d x %d of them"):format(o.down, o.across,
    o.rows, o.columns), { launch = launch_of(at.found, o) }
end

return { name = "tile", where = "loops", first = true,
  before = "axes widen coarsen merge merge_threads grid_stride warp_row stage",
  doc = "A block's tile of a product of matrices, through shared memory and registers.",
  args = proposed, read = read,
  needs = {
    { "contraction", function(at) return contraction.of(at.loop) end, gives = "found" },
    { "contraction", function(at) return contraction.is_loaded(at.found) end, promised = true },
    { "contraction", fits, gives = "schedule" },
  },
  becomes = becomes,
}
