--- registers: a kernel with what its loops have in memory in variables, read anew: what lanes of a
--- warp may share then, and could not before.
--
--   for (j = 0; j < n; j++) y[i] += a[j];               an element that stays the same (keep.lua)
--   for (x = 1; x < n; x++) sum[x] = a[x] + sum[x - 1];  one that goes along (carry.lua)

local carry = require "gilua.rewrite.carry"
local keep = require "gilua.rewrite.keep"
local kernels = require "gilua.transform.kernel"
local lines_of = require "gilua.transform.lines"
local rewrite = require "gilua.rewrite.rewrite"

local M = {}

local WAYS = {
  { says = "what its loops update is kept in variables", record = keep },
  { says = "what its loops store and load again is carried along", record = carry },
}

---@class gilua.registers
---@field kernel table of kernel.read
---@field lines gilua.lines
---@field says string

--- Other texts of a function's kernel, that mean the same.
---@param fn table of kernel.read
---@param part? table a statement, what is without stays
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
      list[#list + 1] = { kernel = kernels.read(lines, kernel.options), lines = lines,
                          says = way.says }
    end
  end
  known[key] = list
  return list
end

--- The change of a kernel that is first made one of these, and then changed.
---@param fn table
---@param one gilua.registers
---@param change table of one.kernel
---@return table? change of fn's kernel
---@return string? message
function M.both(fn, one, change)
  local both = lines_of.edited(one.lines, change.edits)
  if not both then return nil, "two changes overlap" end
  change.edits = {}
  for i, part in ipairs(lines_of.parts(fn.kernel.lines, both)) do
    change.edits[i] = { part.first, part.last, (part.text:gsub("\n$", "")) }
  end
  change.says = change.says .. "; " .. one.says
  return change
end

return M
