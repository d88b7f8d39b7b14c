-- precision: how far may right answers differ? A tolerance for each output, from what rounding does
-- to it.
--
-- The kernel is run as it is and once with every float a double: what lies between is its rounding
-- error. Where it cannot be run so, or computes in doubles itself, it is run on inputs that are an
-- ulp off and with its blocks in another order, and what that does to the answers is taken. Ten
-- times that may a mutant differ by that computes in another order; four times or twice, where more
-- could not tell wrong from right.
--
-- Errors are gathered by the size of the answers. What the largest of them are off by is a share of
-- an answer (rel_error); what smaller ones are off by beyond that share is absolute (max_error).

local attempt = require "gilua.base.attempt"
local fail = require "gilua.base.fail"
local csource = require "gilua.source.csource"
local kerneltable = require "gilua.problem.kerneltable"
local layout = require "gilua.new.layout"
local signature = require "gilua.new.signature"
local tablecase = require "gilua.problem.tablecase"
local tablechange = require "gilua.problem.tablechange"

-- The kernel as it is takes a quarter of that at most (trial.lua); in double precision, on other
-- data, it may take more, or not end.
local M = { most_instructions = 100000000 } -- of a run's warps: some seconds on the virtual GPU

local MARGINS = { 10, 4, 2 } -- times the rounding error: the first that is not too coarse
local GUESS = 1e-5 -- of an answer, where nothing is known
local COARSE = 0.01 -- of a usual answer: who allows more cannot tell wrong from right
local ULP = tablechange.ULP
-- The least share: rounding happens to cancel. An ulp of the inputs tells less of a long sum.
local LEAST = { f32 = 2.0 ^ -22, f64 = 2.0 ^ -40, f16 = 2.0 ^ -9, bf16 = 2.0 ^ -6, e4m3 = 2.0 ^ -2,
  e5m2 = 2.0 ^ -1 }
local LEAST_MOVED = { f32 = 2.0 ^ -20, f64 = 2.0 ^ -40, f16 = 2.0 ^ -7, bf16 = 2.0 ^ -4, e4m3 = 1,
  e5m2 = 1 }

--------------------------------------------------------------------------------------------------
-- In double precision

local LONG_LIST = 1000 -- tokens

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

-- Adds what stands from a byte up to the end of the tokens; the byte behind. Numbers of a long
-- list stay: they are what the kernel reads in either precision.
local function add_doubled(parts, source, t, at)
  local i = 0
  while i < #t do
    i = i + 1
    if t[i] == "{" and t[i - 1] == "=" and t:match(i) > i + LONG_LIST then i = t:match(i) end
    local word = doubled_word(t, i)
    if t:kind(i) == "directive" then
      local inner = t:inside(i)
      if not inner:find(1, "include") then at = add_doubled(parts, source, inner, at) end
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

local function signature_of(table_problem, source)
  return signature.of(source, table_problem.table.kernel,
    table_problem:options(table_problem:defaults()))
end

-- Is every float of the parameters a double in a source, and every array of structs that are read
-- as floats one of doubles? What a header declares is not.
local function all_double(table_problem, source)
  local is = signature_of(table_problem, source)
  local was = signature_of(table_problem, table_problem.source)
  for i, arg in ipairs(table_problem.table.args) do
    local p = is[i]
    if p.type == "f32" then return false end
    local times = arg.type == "f32" and 2 or 1
    local is_plain = arg.count and not arg.fields and not p.type
    if is_plain and p.bytes ~= times * was[i].bytes then return false end
  end
  return true
end

-- Is every float in a struct a double, and what is no float as it was?
local function fields_double(row, name, layouts)
  for i, field in ipairs(row.fields or {}) do
    local now = layouts[name] and layouts[name][i].type
    local stays = field[2] ~= "f32" and field[2] or "f64"
    if not field.fields and now ~= stays
      or not fields_double(field, name .. "." .. field[1], layouts) then return false end
  end
  return true
end

-- The layouts of a table's structs in double precision; nil where some float stays one.
local function double_layouts(table_problem, source)
  local layouts = layout.again(table_problem.table, source,
    table_problem:options(table_problem:defaults()))
  for _, arg in ipairs(layouts and table_problem.table.args or {}) do
    if not fields_double(arg, arg.name, layouts) then return nil end
  end
  return layouts
end

