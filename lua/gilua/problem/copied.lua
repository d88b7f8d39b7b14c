--- copied: genes that copy a part of the kernel to another place, or put it in the place of another
-- part. Such a gene may be right for this data alone: two conditions may decide alike, or a loop
-- may have one iteration, because the width equals the height.

local M = {}

--- Rules whose change changes what is computed.
M.MEANS = { statement = true, ["if"] = true, ["while"] = true, ["else"] = true, for1 = true,
  for2 = true, for3 = true, init = true }

local DECIDES = { ["if"] = true, ["while"] = true, for1 = true, for2 = true, for3 = true }

-- Does a rule's text nothing but let threads wait? What that breaks, the checked run names.
local function only_waits(rule)
  local text = rule.text:gsub("%s+", "")
  return text == ";" or text:match "^__sync[%a_]+%b();$" ~= nil
end

--- Is a gene one of these?
---@param gene table of grammar:genes
---@return boolean
function M.is(gene)
  local rule, source = gene.target, gene.source
  if not rule or not source then return false end
  if gene.kind ~= "insert" and source.text == rule.text then return false end
  return M.MEANS[source.type] and not only_waits(source) or DECIDES[rule.type] or false
end

--- The first lines of the rules that such genes of a genome change.
---@param problem gilua.problem
---@param genome string
---@return table<integer, true>
function M.lines(problem, genome)
  local lines = {}
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    if M.is(gene) then lines[gene.target.line] = true end
  end
  return lines
end

return M
