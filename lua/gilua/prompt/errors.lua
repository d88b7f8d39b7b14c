--- errors: the positions of a mutant's wrong answers: counted, listed, and drawn as a slice of the
-- volume to which the answers belong.
--
-- Three kinds of cases have positions. A case may name them: `volume`, the sizes { nx, ny, nz },
-- and `positions`, an integer array with the voxel of each answer, from 0, x fastest; with `box`,
-- the first voxel of each box of so many answers. An output may have two or three dimensions. A
-- problem table's `size` may have two or three numbers whose product is the number of elements of
-- the first output. Answers of other cases are drawn in a row.

local fail = require "gilua.base.fail"
local core = require "gilua.core"
local inspect = require "gilua.prompt.inspect"
local tolerances = require "gilua.problem.tolerance"

local class, paint = inspect.class, inspect.paint
local function grouped(n) return require("gilua.report.progress").grouped(n) end

local M = {}

-- --- places ------------------------------------------------------------------------------------

-- Returns which voxel of a volume answer i (from 1) of a case is.
local function voxels_of(case, nx, ny)
  local x, y, z = table.unpack(case.box or { 1, 1, 1 })
  return function(i)
    local k = (i - 1) % (x * y * z)
    return case.positions[(i - 1) // (x * y * z) + 1]
      + k % x + k // x % y * nx + k // (x * y) * nx * ny
  end
end

-- Returns where answer i (from 1) is in a volume: { nx, ny, nz, at = fun(i): x, y, z } from 0; or
-- nil and why that is unknown. A case can say it (`volume` and `positions`). An output of two or
-- three dimensions is a volume itself, and so is one of as many elements as the kernel's `size`
-- has.
local function volume_of(case, answers)
  local function linear(nx, ny, nz, voxel)
    return { nx = nx, ny = ny, nz = nz, at = function(i)
      local v = voxel(i)
      return v % nx, v // nx % ny, v // (nx * ny)
    end }
  end
  if case.volume and case.positions then
    local nx, ny, nz = case.volume[1], case.volume[2], case.volume[3] or 1
    return linear(nx, ny, nz, voxels_of(case, nx, ny))
  end
  local shape = { case.output:shape() }
  if (case.compare and case.compare.width or 1) > 1 then shape[#shape] = nil end
  if (#shape == 2 or #shape == 3) and shape[#shape] > 1 and shape[#shape - 1] > 1 then
    return linear(shape[#shape], shape[#shape - 1], shape[#shape - 2] or 1,
      function(i) return i - 1 end)
  end
  local nx, ny, nz = table.unpack(type(case.size) == "table" and case.size or {})
  if ny and nx * ny * (nz or 1) == answers and nx > 1 then
    return linear(nx, ny, nz or 1, function(i) return i - 1 end)
  end
  return nil, "where an answer lies in space is not known from this problem"
end

-- --- judging -----------------------------------------------------------------------------------

-- What an element holds that was never written; NaN where that is the mark.
local function mark_of(array)
  return core.array.new(array:dtype(), 1):sentinel()[1]
end

local function is_mark(x, mark)
  return x == mark or mark ~= mark and x ~= x
end

-- The error of an answer, whether it is off, and whether it was never written (or is no number
-- where one was expected).
local function error_of(case, first, used, mark, limits)
  local worst, off = 0, false
  for k = first, first + used - 1 do
    local x, want = case.output[k], case.expected[k]
    local same = x == want or x ~= x and want ~= want
    if not same and is_mark(x, mark) then return math.huge, true, true end
    local e = same and 0 or math.abs(x - want)
    if e ~= e then e = math.huge end
    off = off or e == math.huge
      or e > (limits.max_error or 0) + (limits.rel_error or 0) * math.abs(want)
    worst = math.max(worst, e)
  end
  return worst, off, false
end

local LISTED = 5

local function first_wrong(i, at, case, first, used, e)
  local got, want = {}, {}
  for k = 1, used do
    got[k], want[k] = case.output[first + k - 1], case.expected[first + k - 1]
  end
  local row = { index = i, got = got, expected = want, error = e }
  if at then row.x, row.y, row.z = at(i) end
  return row
end

-- All answers, one after the other: errors[i] (-1: never written), beyond[i] (it is off), counts,
-- the first wrong ones.
local function judge(case, tolerance, volume)
  local compare = tolerances.options(tolerance, case.compare)
  local width = compare.width or 1
  local used = compare.used and compare.used > 0 and compare.used or width
  local n, limit = #case.output // width, compare.limit or tolerance.wrong_above or 0
  local found = { n = n, off = 0, wrong = 0, unset = 0, max_error = 0, first = {}, errors = {},
                  beyond = {}, accepted = compare.max_error or 0, limit = limit,
                  allowed = tolerances.text(compare) }
  local mark = mark_of(case.output)
  for i = 1, n do
    local first = (i - 1) * width + 1
    local e, off, unset = error_of(case, first, used, mark, compare)
    found.errors[i], found.beyond[i] = unset and -1 or e, off
    if unset then found.unset = found.unset + 1 end
    if off then
      found.off = found.off + 1
      if e > limit then found.wrong = found.wrong + 1 end
      if not unset then found.max_error = math.max(found.max_error, e) end
      found.low, found.high = found.low or i, i
      if #found.first < LISTED then
        found.first[#found.first + 1] = first_wrong(i, volume and volume.at, case, first, used, e)
      end
    elseif not unset then
      found.max_error = math.max(found.max_error, e)
    end
  end
  return found
end

-- --- pictures of errors ------------------------------------------------------------------------

-- An error as a factor: from 1 (just too far off) to 2 (the worst of all).
local function factor(found, e)
  local low = math.max(found.accepted, 1e-30)
  local span = math.log(math.max(found.max_error, low) / low)
  return 1 + (span > 0 and math.min(math.log(e / low) / span, 1) or 1)
end

-- How bad answer i is: 0 right, 1 to 2 off, 3 never written. A pixel shows the worst of its
-- answers.
local function badness(found, i)
  if found.errors[i] < 0 then return 3 end
  return found.beyond[i] and factor(found, found.errors[i]) or 0
end

-- … and from when on it is wrong.
local function wrong_from(found)
  return found.limit > found.accepted and factor(found, found.limit) or 0
end

local RIGHT, UNSET = { 0, 135, 0, "." }, { 95, 95, 255, "?" }

-- Yellow to red on a scale of factors.
local function pixel_of(bad, limit)
  if bad == 0 then return RIGHT elseif bad == 3 then return UNSET end
  local t = bad - 1
  return { 255, math.floor(215 * (1 - t)), 0, bad > limit and "X" or "o" }
end

-- How many answers of each slice along z are off; the slice with most.
local function worst_slice(found, volume)
  local counts, best = {}, 0
  for i = 1, found.n do
    if found.beyond[i] then
      local _, _, z = volume.at(i)
      counts[z] = (counts[z] or 0) + 1
      if counts[z] > (counts[best] or 0) then best = z end
    end
  end
  return best
end

-- The slice as rows of pixels, `across` by `down` answers to each.
local function slice_rows(self, across, down)
  local volume, rows, limit = self.volume, {}, wrong_from(self)
  for y = 1, (volume.ny + down - 1) // down do rows[y] = {} end
  for i = 1, self.n do
    local x, y, z = volume.at(i)
    if z == self.slice and x < volume.nx and y < volume.ny then
      local row, bad = rows[y // down + 1], badness(self, i)
      local old = row[x // across + 1]
      if not old or bad > old then row[x // across + 1] = bad end
    end
  end
  for _, row in ipairs(rows) do
    for x, bad in pairs(row) do row[x] = pixel_of(bad, limit) end
  end
  return rows
end

local function legend(o)
  if o.colour and o.utf8 then return "green right, yellow to red wrong, blue never written" end
  return ". right, o off, X wrong, ? never written"
end

local LOW = 40 -- a volume with no more rows keeps them all, however wide it is

local function picture(self, o)
  local v = self.volume
  local across = math.max((v.nx + o.width - 2) // (o.width - 1), (v.ny + 79) // 80, 1)
  local down = v.ny > LOW and across or 1
  local what = v.nz > 1 and ("slice z = %d of %dx%dx%d"):format(self.slice, v.nx, v.ny, v.nz)
    or ("%dx%d answers"):format(v.nx, v.ny)
  local scale = across > 1 and (", %dx%d to a pixel"):format(across, down) or ""
  return inspect.wrap(("%s, x to the right, y down%s; %s"):format(what, scale, legend(o)), o.width,
    "  ") .. "\n"
    .. inspect.picture(slice_rows(self, across, down), (v.nx + across - 1) // across, o)
end

-- Without a volume: all answers in a row.
local function strip(self, o)
  local cells, width = {}, math.min(self.n, o.width - 1)
  for i = 1, self.n do
    local x = (i - 1) * width // self.n + 1
    cells[x] = math.max(cells[x] or 0, badness(self, i))
  end
  for x = 1, width do cells[x] = pixel_of(cells[x], wrong_from(self)) end
  return inspect.wrap(("%s; answers 1 to %s from left to right; %s"):format(self.why_flat,
    grouped(self.n), legend(o)), o.width, "  ") .. "\n"
    .. inspect.picture({ cells }, width, o)
end

local function vector(list)
  local parts = {}
  for i, x in ipairs(list) do parts[i] = inspect.number(x) end
  return table.concat(parts, ", ")
end

local function summary(self, o)
  local lines = {}
  if self.status ~= "ok" then
    lines[1] = paint(o, "red", self.status) .. ": "
      .. tostring(self.message):match("[^\n]*") .. "; what stood in the output then:"
  end
  if self.off == 0 then
    lines[#lines + 1] = ("all %s answers are within %s (largest error %.3g)"):format(
      grouped(self.n), self.allowed, self.max_error)
    return lines
  end
  lines[#lines + 1] = ("%s of %s answers are off by more than %s%s%s%s"):format(grouped(self.off),
    grouped(self.n), self.allowed,
    self.limit > self.accepted and (", %s by more than %g"):format(grouped(self.wrong), self.limit)
      or "",
    self.unset > 0 and (", %s never written or no number"):format(grouped(self.unset)) or "",
    self.unset < self.n and ("; largest error %.3g"):format(self.max_error) or "")
  for _, row in ipairs(self.first) do
    local place = row.x and (self.volume.nz > 1 and " (%d, %d, %d)" or " (%d, %d)"):format(row.x,
      row.y, row.z) or ""
    lines[#lines + 1] = ("  answer %d%s: %s instead of %s"):format(row.index, place,
      vector(row.got), vector(row.expected))
  end
  lines[#lines + 1] = ("  the first and last of them: answers %d and %d"):format(self.low,
    self.high)
  return lines
end

local ErrorMethods = {}
local Errors = class("errors", ErrorMethods, function(self, o)
  local lines = summary(self, o)
  if self.off > 0 then lines[#lines + 1] = self.volume and picture(self, o) or strip(self, o) end
  return (table.concat(lines, "\n"):gsub("%s+$", ""))
end)

local function need_volume(self, path)
  if not self.volume then
    fail("%s cannot be written: %s (a case can tell, by `volume` and `positions`)", path,
      self.why_flat)
  end
end

-- The volume of errors, 0 where there is no answer; what was never written counts as the largest.
local function error_volume(self)
  local v = self.volume
  local data = core.array.new("f32", v.nz, v.ny, v.nx)
  for i = 1, self.n do
    local x, y, z = v.at(i)
    if x < v.nx and y < v.ny and z < v.nz then
      local e = self.errors[i]
      data[(z * v.ny + y) * v.nx + x + 1] = e < 0 and self.max_error or e
    end
  end
  return data
end

-- The slice in the colours of the terminal, as a binary PPM.
local function ppm(self)
  local rows, bytes = slice_rows(self, 1, 1), {}
  for y = 1, self.volume.ny do
    for x = 1, self.volume.nx do
      local p = rows[y][x] or { 0, 0, 0 }
      bytes[#bytes + 1] = string.char(p[1], p[2], p[3])
    end
  end
  return ("P6\n%d %d\n255\n%s"):format(self.volume.nx, self.volume.ny, table.concat(bytes))
end

--- Writes the slice as a picture (NAME.ppm), or all errors as a volume that viewers of medical
--- images open (NAME.nii, NAME.nii.gz).
---@param path string
function ErrorMethods:save(path)
  need_volume(self, path)
  if path:find("%.nii$") or path:find("%.nii%.gz$") then
    local ok, why = core.nifti.write(path, { data = error_volume(self),
      description = ("gilua: errors, %s"):format(self.name):sub(1, 79) })
    if not ok then fail("%s", why) end
  elseif path:find("%.ppm$") then
    require("gilua.report.report").write(path, ppm(self))
  else
    fail("%s: errors are written as .ppm, .nii or .nii.gz", path)
  end
end

-- A case whose output is an array of structs: as the numbers of the field that is compared.
local function of_numbers(case)
  local compare = case.compare
  if not (compare and compare.as) then return case end
  local own = { width = compare.used, limit = compare.limit, max_error = compare.max_error,
    rel_error = compare.rel_error }
  return setmetatable({ output = tolerances.numbers(case.output, compare), compare = own,
    expected = tolerances.numbers(case.expected, compare) }, { __index = case })
end

--- The errors of a run: the case holds what was written and what was expected.
---@param m table its measurement: status, message
---@param case table
---@param tolerance table { max_error, wrong_above }
---@param slice? integer which z to draw, from 0 (the one with most wrong answers)
---@return table errors { n, off, wrong, unset, max_error, first, errors, slice }
function M.new(m, case, tolerance, slice)
  case = of_numbers(case)
  local width = case.compare and case.compare.width or 1
  local volume, flat = volume_of(case, #case.output // width)
  if slice and (not volume or slice < 0 or slice >= volume.nz) then
    fail("there is no slice %s: %s", slice, flat or ("z goes from 0 to %d"):format(volume.nz - 1))
  end
  local found = judge(case, tolerance, volume)
  found.status, found.message, found.name = m.status, m.message, case.name
  found.volume, found.why_flat = volume, flat
  if volume then found.slice = slice or worst_slice(found, volume) end
  return setmetatable(found, Errors)
end

return M
