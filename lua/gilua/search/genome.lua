-- genome: one line of text, genes separated by blanks, and the operators of Langdon et al.,
-- "Improving 3D Medical Image Registration CUDA Software with Genetic Programming", GECCO 2014,
-- §3.2 (representation) and §3.3 (initialisation, mutation, crossover).
--
-- Every operator is a plain function of its arguments and a random number generator. They do not
-- depend on each other, so a script can replace any one of them.

local fail = require "gilua.base.fail"
local settings = require "gilua.base.settings"
local trace = require "gilua.base.trace"

local M = {}

--- How often crossover tries for a child before it gives up (§3.3.3).
M.CROSSOVER_TRIES = 5

---@param genome string
---@return string[] genes
function M.split(genome)
  local genes = {}
  for gene in genome:gmatch("%S+") do genes[#genes + 1] = gene end
  return genes
end

--- The genes of a genome that change the source or set parameters, those that change the PTX that
--- is compiled from it, <ptx:…>, and those that change LLVM's code between both, <llvm:…>: they are
--- applied in the order source, LLVM, PTX, wherever they stand.
---@param genome string
---@return string of_source
---@return string of_ptx
---@return string of_llvm
function M.parts(genome)
  local source, ptx, llvm = {}, {}, {}
  for gene in genome:gmatch("%S+") do
    table.insert(gene:find("^<ptx:") and ptx or gene:find("^<llvm:") and llvm or source, gene)
  end
  return table.concat(source, " "), table.concat(ptx, " "), table.concat(llvm, " ")
end

--- Has a genome genes below the source?
---@param genome string
---@return boolean
function M.is_below(genome)
  local _, ptx, llvm = M.parts(genome)
  return ptx ~= "" or llvm ~= ""
end

--- Genes, or genomes, one after the other; empty ones leave no trace.
---@param genes string[]
---@return string genome
function M.join(genes)
  local full = {}
  for _, gene in ipairs(genes) do
    if gene ~= "" then full[#full + 1] = gene end
  end
  return table.concat(full, " ")
end

--- The gene that gives lines of a source another text (whole lines, "" for none).
---@param first integer from 1
---@param last integer
---@param text string
---@return string gene
function M.lines(first, last, text)
  local word = text:gsub("[^!-$&-;=?-~]", function(c) return ("%%%02X"):format(c:byte()) end)
  local range = first == last and first or ("%d-%d"):format(first, last)
  return ("<lines_%s>=%s"):format(range, word)
end

--- What a gene NAME or NAME=VALUE sets; nil of another.
---@param gene string
---@return string?
function M.name_set(gene)
  return gene:match "^([%a_][%w_]*)=" or gene:match "^([%a_][%w_]*)$"
end

--- A genome without the settings that a later gene of it overrides.
---@param text string
---@return string
function M.last_settings(text)
  local genes, seen, kept = M.split(text), {}, {}
  for i = #genes, 1, -1 do
    local name = M.name_set(genes[i])
    if not (name and seen[name]) then table.insert(kept, 1, genes[i]) end
    if name then seen[name] = true end
  end
  return M.join(kept)
end

---@param genome string
---@return integer genes
function M.length(genome)
  return #M.split(genome)
end

-- Launch parameters (a block size, a grid shape) are genes as well, yet the papers tune them
-- apart from evolution (§4.2): they are proposed only where the options open them.
local function launch_parameters(problem)
  local launch = {}
  for _, parameter in ipairs(problem.parameters or {}) do
    if not parameter.switch then launch[parameter.name] = parameter end
  end
  return launch
end

local function opened_settings(launch, names)
  local genes = {}
  for _, name in ipairs(names) do
    local parameter = launch[name]
    if not parameter then
      trace.misuse("gilua.genome.source: the problem has no launch parameter '%s'%s", name,
        settings.meant(name, launch))
    end
    for _, value in ipairs(parameter.values or {}) do
      genes[#genes + 1] = ("%s=%s"):format(name, value)
    end
  end
  return genes
end

local sources = setmetatable({}, { __mode = "k" }) -- draw -> what it was made of, as data

--- What a source of genes was made of, as data: { kind = "source", "ptx" or "llvm", options } or
--- { kind = "either", first, second, share }; nil of one of another make.
---@param draw function?
---@return table?
function M.made_of(draw)
  return draw and sources[draw]
end

local function noted(draw, made)
  sources[draw] = made
  return draw
end

--- Where new genes come from: a function that draws one random legal gene of the problem.
--- options.weights: chance of each rule type, as in g:random_gene. options.parameters: launch
--- parameters that genes may set (none); options.parameter_share: how many of the genes do (0.1);
--- options.transform_share: how many are transformations (none), where the kernel has any.
---@param problem table grammar and parameters are used
---@param options? { weights?: table, parameters?: string[], parameter_share?: number,
---  transform_share?: number }
---@return fun(rng: table): string draw
function M.source(problem, options)
  local o = settings.fill("gilua.genome.source", options,
    { parameters = {}, parameter_share = 0.1, transform_share = 0 }, { "weights" })
  local launch = launch_parameters(problem)
  local opened = opened_settings(launch, o.parameters)
  return noted(function(rng)
    local is_transformed = o.transform_share > 0 and rng:unit() < o.transform_share
    local transformation = is_transformed and problem.grammar:random_transformation(rng)
    if transformation then return transformation end
    if #opened > 0 and rng:unit() < o.parameter_share then return rng:pick(opened) end
    while true do
      local gene, why = problem.grammar:random_gene(rng, o.weights)
      if not gene then fail("%s", why) end
      if not launch[M.name_set(gene)] then return gene end
    end
  end, { kind = "source", options = o })
end

--- Where genes for PTX come from, of all its kinds: copy, delete, move, replace, swap, operand,
--- constant; options.weights multiplies their chances.
---@param ptx userdata gi.ptx of the unmodified kernel's: farm:ptx()
---@param options? { weights?: table<string, number> }
---@return fun(rng: table): string draw
function M.ptx_source(ptx, options)
  local o = settings.fill("gilua.genome.ptx_source", options, {}, { "weights" })
  return noted(function(rng)
    local gene, why = ptx:random_gene(rng, o.weights)
    if not gene then error(why, 0) end
    return gene
  end, { kind = "ptx", options = o })
end

--- Where genes for LLVM's code come from, of the same kinds.
---@param llvm userdata gi.llvm of the unmodified kernel's: farm:bitcode()
---@param options? { weights?: table<string, number> }
---@return fun(rng: table): string draw
function M.llvm_source(llvm, options)
  local o = settings.fill("gilua.genome.llvm_source", options, {}, { "weights" })
  return noted(function(rng)
    local gene, why = llvm:random_gene(rng, o.weights)
    if not gene then error(why, 0) end
    return gene
  end, { kind = "llvm", options = o })
end

--- One source of genes or another, by chance.
---@param first fun(rng: table): string
---@param second fun(rng: table): string
---@param share? number of the second, 0.5
---@return fun(rng: table): string draw
function M.either(first, second, share)
  share = share or 0.5
  local a, b = sources[first], sources[second]
  return noted(function(rng)
    return (rng:unit() < share and second or first)(rng)
  end, a and b and { kind = "either", first = a, second = b, share = share } or nil)
end

--- A source of genes made again.
---@param problem table grammar, parameters, and ptx where PTX's are among them
---@param made table as M.made_of gives it
---@return function? draw nil where the problem has not what it needs
function M.source_of(problem, made)
  if made.kind == "source" then return M.source(problem, made.options) end
  if made.kind == "ptx" then return problem.ptx and M.ptx_source(problem.ptx, made.options) end
  if made.kind ~= "either" then return nil end
  local first, second = M.source_of(problem, made.first), M.source_of(problem, made.second)
  return first and second and M.either(first, second, made.share)
end

--- The first population: n different genomes of exactly one gene each (§3.3.1). Fails where the
--- source does not hold that many.
---@param n integer
---@param draw fun(rng: table): string
---@param rng table
---@return string[]? genomes
---@return string? message
---@return string? code "usage"
function M.initial(n, draw, rng)
  local genomes, seen = {}, {}
  local barren = 0 -- draws in a row that gave nothing new
  while #genomes < n do
    local gene = draw(rng)
    if not seen[gene] then
      seen[gene] = true
      genomes[#genomes + 1] = gene
      barren = 0
    else
      barren = barren + 1
    end
    -- Were one gene in a thousand still unseen, 20,000 draws would miss it once in 10^8 times.
    if barren > 20000 then
      return nil, ("a population of %d different single genes was asked for, but only %d could be "
        .. "found; ask for a smaller population or open more of the kernel to change"):format(
        n, #genomes), "usage"
    end
  end
  return genomes
end

-- What a parameter may be set to: genes, "" for a switch that stays off.
local function choices(parameter)
  if parameter.switch then return { "", parameter.name } end
  local list = {}
  for i, value in ipairs(parameter.values or {}) do
    list[i] = ("%s=%s"):format(parameter.name, value)
  end
  return list
end

--- A first population of random configurations, for kernels with many parameters whose values only
--- pay beside others, where single settings (§3.3.1; StereoCamera, §8.14.1) lead into the nearest
--- dead end: every switch and every parameter named is set at random, all values equally likely.
--- For `init` of a scheme.
---@param problem table
---@param names string[] parameters that are not switches
---@return fun(n: integer, draw: fun(rng: table): string, rng: table): string[]?, string?, string?
function M.configurations(problem, names)
  local launch = launch_parameters(problem)
  opened_settings(launch, names) -- refuses unknown ones
  local axes, opened = {}, {}
  for _, name in ipairs(names) do opened[name] = true end
  for _, parameter in ipairs(problem.parameters) do
    if parameter.switch or opened[parameter.name] then axes[#axes + 1] = choices(parameter) end
  end
  return function(n, _, rng)
    return M.initial(n, function()
      local genes = {}
      for i, list in ipairs(axes) do genes[i] = rng:pick(list) end
      return M.join(genes)
    end, rng)
  end
end

--- Mutation: the parent with another random gene appended (§3.3.2).
---@param parent string
---@param draw fun(rng: table): string
---@param rng table
---@return string child
function M.mutate(parent, draw, rng)
  local gene = draw(rng)
  return parent == "" and gene or parent .. " " .. gene
end

-- Two cut points in a genome of n genes: the middle is genes first+1 … last.
local function cut_points(n, rng)
  local a, b = rng:int(0, n), rng:int(0, n)
  return math.min(a, b), math.max(a, b)
end

local function add_new(genes, seen, from, first, last)
  for i = first, last do
    local gene = from[i]
    if not seen[gene] then
      seen[gene] = true
      genes[#genes + 1] = gene
    end
  end
end

--- Two-point crossover (§3.3.3): the start and the end of the first parent with the middle of the
--- second between them. Of equal genes the first stays. Empty children are refused; nil after five
--- of them, where the paper mutates instead.
---@param first string
---@param second string
---@param rng table
---@return string? child
function M.cross(first, second, rng)
  local mother, father = M.split(first), M.split(second)
  for _ = 1, M.CROSSOVER_TRIES do
    local start, finish = cut_points(#mother, rng)
    local from, to = cut_points(#father, rng)
    local child, seen = {}, {}
    add_new(child, seen, mother, 1, start)
    add_new(child, seen, father, from + 1, to)
    add_new(child, seen, mother, finish + 1, #mother)
    if #child > 0 then return M.join(child) end
  end
  return nil
end

return M
