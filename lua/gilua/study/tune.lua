-- tune: measures every legal setting of some parameters on one case (GECCO 2014, §4.2: all sensible
-- block sizes; StereoCamera: two parameters and more). A setting is a genome, so everything that a
-- gene can set can be tuned: launch shapes, macros, compiler options.

local events = require "gilua.base.events"
local fail = require "gilua.base.fail"
local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local progress = require "gilua.report.progress"
local settings = require "gilua.base.settings"
local stats = require "gilua.base.stats"
local trace = require "gilua.base.trace"

local M = {}

---@class Tuning
---@field parameters string[]
---@field total integer legal settings
---@field sampled boolean only some of them were measured
---@field case string
---@field values table<string, any[]> those of each parameter
---@field rows table[] { values, genome, status, message, right, ticks, ns, rel_error, registers,
---  max_error, samples, seconds, told }: told: a file's word, not measured here
---@field default? table the row of what the parameters are without tuning
---@field best? table the fastest right row
---@field speedup? number of the best over the default
---@field asked? integer of one that is on or was stopped: how many were to be measured

local OPTIONAL = { "problem", "farm", "case", "restrict", "sample", "rng", "on_result", "cache" }

--------------------------------------------------------------------------------------------------
-- Settings

local function known_parameter(problem, name)
  local known = {}
  for _, p in ipairs(problem.parameters) do
    if p.name == name then return p end
    known[p.name] = true
  end
  trace.misuse("gilua.tune.run: the problem has no parameter '%s'%s", name,
    settings.meant(name, known))
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

local function fill(row, m, virtual)
  row.status, row.message, row.right, row.told = m.status, m.message, fitness.right(m), nil
  row.ticks, row.ns, row.rel_error = m.ticks, m.ns, m.rel_error
  row.registers, row.max_error, row.samples = m.registers, m.max_error, m.samples
  if not virtual then
    local s = m.seconds or {}
    row.seconds = { compile = m.compile_s, check = s.check, time = s.time }
  end
end

-- What a file knows need not be measured: the rows that it does not know. Of another device's file
-- only what it knows is compared.
local function told(cache, rows)
  local left, known = {}, {}
  for _, row in ipairs(rows) do
    local found = cache:find(row.values)
    for name, value in pairs(found or {}) do row[name] = value end
    row.told = found and true or nil
    table.insert(found and known or left, row)
  end
  if not cache.foreign then return left, rows end
  if #known > 0 then return {}, known end
  fail("%s, whose times are those of %s, has none of the settings asked for", cache.path,
    cache.device)
end

local function measure(o, rows, on_result)
  local genomes = {}
  for i, row in ipairs(rows) do genomes[i] = genome.join { o.base, row.genome } end
  if #rows == 0 then return end
  local list = o.farm:evaluate(genomes, o.case, {
    on_result = function(i, m, done, total)
      fill(rows[i], m, o.farm.virtual)
      if o.cache then o.cache:add(rows[i]) end
      if on_result then on_result(done, total, rows[i]) end
    end,
  })
  for i, m in ipairs(list) do fill(rows[i], m, o.farm.virtual) end
end

-- A row that a file told of is run here before it is believed; another device's keeps its time.
local function confirm(o, row)
  local ns, ticks = row.ns, row.ticks
  row.told = nil
  measure({ farm = o.farm, base = o.base, case = o.case }, { row })
  if o.cache.foreign then row.ns, row.ticks, row.samples, row.rel_error = ns, ticks, nil, nil end
end

-- In ticks, or in nanoseconds where a file of another device has no others.
local function cost(row)
  return row.ticks or row.ns
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

local function fastest(rows)
  local right = {}
  for _, row in ipairs(rows) do
    if row.right then right[#right + 1] = row end
  end
  return stats.least(right, cost)
end

-- Where nothing is faster than the default, nothing need change.
local function compare(result, best)
  local default = result.default
  local compared = best and default and default.right
  if compared and cost(default) <= cost(best) then best = default end
  result.best, result.speedup = best, compared and cost(default) / cost(best) or nil
end

-- The best, and what is between it and the default, none of it on a file's word alone.
local function decide(o, result)
  local default = result.default
  if default and default.told then confirm(o, default) end
  local best = fastest(result.rows)
  while best and best.told do
    confirm(o, best)
    best = fastest(result.rows)
  end
  compare(result, best)
end

--- What a tuning that is on, or was stopped, has by now: the settings that were measured, and the
--- best of them. Nil before the first.
---@param result Tuning as on_result is given it
---@return Tuning?
function M.so_far(result)
  local now, rows = {}, {}
  for name, value in pairs(result) do now[name] = value end
  for _, row in ipairs(result.rows) do
    if row.status and not row.told then rows[#rows + 1] = row end
  end
  if #rows == 0 then return nil end
  now.rows, now.asked, now.sampled = rows, #result.rows, now.sampled or #rows < #result.rows
  if now.default and (now.default.told or not now.default.status) then now.default = nil end
  compare(now, fastest(rows))
  return now
end

--- Measures every setting. What does not compile, cannot be launched or is wrong stays in the table
--- with its reason.
---@param options table { problem, farm, case, parameters, base?, restrict?, sample?, rng?,
---  on_result?, cache? }: parameters are names of the problem's, or { name, values };
---  restrict(values) is true for a legal combination; of more than `sample` that many are drawn
---  with rng; on_result(done, total, row, result) is called after each, with what there is by now
---  (so_far); base is a genome that all of them follow; cache is asked for settings before they are
---  measured, and stores them after (gi.tuningcache)
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
  local result = { parameters = {}, values = {}, total = #rows, sampled = false }
  for i, axis in ipairs(list) do
    result.parameters[i], result.values[axis.name] = axis.name, axis.values
  end
  if o.sample and o.sample < #rows then
    if not o.rng then error("gilua.tune.run: a sample needs `rng`", 2) end
    rows, result.sampled = sampled(rows, o.sample, o.rng), true
  end
  local left = rows
  if o.cache then
    local n = #rows
    left, rows = told(o.cache, rows)
    result.sampled = result.sampled or #rows < n
  end
  result.rows = rows
  for _, row in ipairs(rows) do
    if is_default(row, list, o.base) then result.default = row end
  end
  measure(o, left, o.on_result and function(done, total, row)
    result.case = o.farm:case_info().name
    o.on_result(done, total, row, result)
  end)
  decide(o, result)
  result.case = o.farm:case_info().name
  return result
end

--------------------------------------------------------------------------------------------------
-- For a program, and for a terminal

--- Tells a program that a setting was measured (--json).
---@param done integer
---@param total integer
---@param row table
function M.tell(done, total, row)
  events.tell("setting", { { "done", done }, { "settings", total }, { "genome", row.genome },
    { "status", row.status }, { "right", row.right }, { "ticks", row.ticks }, { "ns", row.ns } })
end

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
      if a.right and cost(a) ~= cost(b) then return cost(a) < cost(b) end
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
        and ("%.3fx"):format(cost(result.default) / cost(row)) or "-"
      lines[#lines + 1] = ("%s %-32s %12s %10.2f %9s %9s"):format(mark, name,
        row.ticks and progress.grouped(row.ticks) or "-", row.ns / 1e3, gain, row.registers or "-")
    else
      lines[#lines + 1] = ("%s %-32s %s"):format(mark, name, reason(row))
    end
  end
  return lines
end

return M
