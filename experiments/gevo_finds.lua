-- What GEVO found in Rodinia's programs, written by hand as genes on our programs of the same
-- kinds: is it right here, on data that nobody saw, is it free of races, and is it faster?
--
-- Liou, Wang, Forrest, Wu: "GEVO: GPU Code Optimization Using Evolutionary Computation", TACO 2020:
-- nw's barriers and lud's within a warp (§5.1.1), lud's store (§5.1.2), bfs's load (§5.2.2),
-- hotspot's memoisation (§5.2.4) and, at 1 % of error, its barriers (§6.1.2).
--
--   kernels/workloads/make -s problem nw lud bfs hotspot
--   gilua experiments/gevo_finds.lua

local gi = require "gilua"

local o = gi.cli {
  doc = "GEVO's finds, as genes on kernels/workloads.",
  { name = "problems", default = "out/workloads", doc = "folder of NAME/problem" },
  { name = "only", default = "nw,lud,bfs,hotspot", doc = "programs, with commas between" },
}

--------------------------------------------------------------------------------------------------
-- Genes by what they are about

-- Names of a problem's lines of the source that a pattern fits, in their order.
local function lines(problem, pattern)
  local list = {}
  for _, rule in ipairs(problem.grammar:rules()) do
    if rule.name:find "^<_" and rule.text:find(pattern) then list[#list + 1] = rule.name end
  end
  return list
end

-- Instructions of a kernel that a pattern fits, in their order.
local function instructions(ptx, kernel, pattern)
  local list = {}
  for _, i in ipairs(ptx:instructions()) do
    if i.name:find("^<ptx:" .. kernel .. "%.") and i.text:find(pattern) then list[#list + 1] = i end
  end
  return list
end

local function block_of(instruction) return instruction.name:match "%.(%d+)%.%d+>$" end

-- Stores of a block to where a later one of the block stores, too: all but the last.
local function overwritten(list)
  local genes, where = {}, {}
  for i = #list, 1, -1 do
    local place = block_of(list[i]) .. list[i].text:match "%[.-%]"
    if where[place] then table.insert(genes, 1, list[i].name) end
    where[place] = true
  end
  return genes
end

local function joined(list) return gi.genome.join(list) end

-- Loads that a block makes again, of what an earlier block has loaded into the same register.
local function again(list)
  local genes, made = {}, {}
  for _, i in ipairs(list) do
    local register = i.text:match "%%[%w]+"
    if made[register] then genes[#genes + 1] = i.name end
    made[register] = true
  end
  return genes
end

local FINDS = {
  { "nw", "the two barriers between a tile's three loads", function(problem)
    local all = lines(problem, "__syncthreads")
    return joined { all[2], all[3] }
  end },
  { "nw", "all barriers: a block is one warp", function(problem)
    return joined(lines(problem, "__syncthreads"))
  end },
  { "lud", "the barriers of diagonal: a block is half a warp", function(problem)
    local all = lines(problem, "__syncthreads")
    return joined { all[1], all[2], all[3] }
  end },
  { "lud", "stores of sums before the last addend, in the unrolled loops", function(_, ptx)
    return joined(overwritten(instructions(ptx, "perimeter", "^st%.shared")))
  end },
  { "bfs", "loads of a node's edges, again for each edge", function(_, ptx)
    return joined(again(instructions(ptx, "visit", "^ld%.global%.u32")))
  end },
  { "hotspot", "what is computed for x taken for y (a chip as wide as high)", function(_, ptx)
    local rx, ry = instructions(ptx, "heat", "heat_param_7%]")[1],
      instructions(ptx, "heat", "heat_param_8%]")[1]
    return ry.name .. rx.name
  end },
  { "hotspot", "the barriers of a step", function(problem)
    local all = lines(problem, "__syncthreads")
    return joined { all[2], all[3] }
  end },
}

--------------------------------------------------------------------------------------------------
-- What becomes of one

-- Its ratio on a recording, or what is wrong there.
local function on(farm, genome, case)
  local m = farm:evaluate({ "", genome }, case)
  if m[2].status ~= "ok" then return m[2].status end
  if not gi.fitness.right(m[2]) then return "wrong" end
  return ("%.3f"):format(m[1].ticks / m[2].ticks)
end

local function judged(problem, farm, genome)
  local recorded, cells = problem.definition.recorded, {}
  local last
  for _, use in ipairs { "train", "validate", "unseen" } do
    for _, case in ipairs(recorded:specs(use)) do
      cells[#cells + 1] = on(farm, genome, case)
      last = case
    end
  end
  local found = farm:examine(genome, { last })[1]
  local own = found.verdicts and found.verdicts[2]
  return table.concat(cells, ", "), own and own.status or found.why or "not run", own
end

print "| program | find | genes | times as fast on train, validate, unseen | with every check |"
print "| --- | --- | --- | --- | --- |"
for name in o.only:gmatch "[^,%s]+" do
  local problem = gi.problem(("%s/%s/problem"):format(o.problems, name))
  local farm <close> = gi.farm(problem, { device = o.device, jobs = o.jobs, check = "winners" })
  local ptx = gi.below.open(problem, farm)
  for _, find in ipairs(FINDS) do
    if find[1] == name then
      local genome = find[3](problem, ptx)
      local ratios, checked = judged(problem, farm, genome)
      print(("| `%s` | %s | %d | %s | %s |"):format(name, find[2], gi.genome.length(genome), ratios,
        checked))
    end
  end
end