-- What runs the kernel in double precision on a case; nil, and why it does not do so on this one
-- where it has floats.
local function in_double(problem, spec)
  local table_problem = problem.definition.kernel_table
  local source = doubled(problem.source)
  if source == problem.source then return nil end
  local known, all = attempt(all_double, table_problem, source)
  local layouts = double_layouts(table_problem, source)
  if known and not all or not layouts then
    return nil, "a header or a struct has floats that stay"
  end
  local function run(of)
    local ran, outputs, why = attempt(kerneltable.run, problem, of, { source = source,
      budget = M.most_instructions, layouts = layouts,
      change = { to_double = true } })
    if not ran then return nil, tostring(outputs) end
    return outputs, why
  end
  local first, why = run(spec)
  if not first then return nil, why:match "^[^\n;]*" end
  return function(of) return { of == spec and first or run(of) } end
end

--------------------------------------------------------------------------------------------------
-- An ulp off

-- What an ulp of the inputs and another order of the blocks make of a case: the outputs of those
-- runs that end.
local function in_other_ways(problem, spec)
  local list = {}
  for _, options in ipairs { { change = { ulp_seed = spec.seed or 1 } }, { backwards = true } } do
    options.budget = M.most_instructions
    list[#list + 1] = kerneltable.run(problem, spec, options)
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- Errors by the size of the answers

---@class gilua.precision.errors of an output
---@field worst table<integer, number> the largest error of answers from 2^k up to 2^(k+1)
---@field share table<integer, number> the largest share of an answer that an error is, likewise
---@field count table<integer, integer> how many answers are of that size
---@field zero number the largest error where 0 is right
---@field most number of all errors
---@field largest number answer
---@field n integer answers
---@field finite integer finite answers

--- No errors yet, of an output.
---@return gilua.precision.errors
function M.no_errors()
  return { worst = {}, share = {}, count = {}, zero = 0, most = 0, largest = 0, n = 0, finite = 0 }
end

--- Adds the error of an answer, and how large that is.
---@param e gilua.precision.errors
---@param size number
---@param error number
function M.add_error(e, size, error)
  e.finite, e.most, e.largest = e.finite + 1, math.max(e.most, error), math.max(e.largest, size)
  if size == 0 then
    e.zero = math.max(e.zero, error)
  else
    local k = math.floor(math.log(size, 2))
    e.count[k], e.worst[k] = (e.count[k] or 0) + 1, math.max(e.worst[k] or 0, error)
    e.share[k] = math.max(e.share[k] or 0, error / size)
  end
end

-- Adds what answers differ by from those that are right.
local function add_errors(e, right, answers)
  e.n = e.n + #right
  for i = 1, #right do
    local x, y = right[i], answers[i]
    if x - x == 0 and y - y == 0 then M.add_error(e, math.abs(x), math.abs(x - y)) end
  end
end

-- The share that the largest answers are off by, and what others are off by beyond it.
local function share_and_rest(e)
  local top, share, rest = math.mininteger, 0, e.zero
  for k in pairs(e.count) do top = math.max(top, k) end
  for k = top - 1, top do share = math.max(share, e.share[k] or 0) end
  for k, error in pairs(e.worst) do rest = math.max(rest, error - share * 2.0 ^ k) end
  return share, rest
end

-- What half of the answers that are not 0 are at least as large as.
local function usual(e)
  local sizes, left = {}, 0
  for k, n in pairs(e.count) do
    sizes[#sizes + 1], left = k, left + n
  end
  table.sort(sizes)
  left = left / 2
  for _, k in ipairs(sizes) do
    left = left - e.count[k]
    if left <= 0 then return 2.0 ^ k end
  end
  return 0
end

-- Up to one digit: 3.4e-6 becomes 4e-6.
local function rounded(x)
  if x == 0 then return nil end
  local power = 10.0 ^ math.floor(math.log(x, 10))
  return tonumber(("%.0e"):format(math.ceil(x / power - 1e-9) * power))
end

---@class gilua.precision.limits
---@field max_error? number
---@field rel_error? number
---@field how string where they are from

local function guessed(e, why)
  return { max_error = rounded(GUESS * usual(e)), rel_error = GUESS,
    how = ("GUESS: 1e-5 of an answer; %s"):format(why) }
end

--- The limits of an output whose errors are known.
---@param e gilua.precision.errors
---@param least number share of an answer
---@param figures string what the errors are
---@return gilua.precision.limits
function M.limits_of(e, least, figures)
  if e.finite == 0 then
    return { how = "GUESS: no answer is a finite number on these data: give other fills or values" }
  end
  local share, rest = share_and_rest(e)
  local rel_error, max_error
  for i, margin in ipairs(MARGINS) do
    rel_error, max_error = math.max(margin * share, least), margin * rest
    if max_error + rel_error * usual(e) <= COARSE * usual(e) then
      if i > 1 then figures = ("%s; %d times that"):format(figures, margin) end
      break
    elseif i == #MARGINS then
      return guessed(e, figures .. ": twice that could not tell wrong from right")
    end
  end
  if e.finite < e.n then
    figures = ("%s; GUESS: %.2g %% of the answers are not finite"):format(figures,
      100 * (1 - e.finite / e.n))
  end
  return { max_error = rounded(max_error), rel_error = rounded(rel_error), how = figures }
end

--------------------------------------------------------------------------------------------------
-- All outputs

local DOUBLE = "single and double precision differ by %.2g where the largest answer is %.3g"
local MOVED = "an ulp of the inputs, and another order of blocks, make %.2g where the largest "
  .. "answer is %.3g"

-- The errors of each rounded output, of all cases; whether none could be found out.
local function errors_of(problem, specs, variants)
  local found, ran = {}, false
  for _, spec in ipairs(specs) do
    local right, why = kerneltable.run(problem, spec, { budget = M.most_instructions })
    if not right then fail("%s", why) end
    local others = variants(spec)
    ran = ran or #others > 0
    if #others == 0 then others = { right } end
    for name, array in pairs(right) do
      found[name] = found[name] or ULP[array:dtype()] and M.no_errors() or nil
      for _, other in ipairs(found[name] and others or {}) do
        add_errors(found[name], array, other[name])
      end
    end
  end
  return found, ran
end

-- The outputs of a problem table.
local function outputs_of(problem)
  local list = {}
  for _, leaf in ipairs(problem.definition.kernel_table.rows.leaves) do
    if tablecase.is_written(leaf) then list[#list + 1] = leaf end
  end
  return list
end

local function is_rounded(problem)
  for _, leaf in ipairs(outputs_of(problem)) do
    if ULP[leaf.type] then return true end
  end
  return false
end

---@class gilua.precision.found
---@field errors table<string, gilua.precision.errors> of rounded outputs, by name
---@field ran boolean they could be found out
---@field least table<string, number> the least share of an answer, by type
---@field how string with places for the largest error and answer
---@field cause string why it is not by double precision

---@return gilua.precision.found
local function find(problem, specs)
  local double, why = in_double(problem, specs[1])
  local errors, ran = errors_of(problem, specs, double
    or function(spec) return in_other_ways(problem, spec) end)
  return { errors = errors, ran = ran, least = double and LEAST or LEAST_MOVED,
    how = double and DOUBLE or MOVED,
    cause = why and ("; in double precision it cannot be run (%s)"):format(why) or "" }
end

--- A tolerance for each output of a problem table that is not of whole numbers: these are right
--- where they are equal.
---@param problem gilua.problem of a kernel table
---@param specs table[] cases; the kernel must run on all of them
---@return table<string, gilua.precision.limits> by the output's name
function M.limits(problem, specs)
  if not is_rounded(problem) then return {} end
  local found, limits = find(problem, specs), {}
  for _, leaf in ipairs(outputs_of(problem)) do
    local e = found.errors[leaf.name]
    if e and found.ran then
      limits[leaf.name] = M.limits_of(e, found.least[leaf.type],
        found.how:format(e.most, e.largest) .. found.cause)
    elseif e then
      limits[leaf.name] = guessed(e, "with inputs an ulp off it does not run" .. found.cause)
    end
  end
  return limits
end

--- What rounding may make of any answer on a case, whatever its size.
---@param problem gilua.problem of a kernel table
---@param spec table
---@return number
function M.most(problem, spec)
  if not is_rounded(problem) then return 0 end
  local found, most = find(problem, { spec }), 0
  for _, leaf in ipairs(outputs_of(problem)) do
    local e = found.errors[leaf.name]
    if e then most = math.max(most, MARGINS[1] * e.most, found.least[leaf.type] * e.largest) end
  end
  return most
end

--- M.most, as one tolerance for all outputs, and in words where it is from.
---@param problem gilua.problem of a kernel table
---@param spec table of a case
---@return number max_error
---@return string how
function M.tolerance(problem, spec)
  return M.most(problem, spec), "what rounding may make of any answer"
end

return M
