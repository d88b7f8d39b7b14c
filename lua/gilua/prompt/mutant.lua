--- mutant: mutants by hand: p:mutant "<IF_245><IF_167> RemX" is an object that shows the changed
-- lines, the compiler's messages, wrong answers and their positions, and the speed.
--
-- Also adds the methods of a problem for people: p:rules, p:show, p:neighbours, p:use. A problem
-- keeps a farm for its mutants, opened at the first use with the options of gilua, and a case: the
-- small one of its problem.lua until p:use names another. m:errors runs on the virtual GPU whatever
-- the device, in a worker of its own (gilua.bench), since a measurement does not carry the answers.
--
-- Everything returned is data; the prompt prints it by its __inspect.

local attempt = require "gilua.base.attempt"
local printable = require "gilua.base.printable"
local fail = require "gilua.base.fail"
local below = require "gilua.report.below"
local compilers = require "gilua.problem.compilers"
local core = require "gilua.core"
local genome_text = require "gilua.search.genome"
local inspect = require "gilua.prompt.inspect"
local settings = require "gilua.base.settings"
local shell = require "gilua.base.shell"
local tempfolder = require "gilua.base.tempfolder"
local textfile = require "gilua.base.textfile"
local trace = require "gilua.base.trace"
local undo = require "gilua.base.undo"

local class, paint = inspect.class, inspect.paint

local M = {}

local class_of_problems = require "gilua.problem.class"
local Problem = class_of_problems.methods

--- Methods that every problem has.
M.problem = Problem

--- A problem was loaded: its rules are what the prompt completes.
M.loaded = class_of_problems.opened

--- The problem loaded last, while somebody has it.
M.latest = class_of_problems.latest

---@class gilua.mutant
---@field problem gilua.problem
---@field genome string with full names; "" is the unmodified kernel
local Mutant = {}
M.Mutant = Mutant

local RUN_FACTOR = 10 -- what a mutant may use, in runs of the unmodified kernel, as in the farm

-- What is kept of a problem beside it: { farm, spec, options, ptx_hash }. The farm holds the
-- problem, which must still be collected: keys of a weak table are.
local kept = setmetatable({}, { __mode = "k" })

local function gi() return require "gilua" end

local function state_of(problem)
  local state = kept[problem]
  if not state then
    state = {}
    kept[problem] = state
  end
  return state
end

-- --- the farm and the case ---------------------------------------------------------------------

local function farm_of(problem)
  local state = state_of(problem)
  state.farm = state.farm or gi().farm(problem, state.options)
  return state.farm
end

local function forget_farm(state)
  local farm = state.farm
  state.farm = nil
  if farm then farm:close() end
end

local function case_of(problem)
  local spec = state_of(problem).spec or gi().options.case or problem.checked_case
  if not spec then
    fail("%s has no small case of its own: say which one to run, as p:use { seed = 1 }",
      problem.name)
  end
  return spec
end

--- Asks the problem's farm. Whatever stops it half way, Ctrl-C too, leaves no job behind; where the
--- farm had to be closed for that, the next question opens another.
local function ask(problem, method, ...)
  local farm = farm_of(problem)
  return undo(function()
    if farm.closed then state_of(problem).farm = nil end
  end, farm[method], farm, ...)
end

--- The case of a spec, built by a worker; refuses with why there is none.
local function made(problem, spec)
  local prepared, why = problem:prepared(spec)
  if not prepared then fail("the case cannot be made: %s", why) end
  local built, case = attempt(gi().bench.case, problem, prepared)
  if not built then fail("the case cannot be made: %s", tostring(case)) end
  return case
end

-- Another farm, with other options, in place of the one there is; that stays where they are wrong.
local function use_options(problem, options)
  local state = state_of(problem)
  local farm = gi().farm(problem, options)
  forget_farm(state)
  state.farm, state.options = farm, options
end

