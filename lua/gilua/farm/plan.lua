--- plan: one mutant on its way through the funnel: its text, and what is known of it so far. Fields
-- named by verbs (check, run) are requests; fields named by nouns are facts and results.

local assembler = require "gilua.farm.assembler"
local compilers = require "gilua.problem.compilers"
local core = require "gilua.core"
local failed = require("gilua.farm.runner").failed
local genomes = require "gilua.search.genome"
local launches = require "gilua.transform.launch"

local M = {}

local ZERO = "the source has a zero byte"

---@class gilua.plan
---@field genome string
---@field by_hand boolean a text of somebody's, not made by the grammar
---@field is_baseline boolean? the unmodified kernel, first on its case: sets what others may use
--- requests:
---@field check boolean? to run on the small case with every check on
---@field run boolean? to run on the whole case
---@field slow_above number|false? nanoseconds above which timing stops early
---@field copy string? makes the keys of equal plans differ
---@field way string? how it runs on other data: "backwards", "again" (worker.lua); nil: once
--- its text; nothing of it where there is a failure from the start:
---@field text gilua.plan.text
---@field checked gilua.plan.text its form for the checked run; the text itself where they are one
---@field hasty gilua.plan.text? that form, to be compiled in haste before all others: sieve.lua
---@field machine gilua.plan.text? what gives the machine code of a GPU, where the text gives PTX
---@field values table parameter values
---@field launch_key string those that a launch may depend on
--- what was found so far:
---@field unit gilua.unit? what the compiler made of the text
---@field hasty_unit gilua.unit? and in haste
---@field sifted boolean? the sieve let it through
---@field code_hash string? of the machine code
---@field verdict table? of the checked run
---@field verdict_key string? of that: equal PTX and launch
---@field small table? its measurement, by the small case: screen.lua
---@field failure table? the measurement of one that got no further
---@field exploded boolean? a compiler did not come to an end with it in its time
---@field key string? of its run: equal code and launch
---@field counted boolean? it came to where its answer is, or is on its way
local Plan = {}
Plan.__index = Plan

---@class gilua.plan.text what a compiler is given
---@field genome string? whose source it is, where the grammar makes that
---@field guarded boolean? … with guards in its loops
---@field source string? by hand; for a genome it is made at the first use (Maker:source)
---@field source_hash string 128 bits of it
---@field options string[]
---@field target string
---@field hash string of all three
---@field alone boolean? not to be compiled together with others
---@field llvm gilua.llvm_use? LLVM compiles it; else NVRTC
---@field genes string? that edit what another text, `of`, was compiled to; of a text that has no
---  source itself
---@field edits string? what of it: "ptx", or "ir", LLVM's bitcode
---@field of gilua.plan.text?
---@field base gilua.plan.text? the unmodified kernel's, whose instructions the genes name
---@field ptx string? hash of the kept PTX that it gives the machine code of
---@field ptx_hash string? of that, canonical

--- The checked run is on the virtual GPU, which runs PTX: machine code's target in its words.
local function virtual(target)
  return (target:gsub("^sm_", "compute_"))
end

---@param source_hash string
---@param options string[]
---@param target string
---@param llvm gilua.llvm_use?
---@return gilua.plan.text without what says how its source is to be had
local function text_of(source_hash, options, target, llvm)
  if target:find "^compute_" then options = assembler.without(options) end
  local all = target .. "\n" .. table.concat(options, "\n") .. "\n" .. source_hash
  if llvm then all = ("LLVM %s, %s\n%s"):format(llvm.version, llvm.passes, all) end
  return { source_hash = source_hash, options = options, target = target, llvm = llvm,
    hash = core.system.hash128(all) }
end

local OPTIMISES = { "^%-Of", "^%-%-Of", "^%-G$", "^%-%-device%-debug", "^%-O%d$" }

