-- precision: how far may right answers differ? The kernel is run once as it is and once with every
-- float a double. What lies between the two is its rounding error; ten times that is what a mutant
-- may differ by that adds in another order.

local attempt = require "gilua.base.attempt"
local fail = require "gilua.base.fail"
local core = require "gilua.core"
local csource = require "gilua.new.csource"
local kerneltable = require "gilua.problem.kerneltable"
local signature = require "gilua.new.signature"
local tablecase = require "gilua.problem.tablecase"

local M = {}

local MARGIN = 10 -- times the rounding error
local LEAST = 2.0 ^ -22 -- of the largest answer, where rounding happens to cancel
local WORDS = { float = "double" } -- in single precision -> in double
local FUNCTIONS = "sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 expm1 log log2 log10 "
  .. "log1p pow sqrt rsqrt cbrt hypot fabs floor ceil round trunc rint fmin fmax fmod fma erf erfc "
  .. "copysign"
for n = 2, 4 do
  WORDS["float" .. n], WORDS["make_float" .. n] = "double" .. n, "make_double" .. n
end
for name in FUNCTIONS:gmatch "%S+" do WORDS[name .. "f"] = name end

-- A word of the source in double precision; nil where it is the same.
local function doubled_word(t, i)
  if t:kind(i) == "number" then return t[i]:match("^([^xX]+)[fF]$") end
  if t[i - 1] == "<" and (t[i - 2] or ""):find "^tex%dD" then return nil end -- textures stay
  return WORDS[t[i]]
end

-- Adds what stands from a byte up to the end of the tokens; the byte behind.
local function add_doubled(parts, source, t, at)
  for i = 1, #t do
    local word = doubled_word(t, i)
    if t:kind(i) == "directive" then
      at = add_doubled(parts, source, t:inside(i), at)
    elseif word then
      parts[#parts + 1] = source:sub(at, t:first(i) - 1) .. word
      at = t:last(i) + 1
    end
  end
  return at
end

local function doubled(source)
  local parts = {}
  local at = add_doubled(parts, source, csource.tokens(source), 1)
  return table.concat(parts) .. source:sub(at)
end

local function make_double(arrays, but)
  for name, array in pairs(arrays) do
    if array:dtype() == "f32" and not but[name] then
      arrays[name] = core.array.from(array:table(), "f64")
    end
  end
end

-- Single arrays as double ones; then scalars. A texture of doubles there is none.
local function convert_to_double(args)
  local textures = {}
  for _, arg in ipairs(args) do textures[arg.name] = arg.texture end
  return function(case, launch)
    if not launch then
      make_double(case.arrays, textures)
      make_double(case.constants, {})
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

-- Over the outputs that are rounded; whole numbers are as they are.
local function difference(single, double)
  local most, largest = 0, 0
  for name, a in pairs(single) do
    local b = double[name]
    for i = 1, a:dtype():find("^f") and #a or 0 do
      local x, y = a[i], b[i]
      if x == x and y == y and math.abs(x) ~= math.huge and math.abs(y) ~= math.huge then
        most, largest = math.max(most, math.abs(x - y)), math.max(largest, math.abs(y))
      end
    end
  end
  return most, largest
end

-- Up to one digit: 3.4e-6 becomes 4e-6.
local function rounded(x)
  if x ~= x or x == math.huge then
    return 0, "GUESS: answers on these data are too large for a bound: give other fills or values"
  end
  local power = 10.0 ^ math.floor(math.log(x, 10))
  return tonumber(("%.0e"):format(math.ceil(x / power - 1e-9) * power))
end

local function writes(args, type)
  for _, arg in ipairs(args) do
    if arg.type == type and tablecase.is_written(arg) then return true end
  end
  return false
end

-- Is every float of the parameters a double in a source? One that a header declares is not.
local function all_double(table_problem, source)
  local ok, params = attempt(signature.of, source, table_problem.table.kernel,
    table_problem:options(table_problem:defaults()))
  for _, p in ipairs(ok and params or {}) do
    if p.type == "f32" then return false end
  end
  return true
end

-- The outputs in double precision; nil and why there are none.
local function run_double(problem, spec)
  local table_problem = problem.definition.kernel_table
  local source = doubled(problem.source)
  if not all_double(table_problem, source) then return nil, "a float is in a header" end
  local ran, double, refused = attempt(kerneltable.run, problem, spec, { source = source,
    convert = convert_to_double(table_problem.table.args), structs = { f32 = "f64" } })
  if not ran then return nil, tostring(double) end
  return double, refused
end

local function largest_of(outputs)
  return select(2, difference(outputs, outputs))
end

--- A tolerance for a problem table, and how it was found.
---@param problem gilua.problem of a kernel table
---@param spec table of a case
---@return number max_error
---@return string how
function M.tolerance(problem, spec)
  local t = problem.definition.kernel_table.table
  local single, why = kerneltable.run(problem, spec)
  if not single then fail("%s", why) end
  if not writes(t.args, "f32") then
    if not writes(t.args, "f64") then return 0, "answers are whole numbers: they must be equal" end
    local bound, not_finite = rounded(math.max(largest_of(single), 1e-30) * 2.0 ^ -40)
    return bound, not_finite or ("2^-40 of the largest answer, %.3g"):format(largest_of(single))
  end
  local double, refused = run_double(problem, spec)
  if not double then
    local largest = largest_of(single)
    local bound, not_finite = rounded(math.max(largest, 1e-30) * 1e-5)
    return bound, not_finite or ("GUESS: 1e-5 of the largest answer, %.3g; in double precision the "
      .. "kernel cannot be run (%s)"):format(largest, refused:match("[^\n]*"))
  end
  local most, largest = difference(single, double)
  local bound, not_finite = rounded(math.max(MARGIN * most, LEAST * largest, 1e-30))
  return bound, not_finite or ("single and double precision differ by %.2g where the largest "
    .. "answer is %.3g"):format(most, largest)
end

return M