--- The case that this problem's mutants run on from now on, as problem.case takes it. What is wrong
--- with it, or with the options, is said here, and all stays as it was.
---@param spec table { side = 40, seed = 1 }
---@param options? table those of gi.farm: { device = "cuda", jobs = 2 }
function Problem:use(spec, options)
  if type(spec) ~= "table" then
    trace.misuse("problem:use: a case is a table like { seed = 1 }, not a %s", type(spec))
  end
  made(self, spec)
  if options then use_options(self, options) end
  state_of(self).spec = spec
end

--- Is a faster than b on a case? Opens a farm of its own: a script that has one asks that.
---@param a string genome
---@param b string genome; "" is the unmodified kernel
---@param case table
---@param options? table those of gi.farm, and `pairs`, `confidence`, `seed` of farm:compare
---@return table { ratio, low, high, pairs, a_ns, b_ns } or { status, message }
function Problem:compare(a, b, case, options)
  local how, rest = {}, {}
  for k, v in pairs(options or {}) do
    if k == "pairs" or k == "confidence" or k == "seed" then how[k] = v else rest[k] = v end
  end
  local farm <close> = gi().farm(self, rest)
  return farm:compare(a, b, case, how)
end

-- --- rules -------------------------------------------------------------------------------------

local function one_line(text, longest)
  text = text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
  return #text > longest and text:sub(1, longest - 3) .. "..." or text
end