--- The same source with an option more, for PTX; nil where its own say how it is to be optimised.
---@param text gilua.plan.text of NVRTC's
---@param option string
---@return gilua.plan.text?
function M.in_haste(text, option)
  local options = table.move(text.options, 1, #text.options, 1, {})
  for _, own in ipairs(options) do
    for _, pattern in ipairs(OPTIMISES) do
      if own:find(pattern) then return nil end
    end
  end
  options[#options + 1] = option
  local hasty = text_of(text.source_hash, options, virtual(text.target))
  hasty.genome, hasty.guarded, hasty.source = text.genome, text.guarded, text.source
  hasty.alone = text.alone
  return hasty
end

--- What a text's PTX, or LLVM's bitcode before it, is edited to.
---@param of gilua.plan.text
---@param base gilua.plan.text
---@param genes string
---@param edits string "ptx" or "ir"
---@return gilua.plan.text
local function edited_text(of, base, genes, edits)
  return { of = of, base = base, genes = genes, edits = edits, options = of.options,
    target = of.target, hash = core.system.hash128(of.hash .. "\n" .. genes) }
end

--- An edited text once more, as machine code.
---@param text gilua.plan.text
---@param target string
---@param options string[]
---@return gilua.plan.text
local function edited_for(text, target, options)
  local told = target .. "\n" .. table.concat(options, "\n")
  return { of = text.of, base = text.base, genes = text.genes, edits = text.edits,
    options = options, target = target, hash = core.system.hash128(text.hash .. "\n" .. told) }
end

--- A text behind all that it is made from.
local function add_text(list, text)
  if text.of then
    add_text(list, text.base)
    add_text(list, text.of)
  end
  list[#list + 1] = text
end

--- What is to be compiled before this plan can go on, in this order.
---@return gilua.plan.text[]
function Plan:texts()
  if self.failure then return {} end
  if self.hasty then return { self.hasty } end
  local list = {}
  add_text(list, self.text)
  if self.check and self.checked ~= self.text then list[#list + 1] = self.checked end
  return list
end

local function with_code(plan, hash)
  plan.key = hash .. " " .. plan.launch_key .. (plan.copy or "")
end

-- Equal PTX has equal machine code: a text for that is known by it, whatever source it has.
local function machine_of_ptx(text, unit)
  local copy = {}
  for name, value in pairs(text) do copy[name] = value end
  local told = text.target .. "\n" .. table.concat(text.options, "\n")
  copy.ptx, copy.ptx_hash = unit.ptx, unit.ptx_hash
  copy.hash = core.system.hash128(("PTX %s for %s"):format(unit.ptx_hash, told))
  return copy
end

--- The compiler was through with its text.
---@param unit gilua.unit
function Plan:compiled(unit)
  self.unit = unit
  if self.machine then
    if self.machine.ptx_hash ~= unit.ptx_hash then
      self.machine = machine_of_ptx(self.machine, unit)
    end
    return
  end
  self.code_hash = unit.code_hash
  with_code(self, unit.code_hash or unit.ptx_hash)
end

--- … and with the machine code of that.
---@param unit gilua.unit
function Plan:assembled(unit)
  self.code_hash = unit.code_hash
  with_code(self, unit.code_hash or unit.ptx_hash)
end

--- PTX and machine code are made together.
function Plan:in_one_go()
  if self.checked == self.text then self.checked = self.machine end
  self.text, self.machine = self.machine, nil
end

--- The text whose code a device is given.
---@return gilua.plan.text
function Plan:coded()
  return self.machine or self.text
end

--- What a memory keeps its measurement under.
---@return string
function Plan:measured_as()
  return self.small and "small:" .. self.verdict_key or self.key
end

--- It gets no further.
---@param status string
---@param message string
---@param log string?
function Plan:fail(status, message, log)
  self.failure = failed(status, message)
  self.failure.log = log
end

--- What it shares with others that come to the same end, the narrowest first.
local function keys_of(plan)
  local copy = plan.copy or ""
  local keys = { { "genome", plan.genome .. copy } }
  if plan.text then keys[2] = { "source", plan.text.hash .. plan.launch_key .. copy } end
  if plan.unit then keys[3] = { "ptx", plan.unit.ptx_hash .. plan.launch_key .. copy } end
  if plan.key and not plan.failure then keys[4] = { "code", plan.key } end
  return keys
end

--- The narrowest thing that it has in common with one seen before; from now on it is seen too.
---@param seen table<string, boolean>
---@return string? kind "genome", "source", "ptx" or "code"
function Plan:seen_as(seen)
  local known
  for _, key in ipairs(keys_of(self)) do
    local name = key[1] .. " " .. key[2]
    known = known or seen[name] and key[1]
    seen[name] = true
  end
  return known or nil
end

-- --- making them --------------------------------------------------------------------------------

---@class gilua.plan.maker
local Maker = {}
Maker.__index = Maker

--- The lines before every mutant, and those before its checked form where that is another text.
local function prologues(problem, clock)
  local grammar = problem.grammar
  local function lines(text) return text == "" and "" or text .. "#line 1\n" end
  local spans = clock == "spans" and grammar:clock(true) or ""
  local no_spans = clock == "spans" and grammar:clock(false) or ""
  local on = grammar:guard(true, problem.loop_limit)
  return lines(grammar:guard(false) .. spans), on ~= "" and lines(on .. no_spans) or nil
end

-- The parameters that a launch may depend on, by name: a switch shows in the PTX alone.
local function launch_names(problem)
  local names = { launches.PARAMETER }
  for _, p in ipairs(problem.parameters) do
    if not p.switch then names[#names + 1] = p.name end
  end
  table.sort(names)
  return names
end

---@param problem gilua.problem
---@param target string? what the device wants: "compute_90", "sm_90"; nil: only sources are made
---@param clock string "events" or "spans"
---@param two_stages? boolean machine code comes after PTX, and only on request
---@return gilua.plan.maker
function M.maker(problem, target, clock, two_stages)
  local plain, guarded = prologues(problem, clock)
  local first = two_stages and target and virtual(target) or target
  return setmetatable({ problem = problem, target = first, last = first ~= target and target or nil,
                        has_zero = problem.source:find("\0", 1, true) ~= nil,
                        clock = clock == "spans", launch_names = launch_names(problem),
                        prologue = plain,
                        checked_prologue = guarded }, Maker)
end

--- All values, and those that a launch may depend on as a key.
function Maker:launch_values(params)
  local all, parts = self.problem:values(params), {}
  for _, name in ipairs(self.launch_names) do
    local value = all[name]
    if value ~= nil then parts[#parts + 1] = name .. "=" .. tostring(value) end
  end
  if all.judged then parts[#parts + 1] = "judged=" .. all.judged.key end
  return all, table.concat(parts, " ")
end

local function check_by_hand(genome)
  if type(genome.source) ~= "string" then
    error("gilua.farm: a mutant by hand is { source = text, params = {...} }", 0)
  end
end

--- What is to be known of a mutant's source: its hash, the values that it sets, whether its loops
--- need guards, and whether it may declare what it likes; or nil and why there is none. Thousands
--- of plans wait at once: the source itself is made when a compiler wants it.
---@param genome string|table
---@param guarded? boolean with guards
---@return string? hash
---@return table|string params
---@return boolean? unbounded
---@return boolean? alone
function Maker:look_at(genome, guarded)
  if type(genome) == "table" then
    check_by_hand(genome)
    if genome.source:find("\0", 1, true) then return nil, ZERO end
    return core.system.hash128(genome.source), genome.params or {}, false, not genome.kin
  end
  if self.has_zero then return nil, ZERO end
  local hash, detail = self.problem.grammar:apply(genome, { clock = self.clock, lines = false,
    hash = guarded and self.checked_prologue or self.prologue })
  if not hash then return nil, detail end
  return hash, detail.params, detail.unbounded, detail.rewritten
end

--- The source of a text, as its compiler is given it.
---@param text { genome: string?, guarded: boolean?, source: string? }
---@return string? source
---@return string? message why the grammar makes none of the genome
function Maker:source(text)
  if text.source then return text.source end
  local source, why = self.problem.grammar:apply(text.genome, { clock = self.clock, lines = false })
  if not source then return nil, why end
  return (text.guarded and self.checked_prologue or self.prologue) .. source
end

--- Makes the source of a genome, and refuses one whose hash is not the manager's.
---@param text { genome: string, guarded: boolean?, source_hash: string }
---@return string? source
---@return string? message
function Maker:same_source(text)
  local source, why = self:source(text)
  if not source then return nil, why end
  if core.system.hash128(source) == text.source_hash then return source end
  return nil, ("the genome '%s' makes another source here: the kernel's text or its grammar is "
    .. "not the manager's"):format(text.genome)
end

local function name_of(genome)
  if type(genome) ~= "table" then return genome end
  return genome.name or "by hand " .. core.system.hash(genome.source)
end

-- Has the unmodified kernel a loop that a guard may stand in?
function Maker:has_loops()
  if self.loops == nil then
    self.loops = self:source { genome = "" }:find("GILUA_OK()", #self.prologue, true) ~= nil
  end
  return self.loops
end

--- The text of the unmodified kernel.
---@return gilua.plan.text
function Maker:unmodified()
  self.base = self.base or self:plan("").text
  return self.base
end

--- The text whose bitcode LLVM's genes name: the unmodified kernel's, where LLVM compiles that, or
--- what a gene has LLVM make of it.
---@return gilua.plan.text?
function Maker:llvm_base()
  local base = self:unmodified()
  if base.llvm then return base end
  local plan = self:plan "compiler=llvm"
  return plan.text and plan.text.llvm and plan.text or nil
end

--- The text with genes below the source; nil and why there is none.
local function with_edits(self, text, genome)
  local _, of_ptx, of_llvm = genomes.parts(genome)
  if of_llvm ~= "" then
    if not text.llvm then
      return nil, "its genes name instructions of LLVM's, and NVRTC compiles it: --compiler llvm, "
        .. "or a gene compiler=llvm where the problem has that parameter"
    end
    text = edited_text(text, self:llvm_base(), of_llvm, "ir")
  end
  if of_ptx ~= "" then text = edited_text(text, self:unmodified(), of_ptx, "ptx") end
  return text
end

--- What gives the machine code of a plan; nil where the problem has a target of its own, which is
--- left to the driver.
function Maker:machine_of(plan, options, own_target)
  if not self.last or own_target then return nil end
  local text = plan.text
  if text.of then return edited_for(text, self.last, options) end
  local machine = text_of(text.source_hash, options, self.last, text.llvm)
  machine.alone, machine.genome, machine.source = text.alone, text.genome, text.source
  return machine
end

--- What is known of a genome before anything is compiled.
---@param genome string|table "" is the unmodified kernel; { source =, params = } one by hand; kin:
---  the unmodified text but for words inside its functions, fit to be compiled with others
---@return gilua.plan
function Maker:plan(genome)
  local by_hand = type(genome) == "table"
  local is_edited = not by_hand and genomes.is_below(genome)
  local source_hash, params, unbounded, alone = self:look_at(genome)
  local plan = setmetatable({ genome = name_of(genome), by_hand = by_hand }, Plan)
  if not source_hash then
    plan:fail("compile_error", params)
    return plan
  end
  plan.values, plan.launch_key = self:launch_values(params)
  local recorded = self.problem.definition and self.problem.definition.recorded
  local refusal = recorded and recorded:refuses(plan.values[launches.PARAMETER])
  if refusal then
    plan:fail("launch_error", refusal)
    return plan
  end
  local options, own_target = self.problem:compile_options(plan.values)
  local target = own_target or self.target
  local llvm = compilers.llvm(self.problem, plan.values)
  plan.text = text_of(source_hash, options, target, llvm)
  plan.text.alone = alone
  if by_hand then plan.text.source = genome.source else plan.text.genome = genome end
  if is_edited then
    local text, why = with_edits(self, plan.text, genome)
    if not text then
      plan:fail("compile_error", why)
      return plan
    end
    plan.text = text
  end
  plan.machine = self:machine_of(plan, options, own_target)
  plan.checked = plan.text
  -- Where every loop ends as it did no guard is needed, nor a second compilation; the unmodified
  -- kernel's guards say how far those of others may count, if it has loops.
  local is_guarded = unbounded or genome == "" and self:has_loops()
  if self.checked_prologue and not is_edited and is_guarded then
    plan.checked = text_of(self:look_at(genome, true), options, virtual(target), llvm)
    plan.checked.genome, plan.checked.guarded = genome, true
  end
  return plan
end

return M
