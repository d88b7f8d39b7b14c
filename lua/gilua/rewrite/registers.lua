--- registers: a kernel whose loops have in variables what they had in memory, read anew: what lanes
-- of a warp may share then, and could not before.
--
--   for (j = 0; j < n; j++) y[i] += a[j];               an element that stays the same (keep.lua)
--   for (x = 1; x < n; x++) sum[x] = a[x] + sum[x - 1];  one that goes along (carry.lua)

local carry = require "gilua.rewrite.carry"
local keep = require "gilua.rewrite.keep"
local lines_of = require "gilua.source.lines"
local rewrite = require "gilua.rewrite.rewrite"

local M = {}

local WAYS = {
  { says = "what its loops update is kept in variables", record = keep },
  { says = "what its loops store and load again is carried along", record = carry },
}

---@class gilua.registers
---@field kernel table of kernel.read
---@field lines gilua.lines
---@field change table that made them
---@field before gilua.lines of the kernel as it is
---@field says string
local Registers = {}
Registers.__index = Registers

--- Makes a change of this text one of the kernel as it is; nil where both overlap.
---@param change table of self.kernel
---@return table?
function Registers:both(change)
  local both = lines_of.edited(self.lines, change.edits)
  if not both then return nil end
  change.edits = {}
  for i, part in ipairs(lines_of.parts(self.before, both)) do
    change.edits[i] = { part.first, part.last, (part.text:gsub("\n$", "")) }
  end
  change.says = change.says .. "; " .. self.says
  change.asked = change.asked or self.change.asked
  local seen = {}
  for _, pair in ipairs(change.pairs) do seen[pair.promise] = true end
  for _, pair in ipairs(self.change.pairs) do
    if not seen[pair.promise] then table.insert(change.pairs, pair) end
  end
  return change
end

--- Other texts of a function's kernel, that mean the same.
---@param part? table a statement: what is outside of it stays
---@return gilua.registers[]
function M.of(fn, part)
  local known, key = fn.in_registers or {}, part or fn
  fn.in_registers = known
  if known[key] then return known[key] end
  local list, kernel = {}, fn.kernel
  for _, way in ipairs(WAYS) do
    local change = rewrite.make_all(way.record, fn, part)
    local lines = change and lines_of.edited(kernel.lines, change.edits)
    if lines then
      list[#list + 1] = setmetatable({ kernel = kernel:again(lines), lines = lines,
        change = change, before = kernel.lines, says = way.says }, Registers)
    end
  end
  known[key] = list
  return list
end

return M
