-- lineage: the origin of a mutant's genes: its ancestors in the run's archive, generation by
-- generation, back to the first. Of each generation at most WIDEST ancestors are followed, those
-- that share most genes with the mutant.

local genome = require "gilua.search.genome"

local M = {}

M.WIDEST = 8
local DEEPEST = 400 -- generations

local ROW = "SELECT id, generation, birth, first_parent, second_parent, genome, status, ticks "
  .. "FROM evaluations WHERE run = ?1 AND id = ?2"

local function set_of(text)
  local set = {}
  for _, gene in ipairs(genome.split(text)) do set[gene] = true end
  return set
end

local function shared(text, wanted)
  local n = 0
  for gene in pairs(set_of(text)) do
    if wanted[gene] then n = n + 1 end
  end
  return n
end

-- The parents of some nodes, each once, those that share most first.
local function parents_of(nodes, known, row_of, wanted)
  local list = {}
  for _, node in ipairs(nodes) do
    for _, id in ipairs(node.parents) do
      local row = not known[id] and row_of(id)
      if row then
        known[id] = row
        row.shared = shared(row.genome, wanted)
        list[#list + 1] = row
      end
    end
  end
  table.sort(list, function(a, b)
    if a.shared ~= b.shared then return a.shared > b.shared end
    return a.id < b.id
  end)
  return list
end

local function node_of(row, gain_of)
  return {
    id = row.id, generation = row.generation, birth = row.birth, genome = row.genome,
    status = row.status, parents = { row.first_parent, row.second_parent ~= row.first_parent
      and row.second_parent or nil },
    gain = gain_of(row),
  }
end

--- The ancestors of a mutant, and itself.
---@param archive gilua.archive
---@param run integer
---@param id integer
---@param gain_of fun(row: table): number? how much faster than the unmodified kernel one was
---@return { nodes: table[], cut: boolean }? nodes: { id, generation, birth, genome, status,
---  parents, gain, level }, the mutant first; parents: of those that are there too, the one that
---  shares most genes with the child first; level: how far back; cut: there are more
function M.of(archive, run, id, gain_of)
  local function row_of(parent) return archive:row(ROW, run, parent) end
  local first = row_of(id)
  if not first then return nil end
  local wanted, known, nodes, cut = set_of(first.genome), { [id] = first }, {}, false
  local level, rows = 0, { first }
  while #rows > 0 and level < DEEPEST do
    local here = {}
    for i = 1, math.min(#rows, M.WIDEST) do
      here[i] = node_of(rows[i], gain_of)
      here[i].level = level
      nodes[#nodes + 1] = here[i]
    end
    cut = cut or #rows > #here
    level, rows = level + 1, parents_of(here, known, row_of, wanted)
  end
  return M.closed { nodes = nodes, cut = cut or #rows > 0 }
end

--- Without parents that are not among the nodes; the nearest in genes first.
---@param line { nodes: table[], cut: boolean }
---@return { nodes: table[], cut: boolean }
function M.closed(line)
  local there = {}
  for _, node in ipairs(line.nodes) do there[node.id] = node end
  for _, node in ipairs(line.nodes) do
    local genes, parents = set_of(node.genome), {}
    for _, id in ipairs(node.parents) do
      if there[id] then parents[#parents + 1] = id end
    end
    table.sort(parents, function(a, b)
      local m, n = shared(there[a].genome, genes), shared(there[b].genome, genes)
      if m ~= n then return m > n end
      return a < b
    end)
    node.parents = parents
  end
  return line
end

return M
