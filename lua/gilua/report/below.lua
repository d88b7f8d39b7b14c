-- below: genes below the source, in words and lines: what they do to the instructions of the
-- unmodified kernel's PTX. A problem has that (problem.ptx) once it was asked for here.

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local genomes = require "gilua.search.genome"

local M = {}

--- Has a genome genes below the source?
---@param genome string
---@return boolean
function M.has(genome)
  return select(2, genomes.parts(genome)) ~= ""
end

--- The instructions of the unmodified kernel; of a problem that is asked the first time a farm
--- compiles it.
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

--- A genome's genes below the source, where the problem's PTX is known and they fit it.
---@param problem gilua.problem
---@param genome string
---@return table[] of ptx:genes
function M.genes(problem, genome)
  return problem.ptx and problem.ptx:genes((select(2, genomes.parts(genome)))) or {}
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
  local list = {}
  for i, gene in ipairs(M.genes(problem, genome)) do
    list[i] = { gene = gene.text, text = WORDS[gene.kind](gene) }
  end
  if #list > 0 then return list end
  for gene in select(2, genomes.parts(genome)):gmatch "%S+" do
    list[#list + 1] = { gene = gene, text = "changes an instruction of the PTX" }
  end
  return list
end

return M
