-- disparity: the output of a stereo kernel as pictures: the left image of a pair, the disparities
-- that a genome computes, and the true ones where they are known (problem kernels/stereo). An
-- experiment's `draw` (gilua.experiment) passes them to its report.

local gi = require "gilua"

local M = {}

--- A map as float, no match -1 in it, whatever type it was stored as (255 of an unsigned byte).
---@param answers userdata
---@return userdata f32
function M.as_float(answers)
  local map, byte = gi.array("f32", answers:shape()), answers:dtype() == "u8"
  for i = 1, #answers do map[i] = byte and answers[i] == 255 and -1 or answers[i] end
  return map
end

-- In colours, near being warm; where there is no match, black.
local function coloured(map, most)
  return assert(gi.image.colour(map, { low = 0, high = most }))
end

-- The disparity, a whole number, and one; 0 where there is none. White is most + 1.
local function numbered(map, most)
  local bytes = gi.array("u8", map:shape())
  for i = 1, #map do
    local d = map[i]
    bytes[i] = d >= 0 and math.floor(math.min(most, d) + 1.5) or 0
  end
  return bytes
end

local function picture_of(name, caption, map, most)
  return { name = name, caption = caption, png = coloured(map, most), pgm = numbered(map, most),
           maxval = most + 1 }
end

--- How much of a map is within one pixel of the truth: of the pixels whose disparity is known, and
--- of those of them that `seen` marks (both images show them).
---@param map userdata f32
---@param truth userdata f32, negative where nobody knows
---@param seen? userdata u8
---@return number all
---@return number? visible nil without `seen`
function M.shares(map, truth, seen)
  local known, near, visible, both = 0, 0, 0, 0
  for i = 1, #map do
    if truth[i] >= 0 then
      local hit = map[i] >= 0 and math.abs(map[i] - truth[i]) <= 1
      known, near = known + 1, near + (hit and 1 or 0)
      if seen and seen[i] ~= 0 then visible, both = visible + 1, both + (hit and 1 or 0) end
    end
  end
  return near / math.max(1, known), seen and both / math.max(1, visible) or nil
end

local function percent(x) return ("%.1f %%"):format(100 * x) end

--- The true disparities of a made-up pair are the case's; those of Aloe are in …GT.png beside its
--- pictures, in pixels of the full size, 0 where they are not known.
---@param case table
---@param scale? integer the pair is the Aloe pair, one scale-th of its size
---@return userdata? f32, negative where nobody knows
function M.truth(case, scale)
  if case.depth or not scale then return case.depth end
  local left = gi.samples.path "aloe"
  local full = left and gi.image.read((left:gsub("L%.%w+$", "GT.png")))
  if not full then return nil end
  local truth, height, width = gi.array("f32", case.left:shape()), full:shape()
  local middle = scale // 2 + 1
  for y = 1, case.height do
    for x = 1, case.width do
      local v = full:at(math.min(height, (y - 1) * scale + middle),
        math.min(width, (x - 1) * scale + middle))
      truth[(y - 1) * case.width + x] = v > 0 and v / scale or -1
    end
  end
  return truth
end

local function words(map, truth, case)
  if not truth then return "the true disparities are not known" end
  local all, visible = M.shares(map, truth, case.seen)
  if not visible then
    return ("%s of the pixels whose disparity is known are within one pixel of it"):format(
      percent(all))
  end
  return ("%s of the pixels that both images show are within one pixel of the truth, %s of all")
    :format(percent(visible), percent(all))
end

--- A pair's pictures, computed by a genome on the farm's device; where the pair is not there, or
--- the genome does not run, a sentence in their place.
---@param farm table
---@param genome string
---@param o { name: string, title: string, spec: table }
---@return table { title, text, images? } as gilua.experiment wants it
function M.draw(farm, genome, o)
  local case, why = farm.problem:case(o.spec)
  if not case then return { title = o.title, text = why } end
  local answers, m = farm:answers(genome, o.spec)
  if not answers then
    return { title = o.title, text = ("no map: %s: %s"):format(m.status, m.message or "") }
  end
  local map, most = M.as_float(answers), case.max_disparity
  local truth = M.truth(case, o.spec.image == "aloe" and (o.spec.scale or 4) or nil)
  local images = {
    { name = o.name .. "-left", caption = "the left image", png = case.left, pgm = case.left,
      maxval = 255 },
    picture_of(o.name .. "-disparity",
      ("disparities by the winner, blue 0 to red %d, black: no match"):format(most), map, most),
  }
  if truth then
    images[3] = picture_of(o.name .. "-truth", "the true disparities, the same colours", truth,
      most)
  end
  return { title = o.title, text = ("%s: %s."):format(case.name, words(map, truth, case)),
           images = images }
end

return M
