-- tune: every legal setting of some parameters, measured on one case (GECCO 2014, §4.2: all
-- sensible block sizes; StereoCamera: two parameters and more). A setting is a genome, so whatever
-- a gene can set can be tuned: launch shapes, macros, compiler options.

local fail = require "gilua.base.fail"
local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local progress = require "gilua.report.progress"
local settings = require "gilua.base.settings"
local stats = require "gilua.base.stats"

local M = {}

---@class Tuning
---@field parameters string[]
---@field total integer legal settings
---@field sampled boolean only some of them were measured
---@field case string
---@field rows table[] { values, genome, status, message, right, ticks, ns, rel_error, registers,
---  max_error, samples }
---@field default? table the row of what the parameters are without tuning
---@field best? table the fastest right row

local OPTIONAL = { "problem", "farm", "case", "restrict", "sample", "rng", "on_result" }

--------------------------------------------------------------------------------------------------
-- Settings

local function known_parameter(problem, name)
  local names = {}
  for _, p in ipairs(problem.parameters) do
    if p.name == name then return p end
    names[#names + 1] = p.name
  end
  local nearest = settings.nearest(name, names)
  error(("gilua.tune.run: the problem has no parameter '%s'%s"):format(name,
    nearest and ("; did you mean '" .. nearest .. "'?") or ""), 4)
end

-- { name, values, switch, default } of each parameter asked for.
local function axes(problem, asked)
  local list = {}
  for i, item in ipairs(asked) do
    local given = type(item) == "table" and item or { name = item }
    local p = known_parameter(problem, given.name)
    local values = given.values or (p.switch and { false, true }) or p.values
    if not values or #values == 0 then
      error(("gilua.tune.run: the values of '%s' are not known: give { name = \"%s\", "
        .. "values = { … } }"):format(p.name, p.name), 3)
    end
    list[i] = { name = p.name, values = values, switch = p.switch, default = false }
    if not p.switch then list[i].default = tonumber(p.default) or p.default end
  end
  return list
end

local function gene(axis, value)
  if not axis.switch then return ("%s=%s"):format(axis.name, value) end
  return value and axis.name or ""
end

-- All settings that `restrict` lets pass, the first parameter varying slowest.
local function legal(list, restrict)
  local found, values = {}, {}
  local function descend(depth)
    local axis = list[depth]
    if not axis then
      if not restrict or restrict(values) then
        local genes, copy = {}, {}
        for i, a in ipairs(list) do
          genes[i], copy[a.name] = gene(a, values[a.name]), values[a.name]
        end
        found[#found + 1] = { values = copy, genome = genome.join(genes) }
      end
      return
    end
    for _, value in ipairs(axis.values) do
      values[axis.name] = value
      descend(depth + 1)
    end
  end
  descend(1)
  return found
end

-- n of the rows, without repetition, in their order.
local function sampled(rows, n, rng)
  local order = {}
  for i = 1, #rows do order[i] = i end
  for i = 1, n do
    local k = rng:int(i, #rows)
    order[i], order[k] = order[k], order[i]
  end
  local picked = table.move(order, 1, n, 1, {})
  table.sort(picked)
  local list = {}
  for i, index in ipairs(picked) do list[i] = rows[index] end
  return list
end

--------------------------------------------------------------------------------------------------
-- Measuring

local function fill(row, m)
  row.status, row.message, row.right = m.status, m.message, fitness.right(m)
  row.ticks, row.ns, row.rel_error = m.ticks, m.ns, m.rel_error
  row.registers, row.max_error, row.samples = m.registers, m.max_error, m.samples
end

local function measure(o, rows)
  local genomes = {}
  for i, row in ipairs(rows) do genomes[i] = genome.join { o.base, row.genome } end
  local list = o.farm:evaluate(genomes, o.case, {
    on_result = o.on_result and function(i, m, done, total)
      fill(rows[i], m)
      o.on_result(done, total, rows[i])
    end,
  })
  for i, m in ipairs(list) do fill(rows[i], m) end
end

-- What each parameter is when nobody tunes it: the last setting of `base`, else the default.
local function is_default(row, list, base)
  for _, axis in ipairs(list) do
    local value = axis.default
    for _, g in ipairs(genome.split(base)) do
      if axis.switch and g == axis.name then value = true end
      local name, text = g:match("^([%a_][%w_]*)=(.*)$")
      if name == axis.name then value = tonumber(text) or text end
    end
    if row.values[axis.name] ~= value then return false end
  end
  return true
end

--- Measures every setting. What does not compile, cannot be launched or is wrong stays in the table
--- with its reason.
---@param options table { problem, farm, case, parameters, base?, restrict?, sample?, rng?,
---  on_result? }: parameters are names of the problem's, or { name, values }; restrict(values) is
---  true for a legal combination; of more than `sample` that many are drawn with rng; base is a
---  genome that all of them follow
---@return Tuning
function M.run(options)
  local o = settings.fill("gilua.tune.run", options, { base = "", parameters = {} }, OPTIONAL)
  for _, name in ipairs { "problem", "farm", "case" } do
    if o[name] == nil then error("gilua.tune.run: '" .. name .. "' is missing", 2) end
  end
  local list = axes(o.problem, o.parameters)
  if #list == 0 then error("gilua.tune.run: no parameters to tune", 2) end
  local rows = legal(list, o.restrict or o.problem.restrict)
  if #rows == 0 then
    fail("no setting satisfies the restrictions of %s", o.problem.name or "it")
  end
  local result = { parameters = {}, total = #rows, sampled = false }
  for i, axis in ipairs(list) do result.parameters[i] = axis.name end
  if o.sample and o.sample < #rows then
    if not o.rng then error("gilua.tune.run: a sample needs `rng`", 2) end
    rows, result.sampled = sampled(rows, o.sample, o.rng), true
  end
  measure(o, rows)
  result.rows = rows
  result.case = o.farm:case_info().name
  local right = {}
  for _, row in ipairs(rows) do
    if row.right then right[#right + 1] = row end
    if is_default(row, list, o.base) then result.default = row end
  end
  result.best = stats.least(right, function(row) return row.ticks end)
  local default = result.default -- of equals: nothing need change
  if default and default.right and default.ticks <= result.best.ticks then result.best = default end
  return result
end

--------------------------------------------------------------------------------------------------
-- For a terminal

local function reason(row)
  if row.status ~= "ok" then return row.status .. ": " .. (row.message or ""):match("^[^\n]*") end
  return row.right and "" or ("wrong: largest error %.3g"):format(row.max_error)
end

--- The table as lines: settings, time, speed against the default, registers; the fastest marked.
---@param result Tuning
---@param options? { limit?: integer } most rows, the fastest of them
---@return string[]
function M.lines(result, options)
  local rows = table.move(result.rows, 1, #result.rows, 1, {})
  local limit = options and options.limit
  if limit and limit < #rows then
    table.sort(rows, function(a, b)
      if a.right ~= b.right then return a.right end
      if a.ticks ~= b.ticks then return a.ticks < b.ticks end
      return a.genome < b.genome
    end)
    for i = #rows, limit + 1, -1 do rows[i] = nil end
  end
  local lines = { ("  %-32s %12s %10s %9s %9s"):format("setting", "ticks", "us", "speed-up",
    "registers") }
  for _, row in ipairs(rows) do
    local mark = row == result.best and "*" or " "
    local name = row.genome == "" and "(none)" or row.genome
    if row.right then
      local gain = result.default and result.default.right
        and ("%.3fx"):format(result.default.ticks / row.ticks) or "-"
      lines[#lines + 1] = ("%s %-32s %12s %10.2f %9s %9d"):format(mark, name,
        progress.grouped(row.ticks), row.ns / 1e3, gain, row.registers)
    else
      lines[#lines + 1] = ("%s %-32s %s"):format(mark, name, reason(row))
    end
  end
  return lines
end

return M
