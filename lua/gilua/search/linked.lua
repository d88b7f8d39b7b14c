-- linked: repairs genomes whose parameters violate a restriction. With `block_size_x == TILE_X` a
-- mutant that sets one of the two cannot be launched. The repair sets as few other parameters as
-- possible, each to the allowed value nearest to its own.
--
--   local repair = linked.of(problem)
--   repair("TILE_X=32", "")  -- "TILE_X=32 block_size_x=32"
--
-- Settings that differ from the parent's stay. If that leaves no solution, only the last of them
-- stays. If there is still none, the genome is unchanged, and the launch names the restriction that
-- does not hold.

local genome = require "gilua.search.genome"

local M = {}

local MOST_MOVED = 3   -- parameters that one setting may move
local MOST_TRIES = 4000 -- settings that a repair asks the restrictions about

-- The parameters that a repair may move, by name.
local function movable(problem)
  local list = {}
  for _, p in ipairs(problem.parameters or {}) do
    if not p.switch and p.values and #p.values > 1 then list[#list + 1] = p end
  end
  return list
end

-- What a genome gives the parameters of a problem.
local function values_of(problem, text)
  local values = {}
  for _, p in ipairs(problem.parameters) do
    if p.switch then values[p.name] = false else
      values[p.name] = tonumber(p.default) or p.default
    end
  end
  for _, gene in ipairs(genome.split(text)) do
    local name = genome.name_set(gene)
    if name and values[name] ~= nil then
      local value = gene:match "=(.*)"
      values[name] = value == nil or tonumber(value) or value
    end
  end
  return values
end

-- The values of a parameter but for the present one, nearest first.
local function others(p, present)
  local list, at = {}, 1
  for i, value in ipairs(p.values) do
    if value == present then at = i end
  end
  for i, value in ipairs(p.values) do
    if i ~= at then list[#list + 1] = { value = value, far = math.abs(i - at), order = i } end
  end
  table.sort(list, function(a, b)
    return a.far < b.far or a.far == b.far and a.order < b.order
  end)
  return list
end

-- Sets `n` of the free parameters, from the first-th on, so that the restrictions hold. Values are
-- changed in place; false leaves them as they were.
local function moved(search, first, n)
  if n == 0 then
    search.tries = search.tries + 1
    return search.restrict(search.values)
  end
  for i = first, #search.free do
    local name = search.free[i].name
    local present = search.values[name]
    for _, other in ipairs(others(search.free[i], present)) do
      if search.tries >= MOST_TRIES then break end
      search.values[name] = other.value
      if moved(search, i + 1, n - 1) then return true end
    end
    search.values[name] = present
  end
  return false
end

-- Values with as few others than the fixed ones changed as the restrictions allow; nil: none.
local function solved(problem, values, fixed)
  local search = { restrict = problem.restrict, values = values, free = {}, tries = 0 }
  for _, p in ipairs(movable(problem)) do
    if not fixed[p.name] then search.free[#search.free + 1] = p end
  end
  for n = 1, math.min(MOST_MOVED, #search.free) do
    if moved(search, 1, n) then return values end
  end
end

-- A genome with the settings that values ask for; one that is the default needs no gene.
local function with_values(problem, text, values)
  local before, genes, new = values_of(problem, text), {}, {}
  for _, gene in ipairs(genome.split(text)) do
    local name = genome.name_set(gene)
    if not name or values[name] == nil or values[name] == before[name] then
      genes[#genes + 1] = gene
    end
  end
  for _, p in ipairs(problem.parameters) do
    local value = values[p.name]
    if value ~= before[p.name] and tostring(value) ~= tostring(p.default) then
      new[#new + 1] = ("%s=%s"):format(p.name, value)
    end
  end
  return genome.join { genome.join(genes), genome.join(new) }
end

-- The names that a genome sets differently from another; and that of its last setting alone.
local function set_by(problem, text, parent)
  local now, before, changed, last = values_of(problem, text), values_of(problem, parent), {}, {}
  for name, value in pairs(now) do changed[name] = value ~= before[name] or nil end
  for _, gene in ipairs(genome.split(text)) do
    local name = genome.name_set(gene)
    if name and now[name] ~= nil then last = { [name] = true } end
  end
  return changed, last
end

--- Returns the function that repairs genomes of a problem: (genome, parent) -> genome.
---@param problem table parameters and restrict are used
---@return fun(text: string, parent?: string): string
function M.of(problem)
  local restrict = problem.restrict
  if not restrict or #movable(problem) < 2 then return function(text) return text end end
  local known = {} -- settings -> do they hold?
  return function(text, parent)
    local values = values_of(problem, text)
    local words = {}
    for i, p in ipairs(problem.parameters) do words[i] = tostring(values[p.name]) end
    local key = table.concat(words, " ")
    if known[key] == nil then known[key] = restrict(values) and true or false end
    if known[key] then return text end
    local changed, last = set_by(problem, text, parent or "")
    local found = solved(problem, values, changed)
      or solved(problem, values_of(problem, text), last)
    return found and with_values(problem, text, found) or text
  end
end

return M
