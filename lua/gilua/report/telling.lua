--- telling: lists mutants that are right on one of a case's recordings and wrong on another
--- (gilua.farm.together). Evolution on one recording alone would have kept them.

local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local json = require "gilua.base.json"

local M = {}

local MOST = 20 -- that are looked at in the end, and that are named: the shortest first

-- A measurement's recordings by whether it was right there; nil where all agree.
local function divided(m)
  local right, wrong = {}, {}
  if m.small then return nil end
  for _, row in ipairs(m.recordings or {}) do
    local list = row.right and right or wrong
    list[#list + 1] = row.case
  end
  if #right == 0 or #wrong == 0 then return nil end
  return right, wrong
end

local function add(run, text, right, wrong)
  local list = run.told_by_some or {}
  run.told_by_some = list
  if list[text] then return end
  local row = { genome = text, right = right, wrong = wrong }
  list[#list + 1], list[text] = row, row
end

-- Faster than the unmodified kernel, and known to be wrong on the small case alone.
local function is_tempting(m, base)
  return m.small and m.status == "ok" and base and m.ticks < base.ticks
end

local function by_length(a, b)
  local m, n = genome.length(a.genome), genome.length(b.genome)
  if m ~= n then return m < n end
  return a.genome < b.genome
end

-- What is wrong on the small case goes no further while there is something to evolve. Are those
-- that would have been faster wrong everywhere?
local function look_closer(run, tempting)
  local recorded = run.problem.definition and run.problem.definition.recorded
  if not recorded or #tempting == 0 then return end
  table.sort(tempting, by_length)
  local genomes = {}
  for i = 1, math.min(#tempting, MOST) do genomes[i] = tempting[i].genome end
  local list = run.scheme.farm:evaluate(genomes, recorded:together "train", { wrong = "whole" })
  local small = recorded:name_of(run.problem.checked_case.recording)
  for i, m in ipairs(list) do
    local right, wrong = divided(m)
    if not right and fitness.right(m) then
      right, wrong = { run.scheme.farm:case_info().name }, { small }
    end
    if right then add(run, genomes[i], right, wrong) end
  end
end

--- An observer that keeps which mutants only some recordings tell, as run.told_by_some.
---@return table
function M.observer()
  local tempting, seen, base = {}, {}, nil
  return {
    on_result = function(run, individual)
      local m = individual.measurement
      local right, wrong = divided(m)
      if individual.birth == "unmodified" then base = m end
      if right then return add(run, individual.genome, right, wrong) end
      if is_tempting(m, base) and not seen[individual.genome] then
        tempting[#tempting + 1], seen[individual.genome] = individual, true
      end
    end,
    on_end = function(run)
      if run.result and not run.stopped then look_closer(run, tempting) end
    end,
  }
end

--- One of them in words.
---@param row { genome: string, right: string[], wrong: string[] }
---@return string
function M.sentence(row)
  return ("%s: right on %s, wrong on %s"):format(row.genome, table.concat(row.right, ", "),
    table.concat(row.wrong, ", "))
end

--- Those of a run, the shortest first.
---@param run Run
---@return { genome: string, right: string[], wrong: string[] }[] at most MOST
---@return integer of how many
function M.list(run)
  local list = table.move(run.told_by_some or {}, 1, #(run.told_by_some or {}), 1, {})
  table.sort(list, by_length)
  return table.move(list, 1, math.min(#list, MOST), 1, {}), #list
end

--- What result.json has of them; nil where there are none.
---@param run Run
---@return table?
function M.value(run)
  local list, n = M.list(run)
  if n == 0 then return nil end
  for i, row in ipairs(list) do
    list[i] = json.object { { "genome", row.genome }, { "right", json.array(row.right) },
      { "wrong", json.array(row.wrong) } }
  end
  return json.object { { "count", n }, { "mutants", json.array(list) } }
end

--- Returns the sentences printed at the end, or nil if there are none.
---@param run Run
---@return string?
function M.summary(run)
  local list, n = M.list(run)
  if n == 0 then return nil end
  return ("%d mutant%s right on some recordings and wrong on others, %s"):format(n,
    n == 1 and " was" or "s were", M.sentence(list[1]))
end

return M