local function rule_line(rule, o, indent)
  local text = rule.text:find("%S") and
    one_line(printable.text(rule.text), math.max(20, o.width - indent - 28)) or "(empty)"
  local line = ("%-26s %s"):format(rule.name, text)
  if rule.protected then
    return paint(o, "dim", line .. "  protected: " .. rule.protected)
  end
  return paint(o, "cyan", rule.name) .. line:sub(#rule.name + 1)
end

local Rules = class("rules", {}, function(self, o)
  local lines = {}
  for i, rule in ipairs(self) do lines[i] = rule_line(rule, o, 0) end
  return #lines > 0 and table.concat(lines, "\n") or "no rule of this type"
end)

--- What a mutant may change: the rules of one type ("IF", "statement", "pragma"), or all of them.
---@param kind? string
---@return table[] rules { name, type, line, last_line, text, protected }
function Problem:rules(kind)
  local fine, found = pcall(self.grammar.rules, self.grammar, kind)
  if not fine then
    local lower, again = pcall(self.grammar.rules, self.grammar, tostring(kind):lower())
    if not lower then fail("%s", tostring(found):match("%((.*)%)$") or found) end
    found = again
  end
  local list = {}
  for _, rule in ipairs(found) do
    if kind or rule.type ~= "fixed" then list[#list + 1] = rule end
  end
  return setmetatable(list, Rules)
end

local function rules_by_line(problem)
  local lines = {}
  for _, rule in ipairs(problem:rules()) do
    lines[rule.line] = lines[rule.line] or {}
    table.insert(lines[rule.line], rule)
  end
  return lines
end

local Listing = class("listing", {}, function(self, o)
  local lines = {}
  for _, row in ipairs(self) do
    local number = ("%5d "):format(row.line)
    local text = printable.text(row.text):gsub("\t", "    ")
    lines[#lines + 1] = (row.line == self.line and paint(o, "bold", number .. text)
      or paint(o, "dim", number) .. text)
    for _, rule in ipairs(row.rules) do
      lines[#lines + 1] = "        " .. rule_line(rule, o, 8)
    end
  end
  return table.concat(lines, "\n")
end)

--- The source around a line, with what may change there.
---@param at integer|string a line, or a rule: 245, "<IF_245>"
---@param around? integer lines before and after (3)
---@return table listing rows { line, text, rules }
function Problem:show(at, around)
  local line, count = at, self.grammar:line_count()
  if type(at) == "string" then
    local rule = self.grammar:find(at)
    if not rule then fail("%s is no rule of %s; p:rules() lists them", at, self.name) end
    line = rule.line
  end
  if math.type(line) ~= "integer" or line < 1 or line > count then
    fail("%s has lines 1 to %d, not %s", self.source_path, count, tostring(at))
  end
  local by_line, rows = rules_by_line(self), { line = line }
  for n = math.max(1, line - (around or 3)), math.min(count, line + (around or 3)) do
    rows[#rows + 1] = { line = n, text = self.grammar:line(n), rules = by_line[n] or {} }
  end
  return setmetatable(rows, Listing)
end

-- --- making mutants ----------------------------------------------------------------------------

local function mutant_text(self)
  if self.genome == "" then return "the unmodified kernel of " .. self.problem.name end
  return ("mutant of %s: %s"):format(self.problem.name, self.genome)
end

local Meta = class("mutant", Mutant, function(self) return mutant_text(self) end)
Meta.__eq = function(a, b) return a.genome == b.genome and a.problem == b.problem end

local function new(problem, genome)
  return setmetatable({ problem = problem, genome = genome }, Meta)
end

-- Rules of the same kind nearest to a rule that is not there.
local function near_misses(problem, name)
  local line = tonumber(name:match("(%d+)>$"))
  local kind = name:match("^<(%a*%d?)_?"):lower()
  if kind == "" then kind = "statement" end
  local found = {}
  for _, rule in ipairs(line and problem:rules() or {}) do
    if rule.type == kind and not rule.protected then found[#found + 1] = rule end
  end
  table.sort(found, function(a, b)
    local x, y = math.abs(a.line - line), math.abs(b.line - line)
    return x < y or x == y and a.line < b.line
  end)
  local names = {}
  for i = 1, math.min(3, #found) do names[i] = found[i].name end
  return #names > 0 and "; near it are " .. table.concat(names, " ") or ""
end

local function explain_refusal(problem, text, why)
  for name in text:gmatch("<[^<>]*>") do
    if not problem.grammar:find(name) then return why .. near_misses(problem, name) end
  end
  return why
end

-- Genes below the source, as they are where all are legal.
local function checked_below(problem, genes)
  if genes == "" then return "" end
  local legal, why = below.check(problem, farm_of(problem), genes)
  if not legal then fail("%s", why) end
  return genes
end

--- A mutant of this kernel: genes separated by blanks, in full or in the papers' short forms.
---@param genome string|gilua.mutant "<288><232> <IF_245><IF_167> RemX"
---@return gilua.mutant
function Problem:mutant(genome)
  if getmetatable(genome) == Meta then genome = genome.genome end
  if type(genome) ~= "string" then
    error(("problem:mutant: a genome is text like \"<288>\", not a %s"):format(type(genome)), 2)
  end
  local of_source, of_ptx, of_llvm = genome_text.parts(genome)
  local full, why = self.grammar:check(of_source)
  if not full then fail("%s", explain_refusal(self, of_source, why)) end
  return new(self, genome_text.join { full, checked_below(self,
    genome_text.join { of_llvm, of_ptx }) })
end

-- --- its source --------------------------------------------------------------------------------

--- The mutant's source.
---@return string
function Mutant:source()
  local source, why = self.problem.grammar:apply(self.genome, true)
  if not source then fail("%s", why) end
  return source
end

--- A unified diff from the unmodified kernel, or from another mutant, to this one; "" where the
--- sources are equal.
---@param from? gilua.mutant
---@return string
function Mutant:diff(from)
  local old = from and from.genome and from:source() or self.problem.source
  local label = self.problem.source_path:match("[^/]*$")
  return require("gilua.report.report").diff(old, self:source(), label)
end

local Explanation = class("explanation", {}, function(self, o)
  if #self == 0 then return "no gene: the unmodified kernel" end
  local lines = {}
  for _, item in ipairs(self) do
    lines[#lines + 1] = paint(o, "cyan", item.gene)
    lines[#lines + 1] = inspect.wrap("    " .. item.text, o.width, "    ")
  end
  return table.concat(lines, "\n")
end)

--- Every gene in words.
---@return { gene: string, text: string }[]
function Mutant:explain()
  local explain = require "gilua.report.explain"
  return setmetatable(explain.genome(self.problem, self.genome), Explanation)
end

-- --- compiling ---------------------------------------------------------------------------------

-- What the problem's device compiles for, as a number: 90.
local function architecture(problem)
  local device = (state_of(problem).options or {}).device or gi().options.device or "emu"
  local target
  if device:find("^cuda") then
    target = farm_of(problem).devices[1].target -- the driver is the workers' alone
  else
    local virtual <close> = assert(gi().device(device))
    target = virtual:target()
  end
  return target:match("%d+")
end

local function values_of(self)
  local _, detail = self.problem.grammar:apply(self.genome, true)
  return self.problem:values(detail.params)
end

-- What the source compiled to, with the genes below it, assembled where machine code is wanted; or
-- nil and why not.
local function with_below(self, code, kind, genes)
  local ptx, why = below.open(self.problem, farm_of(self.problem)):apply(genes, code)
  if not ptx or kind == "compute_" then return ptx, why end
  return core.compile.link({ ptx }, { target = kind .. architecture(self.problem) })
end

-- What LLVM's code with genes becomes, which a worker makes.
local function compiled_by_farm(self, wanted)
  local ptx, why = farm_of(self.problem):ptx(self.genome)
  if not ptx or wanted == "compute_" then return ptx, why end
  return core.compile.link({ ptx }, { target = wanted .. architecture(self.problem) })
end

-- Code, or nil and the first error.
local function compiled(self, wanted, line_info)
  local _, genes, of_llvm = genome_text.parts(self.genome)
  if of_llvm ~= "" then return compiled_by_farm(self, wanted) end
  local kind = genes ~= "" and "compute_" or wanted
  local code, message, stage, log = gi().compile(self:source(), compilers.options(self.problem,
    values_of(self), { target = kind .. architecture(self.problem), line_info = line_info,
      name = self.problem.source_path:match("[^/]*$") }))
  if not code and stage ~= "compile" then fail("%s", message) end
  if code and genes ~= "" then return with_below(self, code, wanted, genes) end
  return code, message, log
end

local function instructions(ptx)
  local n = 0
  for line in ptx:gmatch("[^\n]+") do
    if line:find("^%s+@?%%?[%w!%%]+.*;") and not line:find("^%s*%.") then n = n + 1 end
  end
  return n
end

local Compiled = class("compiled", {}, function(self, o)
  if self.status ~= "ok" then
    return paint(o, "red", self.status) .. ": " .. self.message
  end
  return ("%s  %d PTX instructions%s, %.0f ms"):format(paint(o, "green", "ok"),
    self.instructions, self.neutral and ", the same as the unmodified kernel's (a neutral mutant)"
    or (" (unmodified: %d)"):format(self.unmodified), self.seconds * 1000)
end)

local function unmodified_ptx(problem)
  local state = state_of(problem)
  if not state.ptx_hash then
    local ptx, why = compiled(new(problem, ""), "compute_", false)
    if not ptx then fail("the unmodified kernel does not compile: %s", why) end
    state.ptx_hash, state.instructions = core.compile.canonical_hash(ptx), instructions(ptx)
  end
  return state.ptx_hash, state.instructions
end

--- Does it compile? Says the first error with its line, or how long the PTX is and whether it is
--- the unmodified kernel's.
---@return table { status, message, log, instructions, unmodified, neutral, seconds }
function Mutant:compile()
  local hash, unmodified = unmodified_ptx(self.problem)
  local start = core.system.seconds()
  local ptx, message, log = compiled(self, "compute_", false)
  local result = { seconds = core.system.seconds() - start, unmodified = unmodified }
  if ptx then
    result.status, result.instructions = "ok", instructions(ptx)
    result.neutral = core.compile.canonical_hash(ptx) == hash
  else
    result.status, result.message, result.log = "compile_error", message, log
  end
  return setmetatable(result, Compiled)
end

--- Its PTX. options.lines: with the source lines in it.
---@param options? { lines?: boolean }
---@return string
function Mutant:ptx(options)
  local o = settings.fill("mutant:ptx", options, { lines = false })
  local ptx, why = compiled(self, "compute_", o.lines)
  if not ptx then fail("it does not compile: %s", why) end
  return ptx
end

local function tool_folders()
  local folders = {}
  for folder in (os.getenv("PATH") or ""):gmatch("[^:]+") do folders[#folders + 1] = folder end
  for _, name in ipairs { "CUDA_HOME", "CUDA_PATH" } do
    if os.getenv(name) then folders[#folders + 1] = os.getenv(name) .. "/bin" end
  end
  local compiler = core.compile.info()
  local root = compiler and compiler.path:match("^(.*)/lib[^/]*/[^/]*$")
  if root then folders[#folders + 1] = root .. "/bin" end
  folders[#folders + 1] = "/usr/local/cuda/bin"
  return folders
end

-- The command that prints a file of machine code; cuobjdump calls nvdisasm from its own folder.
local function disassembler()
  local lfs = require "lfs"
  for _, tool in ipairs { { "nvdisasm", "-c" }, { "cuobjdump", "-sass" } } do
    for _, folder in ipairs(tool_folders()) do
      local path = folder .. "/" .. tool[1]
      if (lfs.attributes(path, "permissions") or ""):find("x") then
        return shell.quoted(path) .. " " .. tool[2]
      end
    end
  end
  fail("machine code cannot be shown: neither nvdisasm nor cuobjdump is on PATH, in "
    .. "$CUDA_HOME/bin, beside NVRTC or in /usr/local/cuda/bin; both come with the CUDA toolkit")
end

--- Its machine code, by nvdisasm or cuobjdump where one is found.
---@return string
function Mutant:sass()
  local command = disassembler()
  local image, why = compiled(self, "sm_", false)
  if not image then fail("it does not compile: %s", why) end
  local folder <close> = tempfolder.new()
  local path = folder.path .. "/image.cubin"
  textfile.write(path, image)
  local pipe <close> = assert(io.popen(command .. " " .. shell.quoted(path) .. " 2>&1"))
  local text = pipe:read("a")
  local fine = pipe:close()
  if not fine then fail("%s fails: %s", command, text:match("[^\n]*")) end
  return text
end

-- --- running -----------------------------------------------------------------------------------

local function right(m)
  return require("gilua.search.fitness").right(m)
end

-- Measurements of genomes on the problem's case, each with its speed-up over the unmodified kernel.
local function measured(problem, genomes)
  local list = ask(problem, "evaluate", table.move(genomes, 1, #genomes, 2, { "" }),
    case_of(problem))
  local base = table.remove(list, 1)
  for _, m in ipairs(list) do
    if m.status == "ok" then m.speedup = base.ticks / m.ticks end
    m.case = farm_of(problem):case_info().name
  end
  return list
end

--- Runs it on the problem's case and checks every answer.
---@return table measurement with `speedup` and `case`
function Mutant:run()
  return measured(self.problem, { self.genome })[1]
end

local Timing = class("timing", {}, function(self, o)
  if self.status ~= "ok" then
    local whose = self.genome and self.genome ~= self.mutant.genome and "the other: " or ""
    return paint(o, "red", whose .. self.status) .. ": " .. tostring(self.message):match("[^\n]*")
  end
  local how = self.exact and "exact, the virtual GPU counts"
    or ("%d interleaved pairs, 95 %% interval %.3fx to %.3fx"):format(self.pairs, self.low,
      self.high)
  local grouped = require("gilua.report.progress").grouped
  local cost = self.exact and grouped(self.ticks) .. " ticks, " or ""
  return ("%s%s: %s as fast as %s\n%s; %s, %s"):format(cost, inspect.time(self.ns),
    paint(o, self.ratio >= 1 and "green" or "red", ("%.3fx"):format(self.ratio)), self.against,
    how, self.device, self.case)
end)

local function timing(self, other)
  local found = ask(self.problem, "compare", self.genome, other.genome, case_of(self.problem))
  local farm = farm_of(self.problem)
  found.mutant, found.device, found.case = self, farm:description(), farm:case_info().name
  found.against = other.genome == "" and "the unmodified kernel" or other.genome
  if found.status == "ok" then
    found.exact = farm.virtual
    found.ns = require("gilua.base.stats").median(found.a_ns)
    found.ticks = found.exact and measured(self.problem, { self.genome })[1].ticks or nil
  end
  return setmetatable(found, Timing)
end

--- How fast it is, beside the unmodified kernel. On a GPU from interleaved pairs of launches.
---@return table { status, ns, ratio, low, high, pairs, ticks, exact }
function Mutant:time()
  return timing(self, new(self.problem, ""))
end

--- Is it faster than another mutant, or (given the problem) than the unmodified kernel?
---@param other gilua.mutant|gilua.problem|string
---@return table { status, ratio = the other's time / its own, low, high, pairs }
function Mutant:compare(other)
  if other == nil or other == self.problem then return self:time() end
  return timing(self, self.problem:mutant(other))
end

-- --- gene by gene ------------------------------------------------------------------------------

local function verdict(row, whole)
  local m = row.measurement
  if not row.right then
    return row.was_right and ("needed: without it %s"):format(m.status == "ok"
      and ("answers are wrong by up to %.3g"):format(m.max_error) or m.status) or
      ("without it still %s"):format(m.status == "ok" and "wrong" or m.status)
  end
  if not row.was_right then return ("the culprit: without it right, %.3fx"):format(m.speedup) end
  local gain = whole.speedup / m.speedup
  if math.abs(gain - 1) < 5e-4 then return "does nothing for the time" end
  return gain > 1 and ("makes it %.3f times faster"):format(gain)
    or ("makes it %.3f times slower"):format(1 / gain)
end

local Knockout = class("knockout", {}, function(self, o)
  if #self == 0 then return "no gene to leave out: the unmodified kernel" end
  local lines = { inspect.measurement(self.whole, { colour = o.colour, width = o.width }) }
  for _, row in ipairs(self) do
    lines[#lines + 1] = paint(o, "cyan", row.gene) .. "\n    " .. row.verdict
  end
  if self.needed then
    lines[#lines + 1] = self.needed.genome == self.mutant.genome and "every gene is needed"
      or "all it needs: " .. (self.needed.genome ~= "" and self.needed.genome or "no gene at all")
  end
  return table.concat(lines, "\n")
end)

local function without(genes, index)
  local rest = {}
  for i, gene in ipairs(genes) do
    if i ~= index then rest[#rest + 1] = gene end
  end
  return table.concat(rest, " ")
end

-- The genes that are needed together, by the pass of GECCO 2014 §4.3.
local function minimised(self, noise)
  local genome = require("gilua.search.minimise").knockout(self.genome, function(text)
    local m = measured(self.problem, { text })[1]
    return right(m) and m.ticks or math.huge
  end, noise)
  return new(self.problem, genome)
end

--- What each gene does: the mutant is run without it. Where the mutant is right, also the genes
--- that are needed together (`needed`, a mutant), left out one after the other for good.
---@return table[] rows { gene, genome, measurement, right, verdict }, with whole and needed
function Mutant:knockout()
  local genes = require("gilua.search.genome").split(self.genome)
  local genomes = { self.genome }
  for i = 1, #genes do genomes[i + 1] = without(genes, i) end
  local list = measured(self.problem, genomes)
  local found = { mutant = self, whole = list[1] }
  local was_right = right(list[1])
  for i, gene in ipairs(genes) do
    local row = { gene = gene, genome = genomes[i + 1], measurement = list[i + 1],
                  right = right(list[i + 1]), was_right = was_right }
    row.verdict = verdict(row, list[1])
    found[i] = row
  end
  if was_right then
    local noise = farm_of(self.problem).virtual and 0 or 0.01 * list[1].ticks
    found.needed = minimised(self, noise)
  end
  return setmetatable(found, Knockout)
end

-- --- neighbours --------------------------------------------------------------------------------

local Neighbours, Run

local function neighbour_lines(self, o, measurement_of)
  local lines = {}
  for i, m in ipairs(self) do
    local sign = paint(o, m.step == "-" and "red" or "green", m.step)
    lines[#lines + 1] = ("%s %s"):format(sign, m.gene)
    local measurement = measurement_of and measurement_of(i)
    if measurement then
      lines[#lines + 1] = "    " .. inspect.measurement(measurement,
        { colour = o.colour, width = o.width })
    end
  end
  return #lines > 0 and table.concat(lines, "\n") or "no neighbours"
end

local NeighbourMethods = {}

--- Runs all of them at once.
---@return table[] measurements, one for each neighbour
function NeighbourMethods:run()
  local genomes = {}
  for i, m in ipairs(self) do genomes[i] = m.genome end
  if #genomes == 0 then return {} end
  local list = measured(self[1].problem, genomes)
  list.neighbours = self
  return setmetatable(list, Run)
end

Neighbours = class("neighbours", NeighbourMethods, neighbour_lines)
Run = class("neighbours run", {}, function(self, o)
  return neighbour_lines(self.neighbours, o, function(i) return self[i] end)
end)

local function neighbour(problem, genome, step, gene)
  local m = new(problem, genome)
  m.step, m.gene = step, gene
  return m
end

--- The mutants around one: all that have one gene less, and some that have one random gene more.
---@param mutant gilua.mutant|string
---@param options? { more?: integer, seed?: integer } how many of them (10); of what seed (1)
---@return gilua.mutant[] list each with `step` ("-" or "+") and `gene`; list:run() runs them all
function Problem:neighbours(mutant, options)
  local o = settings.fill("problem:neighbours", options, { more = 10, seed = 1 })
  local genome = self:mutant(mutant).genome
  local genes, list, seen = require("gilua.search.genome").split(genome), {}, { [genome] = true }
  for i, gene in ipairs(genes) do list[i] = neighbour(self, without(genes, i), "-", gene) end
  local rng, tries = core.rng.new(o.seed), 0
  while #list < #genes + o.more and tries < 100 * (o.more + 1) do
    local gene, why = self.grammar:random_gene(rng)
    if not gene then fail("%s", why) end
    local longer = genome == "" and gene or genome .. " " .. gene
    if not seen[longer] then list[#list + 1] = neighbour(self, longer, "+", gene) end
    seen[longer], tries = true, tries + 1
  end
  return setmetatable(list, Neighbours)
end

-- --- where answers are wrong -------------------------------------------------------------------

-- Compiled by one worker and run by another: its measurement, and what it wrote.
local function answers_on(self, case, budget)
  local bench, values = gi().bench, values_of(self)
  local code, why = gi().compile(self:source(), compilers.options(self.problem, values,
    { target = bench.target "emu", name = "kernel.cu" }))
  if not code then fail("it does not compile: %s", why) end
  return bench.answers(self.problem, case, { code = code, values = values }, budget)
end

-- Its measurement, and the case with what it wrote. The unmodified kernel's run before it says what
-- it may use.
local function answers_of(self, spec)
  local case = made(self.problem, spec)
  local base = answers_on(new(self.problem, ""), case, 0)
  if base.status ~= "ok" then
    fail("the unmodified kernel fails (%s): %s", base.status, tostring(base.message))
  end
  local m, output = answers_on(self, case, base.warp_instructions * RUN_FACTOR)
  local opened = gi().bench.opened(case)
  opened.output = output or opened.output
  return m, opened
end

--- Where its answers are wrong, on the virtual GPU: how many, the first ones, and a slice of the
--- volume as a picture where the problem tells where an answer lies. The result has a method
--- save(path): the slice as .ppm, all errors as .nii or .nii.gz.
---@param options? { slice?: integer } which z, from 0 (the one with most wrong answers)
---@return table { n, off, wrong, unset, max_error, first, errors, slice }
function Mutant:errors(options)
  local o = settings.fill("mutant:errors", options, {}, { "slice" })
  local m, case = answers_of(self, case_of(self.problem))
  return require("gilua.prompt.errors").new(m, case, self.problem.tolerance, o.slice)
end

return M
