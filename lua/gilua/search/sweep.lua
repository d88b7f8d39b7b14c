-- sweep: tries every single step from the best genome in turn: every value of every parameter (of a
-- long list of numbers those twice the one before), every switch, every transformation at each of
-- its places, __restrict__ and two __launch_bounds__. Random mutation draws some steps twice before
-- it has drawn them all; the sweep misses none.
--
-- If a step makes a block do several times as much, another number may have to fall with it (rows a
-- thread works on). So such a step is also tried with each number divided by the factor, and
-- combined with other steps that give a thread or block more work (eight of a warp's items a
-- thread, two and four groups a warp).
--
--   local steps = sweep.new(problem, genes, rng)
--   local text, step = steps:next(best) -- a genome one step from the best; nil if none is left
--   steps:came(step, 0.4, best)         -- it made the best one 0.4 times as fast
--
-- The first round goes in a random order that is drawn once. Later rounds begin with the steps that
-- were nearest to the best in speed. If a step makes a better best, the other steps continue from
-- it, after the numbers next to its own (gilua.search.retouch) that were not tried lately. A step
-- whose mutant was much slower, wrong, or the same code is skipped in the next round, in the next
-- three if that happens again, and so on. It is not skipped if a number that falls with it has
-- changed, or if it could not be launched (the grid is no multiple) and some number has changed.
-- When all steps have been tried from the same genome, none is left.

local genome = require "gilua.search.genome"
local retouch = require "gilua.search.retouch"

local M = {}

local POOR = 0.7 -- as fast as the best, and less
local LATELY = 40 -- genomes ago; half a round, where that is less
local MANY = 10 -- numbers of a parameter: more of them are not all tried
local FURTHER = 2 -- times the one before is what is tried of many

---@class gilua.step
---@field gene string
---@field default? string the parameter that it sets to what it is unless told
---@field parameter? table which is to be `by` times less with it
---@field by? integer
---@field fewer? boolean what others in the genome make it do is to be `by` times less with it
---@field given? integer how many genomes there had been when it was given last
---@field wrong? boolean it made none that is right then
---@field unlaunched? boolean it made none that could be launched then
---@field speedup? number how many times as fast as the best it was then
---@field order? integer its place, as it was drawn
---@field from? string the best from which it had its turn, where that still is the best
---@field numbers? string what of the best it went by, as it was given last: the value of its
---  parameter, or where it could not be launched those of all that are numbers
---@field bad? integer how many rounds it was to be passed over last
---@field rests? integer how many are left of these

---@class gilua.sweep
---@field steps gilua.step[] in their order
---@field of table<string, gilua.step> by their genes, those of one gene alone
---@field counts table<string, table> of genes that say how many times as much: { count, genes }
---@field given integer genomes so far
---@field siblings fun(gene: string): string[] of gi.retouch
---@field numbers table[] the parameters that are numbers
local Sweep = {}
Sweep.__index = Sweep

-- The compiler's options that are tried, by the numbers of their rules.
local TOLD = { optrestrict = { 0 }, launchbounds = { 0, 2 } }

-- Returns what two genes share that exclude each other, or nil for a gene that excludes none.
local function place_of(gene)
  local slot, type = gene:match "^(<(%a+)_[^<>]+>)<%a+_K%d+>$"
  return genome.name_set(gene) or gene:match "^T:[%w_]+<[^<>]+>" or TOLD[type] and slot
end

