-- below: explains genes below the source: their effects on the instructions of the unmodified
-- kernel's PTX. The first call compiles it and keeps it in the problem (problem.ptx).

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local genomes = require "gilua.search.genome"

local M = {}

--- Has a genome genes below the source?
---@param genome string
---@return boolean
function M.has(genome)
  return genomes.is_below(genome)
end

--- Returns the instructions of the unmodified kernel. A farm compiles it at the first call for a
--- problem.
---@param problem gilua.problem
---@param farm gilua.farm
---@return userdata ptx gi.ptx
function M.open(problem, farm)
  if not problem.ptx then
    local text, why = farm:ptx()
    if not text then fail("the kernel as it is: %s", why) end
    problem.ptx, why = core.ptx.open(text)
    if not problem.ptx then fail("the PTX of the kernel as it is: %s", why) end
    problem.ptx_text = text
  end
  return problem.ptx
end

--- The same of LLVM's code, where LLVM compiles it.
---@param problem gilua.problem
---@param farm gilua.farm
---@return userdata llvm gi.llvm
function M.open_llvm(problem, farm)
  if not problem.llvm then
    local bitcode, why = farm:bitcode()
    if not bitcode then fail("the kernel as it is: %s", why) end
    problem.llvm, why = core.llvm.base(bitcode)
    if not problem.llvm then fail("LLVM's code of the kernel as it is: %s", why) end
  end
  return problem.llvm
end

--- Opens what a genome's genes below the source name, and reads them.
---@param problem gilua.problem
---@param farm gilua.farm
---@param genome string
---@return boolean? legal
---@return string? message
function M.check(problem, farm, genome)
  local _, of_ptx, of_llvm = genomes.parts(genome)
  for _, part in ipairs { { of_llvm, M.open_llvm }, { of_ptx, M.open } } do
    if part[1] ~= "" then
      local list, why = part[2](problem, farm):genes(part[1])
      if not list then return nil, why end
    end
  end
  return true
end

--- A genome's genes below the source, where the code that they name is known and they fit it: those
--- of LLVM, then those of PTX.
---@param problem gilua.problem
---@param genome string
---@return table[] of ptx:genes
function M.genes(problem, genome)
  local _, of_ptx, of_llvm = genomes.parts(genome)
  local list = problem.llvm and problem.llvm:genes(of_llvm) or {}
  for _, gene in ipairs(problem.ptx and problem.ptx:genes(of_ptx) or {}) do
    list[#list + 1] = gene
  end
  return list
end

--- The lines of the source whose instructions a genome's genes below it change.
---@param problem gilua.problem
---@param genome string
---@return table<integer, boolean>
function M.lines(problem, genome)
  local lines = {}
  for _, gene in ipairs(M.genes(problem, genome)) do
    local moves = gene.kind == "move" or gene.kind == "swap"
    for _, site in ipairs { gene.at, gene.user or gene.at, moves and gene.from or gene.at } do
      if site.line > 0 then lines[site.line] = true end
    end
  end
  return lines
end

local function quoted(site)
  return ("`%s`"):format(site.text)
end

local function placed(site)
  return site.line > 0 and ("%s of line %d"):format(quoted(site), site.line) or quoted(site)
end

local WORDS = {}

function WORDS.delete(g)
  return ("the instruction %s is deleted"):format(placed(g.at))
end

function WORDS.replace(g)
  return ("the instruction %s is replaced by a copy of %s"):format(placed(g.at), placed(g.from))
end

function WORDS.copy(g)
  local user = g.user and (", which %s uses"):format(placed(g.user)) or ""
  return ("before the instruction %s a copy of %s is inserted%s"):format(placed(g.at),
    placed(g.from), user)
end

function WORDS.move(g)
  return ("the instruction %s goes before %s"):format(placed(g.from), placed(g.at))
end

function WORDS.swap(g)
  return ("the instructions %s and %s change places"):format(placed(g.at), placed(g.from))
end

function WORDS.operand(g)
  return ("operand %d of the instruction %s becomes what %s makes"):format(g.operand,
    placed(g.at), placed(g.from))
end

function WORDS.constant(g)
  return ("operand %d of the instruction %s becomes %s"):format(g.operand, placed(g.at),
    g.text:match "=(.*)$")
end

--- Every gene below the source in words. Where the PTX is not known, that is said.
---@param problem gilua.problem
---@param genome string
---@return { gene: string, text: string }[]
function M.explain(problem, genome)
  local words, list = {}, {}
  for _, gene in ipairs(M.genes(problem, genome)) do
    words[gene.text] = WORDS[gene.kind](gene)
  end
  for gene in genome:gmatch "%S+" do
    local llvms = gene:find "^<llvm:"
    if llvms or gene:find "^<ptx:" then
      list[#list + 1] = { gene = gene, text = words[gene] or llvms
        and "changes an instruction of LLVM's code" or "changes an instruction of the PTX" }
    end
  end
  return list
end

return M
