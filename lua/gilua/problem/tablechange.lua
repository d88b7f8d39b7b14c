--- tablechange: variants of a kernel table's inputs that show how rounding affects its answers:
--- every float as a double, or every number one ulp off. Plain data names a variant, so it can be
--- sent to the worker that makes the case (gilua.precision asks for it).

local core = require "gilua.core"
local settings = require "gilua.base.settings"
local tablecase = require "gilua.problem.tablecase"

local M = {}

-- A little more than this share moves any number by one ulp.
local ULP = { f32 = 2.0 ^ -24, f64 = 2.0 ^ -53, f16 = 2.0 ^ -11, bf16 = 2.0 ^ -8, e4m3 = 2.0 ^ -4,
  e5m2 = 2.0 ^ -3 }
M.ULP = ULP

-- Replaces the arrays of a case by what f makes of them; nil: it stays.
local function change_arrays(case, f)
  for _, arrays in ipairs { case.arrays, case.constants } do
    for _, name in ipairs(settings.keys(arrays)) do -- in an order: f may draw numbers
      arrays[name] = f(arrays[name], name) or arrays[name]
    end
  end
end

-- Single arrays as double ones; then scalars. A texture of doubles there is none.
local function to_double(args)
  local textures = {}
  for _, arg in ipairs(args) do textures[arg.name] = arg.texture end
  return function(case, launch)
    if not launch then
      change_arrays(case, function(array, name)
        local changes = array:dtype() == "f32" and not textures[name]
        return changes and core.array.from(array:table(), "f64")
      end)
      return
    end
    for i, arg in ipairs(args) do
      local value = launch.args[i]
      if arg.type == "f32" and type(value) == "table" and not arg.texture then
        launch.args[i] = { "f64", value[2] }
      end
    end
    launch.shared = launch.shared and 2 * launch.shared
  end
end

-- A number an ulp up or down; a whole one (an index, a count) is exact, and stays.
local function moved(x, ulp, rng)
  return x % 1 == 0 and x or x * (1 + (rng:int(2) == 1 and 1.01 or -1.01) * ulp)
end

local function moved_array(array, rng)
  local ulp, copy = ULP[array:dtype()], array:copy()
  for i = 1, ulp and #copy or 0 do copy[i] = moved(copy[i], ulp, rng) end
  return copy
end

-- Moves the inputs of a case; then those of its launch.
local function by_an_ulp(seed)
  local rng = core.rng.new(seed)
  return function(case, launch, rows)
    if not launch then
      change_arrays(case, function(array) return moved_array(array, rng) end)
      for _, leaf in ipairs(rows.leaves) do
        local array = leaf.field and ULP[leaf.type] and case.arrays[leaf.block.name]
        if array then
          tablecase.place(leaf, array, moved_array(tablecase.take(leaf, array), rng))
        end
      end
      return
    end
    for i, value in ipairs(launch.args) do
      local ulp = type(value) == "table" and ULP[value[1]]
      if ulp then launch.args[i] = { value[1], moved(value[2], ulp, rng) } end
    end
  end
end

---@class TableChange
---@field to_double? boolean every float becomes a double
---@field ulp_seed? integer every number that is not whole moves by an ulp, up or down by this seed

--- Returns what makes a change: it is called for the case, then for the launch.
---@param change? TableChange nil: nothing changes
---@param args table[] of the table
---@return fun(case: table, launch?: table, rows: TableRows)
function M.of(change, args)
  if not change then return function() end end
  return change.to_double and to_double(args) or by_an_ulp(change.ulp_seed)
end

return M
