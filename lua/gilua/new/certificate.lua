--- certificate: are a winner and the kernel as it is equal over the reals (docs/certificate.md)?
--
-- Both run on the virtual GPU with random elements of a field in the inputs' place, in two orders
-- of their threads, on cases of several sizes. What is equal there is equal for all real inputs for
-- which the floats compare as they do here. So a winner that is certified needs no tolerance.

local genome = require "gilua.search.genome"
local json = require "gilua.base.json"
local otherdata = require "gilua.new.otherdata"
local promises = require "gilua.new.promises"
local settings = require "gilua.base.settings"

local M = {}

local FAST = "--use_fast_math"
local MOST_TIMES = 8 -- the small case's instructions that a case may take
local CHEAP = 2e6 -- warp instructions of a run after which nobody waits long

---@class Certificate
---@field certified boolean
---@field comparisons? integer different comparisons and conversions of floats, alike in both
---@field data_sets? integer
---@field degree_bits? number it is wrong with a chance of 2^-degree_bits at most
---@field why? string
---@field line? integer of the source
---@field kernel? string "the kernel as it is" or "the winner": whose line it is
---@field data? string where it was found

-- A problem whose kernels are compiled with functions in place of code that takes floats apart:
-- expf is then 2^(x log2 e). Over the reals that is the same.
local function with_functions(problem)
  return setmetatable({
    compile_options = function(_, values)
      local options, target = problem:compile_options(values)
      local list = table.move(options, 1, #options, 1, {})
      for _, option in ipairs(options) do
        if option:find "use_fast_math" then return list, target end
      end
      list[#list + 1] = FAST
      return list, target
    end,
  }, { __index = problem })
end

-- Genes below the source name places of PTX as it is compiled usually.
local function is_of_source(problem, text)
  if type(text) == "table" then return true end -- another file's kernel
  local _, below, of_llvm = genome.parts(text)
  return not problem.is_ptx and below == "" and of_llvm == "" and not text:find "compiler=llvm"
end

--- The case that a certificate is tried on first.
---@param problem gilua.problem
---@return { data: string, spec: table }
function M.small(problem)
  return { data = "the small case", spec = problem.checked_case }
end

--- The cases that a certificate is tried on: the small one, others of its sizes, no special data.
---@param problem gilua.problem
---@param text string|Counterpart genome, or another file's kernel
---@param seed integer
---@param budget? integer
---@return { data: string, spec: table }[]
function M.cases(problem, text, seed, budget)
  local list = { M.small(problem) }
  if not problem.definition.kernel_table then return list end
  for _, case in ipairs(otherdata.cases(problem, text, { seed = seed, budget = budget })) do
    local is_avoided = type(text) == "table" and text:avoids(case.spec)
    if not case.spec.family and not is_avoided then list[#list + 1] = case end
  end
  return list
end

local WHOSE = { "the kernel as it is", "the winner" }

local function refused(why, more)
  local c = { certified = false, why = why }
  for key, value in pairs(more or {}) do c[key] = value end
  return c
end

-- "the budget of 5 warp instructions ran out", without what each warp did then; nil of other ends.
local function ran_out(lost)
  return (lost.message or ""):match "^(the budget of %d+ warp instructions ran out)"
end

-- What a case says against a certificate; nil where it says nothing: the kernel as it is does not
-- run there or writes no number, or the other takes more instructions than there is time for.
local function objection(case, found)
  local lost, c = found.lost, found.certificate
  if found.why or lost and (lost.kernel == 1 or ran_out(lost)) then return nil end
  if lost then return refused(lost.message or lost.status, { data = case.data }) end
  if c.certified or c.empty then return nil end
  local side = c.side == "first" and 1 or found.kernel
  local line = c.side ~= "both" and c.line or nil
  return refused(c.why, { data = case.data, line = line, kernel = WHOSE[side] })
end

local function is_certified(found)
  return found.certificate and found.certificate.certified
end

--- One certificate of those of all cases.
---@param cases { data: string }[]
---@param list table[] of farm:certify
---@return Certificate
function M.together(cases, list)
  local all, empty = { certified = true, comparisons = 0, data_sets = 0, degree_bits = math.huge }
  for i, found in ipairs(list) do
    local no = objection(cases[i], found)
    if no then return no end
    empty = empty or found.certificate and found.certificate.why
    if is_certified(found) then
      all.data_sets = all.data_sets + 1
      all.comparisons = all.comparisons + found.certificate.comparisons
      all.degree_bits = math.min(all.degree_bits, found.certificate.degree_bits)
    end
  end
  if all.data_sets > 0 then return all end
  if empty then return refused(empty) end
  local first = list[1]
  local lost = first.lost or {}
  if lost.kernel and lost.kernel ~= 1 then return refused(ran_out(lost)) end
  return refused("the kernel as it is does not run on any case: "
    .. (first.why or ran_out(lost) or lost.message or "no reason is known"))
end

-- The other problem's kernel for checked runs, where there is another problem.
local function other_kernel(o, fast)
  if not o.other then return nil end
  local farm <close> = require("gilua").farm(fast and with_functions(o.other) or o.other,
    { device = "emu", jobs = o.jobs })
  return farm:checked_kernel(o.genome)
end

--- Certifies a genome, or another problem's kernel, equal to the unmodified kernel of a problem.
---@param o { problem: gilua.problem, genome?: string|Counterpart, other?: gilua.problem,
---  cases?: table[], seed?: integer, jobs?: integer, most?: number } other: with the same
---  arguments; its genome is meant then; most: warp instructions that the small case may take
---@return Certificate
function M.of(o)
  o = settings.fill("gilua.certificate.of", o, { genome = "", seed = 1 },
    { "problem", "other", "cases", "jobs", "most" })
  local fast = is_of_source(o.other or o.problem, o.genome)
  local kernel, why = other_kernel(o, fast)
  if why then return refused(why) end
  local farm <close> = require("gilua").farm(fast and with_functions(o.problem) or o.problem,
    { device = "emu", jobs = o.jobs })
  local text = kernel and "" or o.genome
  local base = farm:check({ "" })[1]
  if o.most and (base.instructions or 0) > o.most then
    return refused(("its small case takes %d warp instructions, and a run over the reals would "
      .. "take long: gilua verify tries it"):format(base.instructions))
  end
  local cases = o.cases or M.cases(o.problem, text, o.seed,
    base.instructions and base.instructions * MOST_TIMES)
  local specs = {}
  for i, case in ipairs(cases) do specs[i] = case.spec end
  if type(text) == "table" then text:reach(specs) end
  local list, no = farm:certify(text, specs, { seed = o.seed, kernel = kernel })
  return list and M.together(cases, list) or refused(no)
end

local function counted(n, what)
  return ("%d %s%s"):format(n, what, n == 1 and "" or "s")
end

--- The promises that a person still has to keep: a certified winner needs none of a tolerance.
---@param c? Certificate
---@param list? string[]
---@return string[]?
function M.open(c, list)
  if not (c and c.certified and list) then return list end
  local left = {}
  for _, promise in ipairs(list) do
    if not promise:find(promises.BY_TOLERANCE, 1, true) then left[#left + 1] = promise end
  end
  return left
end

-- Genes with which a genome stays certified, in their order.
local function certified_part(o, text)
  local kept = ""
  for _, gene in ipairs(genome.split(text)) do
    local more = genome.join { kept, gene }
    if M.of { problem = o.problem, genome = more, jobs = o.jobs }.certified then kept = more end
  end
  return kept
end

--- Holds winners to certificates: an observer and a scheme's `hold` (gilua.evolve). Genes without
--- which a winner is certified are left out.
---@param problem gilua.problem
---@param jobs? integer
---@param hold? fun(text: string): string of another, asked first
---@return { hold: fun(text: string): string, on_end: fun(run: Run) }
function M.watch(problem, jobs, hold)
  local known = {}
  local function of(text)
    known[text] = known[text] or M.of { problem = problem, genome = text, jobs = jobs }
    return known[text]
  end
  local function held(text)
    text = hold and hold(text) or text
    if text == "" or of(text).certified then return text end
    local part = certified_part({ problem = problem, jobs = jobs }, text)
    return hold and hold(part) or part
  end
  return { hold = held, on_end = function(run)
    local result = run.result
    if not result or run.stopped or result.best.genome == "" then return end
    local c = of(result.best.genome)
    result.certificate, result.certified = M.value(c), M.sentence(c)
    result.promises = M.open(c, result.promises)
  end }
end

--- Says of a search's winner whether it is certified on the small case: an observer. `gilua verify`
--- tries other sizes, too, so that marks stay until then.
---@param problem gilua.problem
---@param jobs? integer
---@return { on_end: fun(run: Run) }
function M.told(problem, jobs)
  return { on_end = function(run)
    local result = run.result
    if not result or run.stopped or result.best.genome == "" then return end
    local c = M.of { problem = problem, genome = result.best.genome, jobs = jobs, most = CHEAP,
      cases = { M.small(problem) } }
    result.small_certificate, result.certified = M.value(c), M.sentence(c)
  end }
end

--- What a file has of a certificate; nil where that is none.
---@param value any
---@return Certificate?
function M.read(value)
  local is_one = type(value) == "table" and type(value.certified) == "boolean"
  if not is_one then return nil end
  local c = { certified = value.certified, comparisons = math.tointeger(value.comparisons),
    data_sets = math.tointeger(value.data_sets), line = math.tointeger(value.line),
    degree_bits = tonumber(value.degree_bits) }
  for _, name in ipairs { "why", "kernel", "data" } do
    c[name] = type(value[name]) == "string" and value[name] or nil
  end
  local whole = c.certified and c.comparisons and c.data_sets or not c.certified and c.why
  return whole and c or nil
end

--- A certificate in a sentence.
---@param c Certificate
---@return string
function M.sentence(c)
  if c.certified then
    return ("certified equal over the reals (%s alike, %s)"):format(
      counted(c.comparisons, "comparison"), counted(c.data_sets, "data set"))
  end
  local where = c.line and ("line %d of %s: "):format(c.line, c.kernel) or ""
  return ("not certified: %s%s"):format(where, c.why)
end

--- A certificate for JSON.
---@param c? Certificate
---@return table?
function M.value(c)
  if not c then return nil end
  return json.object { { "certified", c.certified }, { "comparisons", c.comparisons },
    { "data_sets", c.data_sets }, { "degree_bits", c.degree_bits }, { "why", c.why },
    { "line", c.line }, { "kernel", c.kernel }, { "data", c.data } }
end

return M