local function add_told(grammar, list)
  local names = {}
  for _, rule in ipairs(grammar:rules()) do names[rule.name] = true end
  for _, rule in ipairs(grammar:rules()) do
    for _, number in ipairs(TOLD[rule.type] or {}) do
      local value = ("<%s_K%d>"):format(rule.type, number)
      if names[value] then list[#list + 1] = { gene = rule.name .. value } end
    end
  end
end

-- Of many numbers the first, those further apart, and what it is unless told; all, where few.
local function spread(p)
  if #p.values <= MANY then return p.values end
  local sorted = table.move(p.values, 1, #p.values, 1, {})
  table.sort(sorted)
  local list, last = {}, nil
  for _, value in ipairs(sorted) do
    local is_far = not last or last <= 0 or value >= FURTHER * last
    if is_far or value == p.default then list[#list + 1] = value end
    if is_far then last = value end
  end
  return list
end

local function are_numbers(values)
  for _, value in ipairs(values) do
    if not math.type(value) then return false end
  end
  return #values > 1
end

-- Adds values of the open parameters, and the switches; those that are numbers.
local function add_parameters(problem, opened, list)
  local is_open, numbers = {}, {}
  for _, name in ipairs(opened) do is_open[name] = true end
  for _, p in ipairs(problem.parameters or {}) do
    local values = not p.switch and is_open[p.name] and p.values or {}
    local is_number = are_numbers(values)
    if p.switch then list[#list + 1] = { gene = p.name } end
    for _, value in ipairs(is_number and spread(p) or values) do
      list[#list + 1] = { gene = ("%s=%s"):format(p.name, value),
        default = tostring(value) == tostring(p.default) and p.name or nil }
    end
    if is_number then numbers[#numbers + 1] = p end
  end
  return numbers
end

-- Genes that differ in how many times as much is done: gene -> { count, genes by their counts }.
local function counted(kind, counts)
  local alike = {}
  for _, place in ipairs(kind.counts and kind.places or {}) do
    local args = table.move(place.args, 1, #place.args, 1, {})
    local count = math.tointeger(tonumber(args[kind.counts]))
    args[kind.counts] = ""
    local key = place.line .. "," .. table.concat(args, ",")
    alike[key] = alike[key] or {}
    alike[key][count] = place.gene
    counts[place.gene] = { count = count, genes = alike[key] }
  end
end

local function add_transformations(grammar, numbers, counts, list)
  for _, kind in ipairs(grammar:transformations()) do
    counted(kind, counts)
    for _, place in ipairs(kind.places) do
      local by = (counts[place.gene] or {}).count
      list[#list + 1] = { gene = place.gene }
      if by then list[#list + 1] = { gene = place.gene, fewer = true, by = by } end
      for _, p in ipairs(by and numbers or {}) do
        if kind.times then list[#list + 1] = { gene = place.gene, parameter = p, by = by } end
        list[#list + 1] = { gene = place.gene, parameter = p, by = by, fewer = true }
      end
    end
  end
end

--- A genome with a step made: a gene that it has goes, one that stands at its place makes room.
---@param text string
---@param step string a gene
---@return string
function M.made(text, step)
  local genes, place, is_there = {}, place_of(step), false
  for _, gene in ipairs(genome.split(text)) do
    is_there = is_there or gene == step
    if place_of(gene) ~= place then genes[#genes + 1] = gene end
  end
  if not is_there then genes[#genes + 1] = step end
  return genome.join(genes)
end

-- The value of a parameter that is nearest to a number, the smaller one of two.
local function nearest(p, wanted)
  local best
  for _, value in ipairs(p.values) do
    local is_nearer = not best or math.abs(value - wanted) < math.abs(best - wanted)
      or math.abs(value - wanted) == math.abs(best - wanted) and value < best
    if is_nearer then best = value end
  end
  return best
end

-- What a genome sets a parameter to; nil: nothing.
local function setting(text, name)
  local value
  for _, gene in ipairs(genome.split(text)) do
    if genome.name_set(gene) == name then value = gene:match "=(.*)" end
  end
  return value
end

-- A genome with a step made, and with what others make it do as many times less; nil where none of
-- them can be.
local function with_fewer(counts, text, step)
  local genes, is_fewer = {}, false
  for i, gene in ipairs(genome.split(text)) do
    local own = place_of(gene) ~= place_of(step.gene) and counts[gene]
    local fewer = own and own.count % step.by == 0 and own.genes[own.count // step.by]
    genes[i], is_fewer = fewer or gene, is_fewer or fewer ~= nil and fewer ~= false
  end
  return is_fewer and M.made(genome.join(genes), step.gene) or nil
end

-- A genome with a parameter as many times less; nil where it cannot be.
local function with_less(text, p, by)
  local present = tonumber(setting(text, p.name)) or p.default
  local less = nearest(p, present / by)
  return less < present and M.made(text, ("%s=%s"):format(p.name, less)) or nil
end

-- A genome with a step made; nil where there is none: it is so already, the number cannot be less.
local function stepped(self, text, step)
  local p = step.parameter
  if not p and not step.fewer then
    local is_so = step.default and not setting(text, step.default)
    return not is_so and M.made(text, step.gene) or nil
  end
  if (" " .. text .. " "):find(" " .. step.gene .. " ", 1, true) then return nil end
  local made = M.made(text, step.gene)
  if step.fewer then made = with_fewer(self.counts, text, step) end
  return made and p and with_less(made, p, step.by) or not p and made or nil
end

local function step_with(self, gene)
  self.of[gene] = self.of[gene] or { gene = gene }
  return self.of[gene]
end

local function is_recent(self, step)
  local lately = math.min(LATELY, #self.steps // 2)
  return step.given ~= nil and self.given - step.given < lately
end

-- A genome with each of its numbers one further down and one further up, of those that have not
-- been tried lately and were not wrong: { text, step }, the first is the last.
local function besides(self, text)
  local list, genes = {}, genome.split(text)
  for at, gene in ipairs(genes) do
    local siblings, i = self.siblings(gene), nil
    for k, sibling in ipairs(siblings) do
      if sibling == gene then i = k end
    end
    for _, k in ipairs(i and { i - 1, i + 1 } or {}) do
      local step = siblings[k] and step_with(self, siblings[k])
      if step and not step.wrong and not is_recent(self, step) then
        genes[at] = siblings[k]
        table.insert(list, 1, { genome.join(genes), step })
      end
    end
    genes[at] = gene
  end
  return list
end

-- Is a step to be passed over once more?
local function is_resting(step)
  local left = step.rests or 0
  step.rests = math.max(0, left - 1)
  return left > 0
end

-- What a genome sets those parameters to.
local function numbers_of(text, parameters)
  local list = {}
  for i, p in ipairs(parameters) do list[i] = setting(text, p.name) or "-" end
  return table.concat(list, " ")
end

-- What of the best a step goes by.
local function goes_by(self, step, best)
  return numbers_of(best, step.unlaunched and self.numbers or { step.parameter })
end

-- Steps that are others from a new best than they were have their turn again.
local function forget(self, best)
  for _, step in ipairs(self.steps) do
    step.from = nil
    local is_other = step.numbers and step.numbers ~= goes_by(self, step, best)
    if is_other then step.numbers, step.speedup, step.rests, step.bad = nil, nil, 0, 0 end
  end
end

-- Steps that came nearer first; those that had no turn yet are as good as the best.
local function sort(steps)
  table.sort(steps, function(a, b)
    local x, y = a.speedup or 1, b.speedup or 1
    return x > y or x == y and a.order < b.order
  end)
end

-- The next step in its turn, and what it makes; nil where all had theirs from this one.
local function in_turn(self, best)
  for _ = 1, 2 * #self.steps do -- the order may change once on the way
    if self.at == #self.steps then sort(self.steps) end
    self.at = self.at % #self.steps + 1
    local step = self.steps[self.at]
    if step.from ~= best then
      step.from = best
      local text = not is_resting(step) and not is_recent(self, step) and stepped(self, best, step)
      if text then return text, step end
    end
  end
end

--- The next genome, and the step that made it; nil where all have been tried from this one.
---@param best string
---@return string?
---@return gilua.step?
function Sweep:next(best)
  if best ~= self.best then
    self.near = besides(self, best)
    self.best = best
    forget(self, best)
  end
  local text, step = table.unpack(table.remove(self.near) or {})
  if not text then text, step = in_turn(self, best) end
  if not text then return nil end
  self.given, step.given = self.given + 1, self.given
  return text, step
end

--- What became of a step.
---@param step gilua.step
---@param speedup number how many times as fast as the best one was; 0: it is not right
---@param best? string from which it was made
---@param is_unlaunched? boolean a launch did not fit
function Sweep:came(step, speedup, best, is_unlaunched)
  step.speedup, step.unlaunched = speedup, is_unlaunched
  local has_numbers = best and (is_unlaunched or step.parameter)
  step.numbers = has_numbers and goes_by(self, step, best) or nil
  local is_poor = speedup < POOR or speedup == 1
  step.bad = is_poor and 2 * (step.bad or 0) + 1 or 0
  step.rests, step.wrong = step.bad, speedup == 0
end

--- The steps of a problem.
---@param problem table
---@param genes table as gi.own.genes: { parameters =, transform_share = } (no transformations at 0)
---@param rng table
---@return gilua.sweep
function M.new(problem, genes, rng)
  local list, counts = {}, {}
  local numbers = add_parameters(problem, genes.parameters or {}, list)
  add_told(problem.grammar, list)
  if (genes.transform_share or 0) > 0 then
    add_transformations(problem.grammar, numbers, counts, list)
  end
  for i = #list, 2, -1 do
    local k = rng:int(i)
    list[i], list[k] = list[k], list[i]
  end
  local of = {}
  for i, step in ipairs(list) do
    step.order = i
    if not step.parameter and not step.fewer then of[step.gene] = step end
  end
  return setmetatable({ steps = list, of = of, counts = counts, numbers = numbers,
    siblings = retouch.new(problem).siblings, at = 0, given = 0 }, Sweep)
end

return M
