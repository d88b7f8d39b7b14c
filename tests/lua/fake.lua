-- fake: a problem and a farm in plain Lua, for testing evolution without a compiler or a device.
-- The kernel below is text; what a genome does to its ticks and its answers is a small landscape
-- whose optimum is known. The random numbers are its own too (xorshift64*), so that these tests
-- say the same under any Lua.

local patch = require "gilua.search.genome"

local M = {}

--------------------------------------------------------------------------------------------------
-- Random numbers

local Rng = {}
Rng.__index = Rng

function M.rng(seed)
  return setmetatable({ first = seed, state = seed * 0x9E3779B97F4A7C15 | 1 }, Rng)
end

local function next_word(self)
  local x = self.state
  x = x ~ (x >> 12)
  x = x ~ (x << 25)
  x = x ~ (x >> 27)
  self.state = x
  return x * 0x2545F4914F6CDD1D
end

function Rng:seed() return self.first end

function Rng:unit() return (next_word(self) >> 11) * 2.0 ^ -53 end

function Rng:int(low, high)
  if not high then low, high = 1, low end
  return low + math.floor(self:unit() * (high - low + 1))
end

function Rng:pick(list) return list[self:int(#list)] end

--------------------------------------------------------------------------------------------------
-- A grammar of one small kernel

M.source = [[
__global__ void k(float *p)
{
  if (n > 0) {
    a = 1;
    b = 2;
    c = 3;
    d = 4;
    if (lane < 16) {
      e = 5;
    }
  }
}
]]

local TEXTS = {
  ["<IF_kernel.cu_3>"] = "(n > 0)", ["<_kernel.cu_4>"] = "a = 1;", ["<_kernel.cu_5>"] = "b = 2;",
  ["<_kernel.cu_6>"] = "c = 3;", ["<_kernel.cu_7>"] = "d = 4;",
  ["<IF_kernel.cu_8>"] = "(lane < 16)", ["<_kernel.cu_9>"] = "e = 5;",
}

local Grammar = {}
Grammar.__index = Grammar

local function rule(name)
  if not TEXTS[name] then return nil end
  local line = tonumber(name:match("_(%d+)>"))
  return { name = name, type = name:find("IF") and "if" or "statement", line = line,
    last_line = line, text = TEXTS[name] }
end

local function all_genes()
  local list, names = { "FAST", "OTHER" }, {}
  for name in pairs(TEXTS) do names[#names + 1] = name end
  table.sort(names)
  for _, target in ipairs(names) do
    list[#list + 1] = target
    for _, source in ipairs(names) do
      if rule(target).type == rule(source).type then
        if target ~= source then list[#list + 1] = target .. source end
        if rule(target).type == "statement" then list[#list + 1] = target .. "+" .. source end
      end
    end
  end
  return list
end

M.genes = all_genes()

function Grammar.gene_count(_) return #M.genes end

local function type_of(gene)
  local target = gene:match "^<[^<>]+>"
  return target and rule(target).type or "def"
end

function Grammar.random_gene(_, rng, weights)
  if not weights then return rng:pick(M.genes) end
  local list = {}
  for _, gene in ipairs(M.genes) do
    if (weights[type_of(gene)] or 1) > 0 then list[#list + 1] = gene end
  end
  return rng:pick(list)
end

function Grammar.find(_, name) return rule(name) end

function Grammar.rules(_)
  return { rule "<IF_kernel.cu_3>", rule "<_kernel.cu_4>" } -- one of each type
end

function Grammar.transformations(_) return {} end

function Grammar.line(_, n)
  local i = 0
  for line in M.source:gmatch("[^\n]*") do
    i = i + 1
    if i == n then return line end
  end
  return ""
end

function Grammar.genes(_, text)
  local list = {}
  for gene in text:gmatch("%S+") do
    local target, plus, source = gene:match("^(<[^<>]+>)(%+?)(.*)$")
    local kind = not target and "set" or source == "" and "delete" or plus == "+" and "insert"
      or "replace"
    if target and not rule(target) then return nil, "no such rule: " .. target, "gene" end
    list[#list + 1] = { text = gene, kind = kind, target = target and rule(target),
      source = target and rule(source) }
  end
  return list
end

function Grammar:apply(text)
  local genes, why = self:genes(text)
  if not genes then return nil, why, "gene" end
  local lines = {}
  for line in M.source:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  for _, gene in ipairs(genes) do
    local n = gene.target and gene.target.line
    if gene.kind == "set" then
      lines[1] = "#define " .. gene.text .. " 1\n" .. lines[1]
    elseif gene.kind == "insert" then
      lines[n] = gene.source.text .. "\n" .. lines[n]
    else
      local copy = gene.source and gene.source.text or gene.target.type == "if" and "(0)" or ""
      local from, to = lines[n]:find(gene.target.text, 1, true)
      if from then lines[n] = lines[n]:sub(1, from - 1) .. copy .. lines[n]:sub(to + 1) end
    end
  end
  return table.concat(lines, "\n") .. "\n", { params = {} }
end

function M.problem()
  return {
    name = "fake", title = "A fake kernel", source = M.source,
    grammar = setmetatable({}, Grammar),
    parameters = {
      { name = "block_size", default = 32, values = { 32, 64, 128 }, in_source = false,
        doc = "threads a block" },
      { name = "FAST", switch = true, doc = "the fast way" },
      { name = "OTHER", switch = true },
    },
    tolerance = { max_error = 0.001, wrong_above = 0.1 },
  }
end

--------------------------------------------------------------------------------------------------
-- The landscape: what genes do to ticks, and which spoil the answers

M.BEST_GENES = { "<_kernel.cu_5>", "<IF_kernel.cu_8><IF_kernel.cu_3>", "FAST" }
M.BEST_FACTOR = 0.9 * 0.8 * 0.85 -- ticks of the optimum over those of the unmodified kernel

M.RACES = "FAST" -- what the checked run finds, where a test asks for it

local FACTOR = {
  ["<_kernel.cu_5>"] = 0.9, ["<IF_kernel.cu_8><IF_kernel.cu_3>"] = 0.8, FAST = 0.85,
  ["<_kernel.cu_6>"] = 0.5,
}

--- The measurement of a genome on a case { ticks = unmodified kernel's }.
function M.measurement(genome, case)
  local m = { genome = genome, status = "ok", n = 1000, max_error = 1e-6, mean_error = 1e-7,
    off = 0.0, wrong = 0.0, unset = 0.0, nan = 0.0, registers = 20, shared_bytes = 0 }
  local factor, seen = 1, {}
  for gene in genome:gmatch("%S+") do
    if gene:find("+", 1, true) then
      factor = factor * 1.01
    elseif not seen[gene] then
      factor = factor * (FACTOR[gene] or 1)
    end
    seen[gene] = true
  end
  m.ticks = math.floor(case.ticks * factor + 0.5)
  if seen["<_kernel.cu_6>"] then m.max_error, m.off, m.wrong = 0.5, 0.25, 0.25 end
  if seen["<_kernel.cu_9>"] then
    m.max_error, m.mean_error, m.off, m.unset = math.huge, math.huge, 1.0, 1.0
  end
  if seen["<_kernel.cu_7><_kernel.cu_4>"] then
    return { genome = genome, status = "compile_error", message = "kernel.cu(7): error: fake\n" }
  end
  return m
end

local Farm = {}
Farm.__index = Farm

--- A farm that measures on the landscape. before(genome), where given, is called first and may
--- raise.
function M.farm(before)
  return setmetatable({ device = "fake", before = before, evaluations = 0, cases = {},
    check_mode = "every", checked = {} }, Farm)
end

function Farm:set_check(mode)
  self.check_mode = mode
end

--- Every genome that holds a gene of M.RACES fails.
function Farm:check(genomes)
  local verdicts = {}
  for i, genome in ipairs(genomes) do
    self.checked[#self.checked + 1] = genome
    verdicts[i] = genome:find(M.RACES, 1, true) and { status = "race", message = "fake race" }
      or { status = "ok" }
  end
  return verdicts
end

function Farm:compare(a, b, case)
  local ratio = M.measurement(b, case).ticks / M.measurement(a, case).ticks
  return { status = "ok", ratio = ratio, low = ratio, high = ratio, pairs = 1,
           a_ns = { M.measurement(a, case).ticks }, b_ns = { M.measurement(b, case).ticks } }
end

function Farm:evaluate(genomes, case, options)
  local on_result, more = options and options.on_result, options and options.more
  self.cases[#self.cases + 1] = case
  local list, asked = {}, table.move(genomes, 1, #genomes, 1, {})
  while #list < #asked do
    local i = #list + 1
    if self.before then self.before(asked[i]) end
    self.evaluations = self.evaluations + 1
    list[i] = M.measurement(asked[i], case)
    if on_result then on_result(i, list[i], i, #asked) end
    asked[#asked + 1] = more and more() or nil
  end
  return list
end

function Farm:case_info()
  return { name = self.cases[#self.cases].name, answers = 1000, voxels = 1000 }
end

function Farm:stats()
  return { evaluations = self.evaluations, runs = self.evaluations,
    seconds = { run = self.evaluations / 8 },
    duplicates = { genome = 0, source = 0, ptx = 0 }, rejected = {} }
end

function Farm:close() self.closed = true end

--- A new case each generation: another image, other ticks.
function M.new_case(generation, rng)
  return { name = "case " .. generation, ticks = rng:int(90000, 110000) }
end

--- A genome's genes in the order of their text.
function M.sorted(text)
  local genes = patch.split(text)
  table.sort(genes)
  return patch.join(genes)
end

return M
