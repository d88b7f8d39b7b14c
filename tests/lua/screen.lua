-- The funnel's first stage: who is wrong on the small case costs neither machine code nor a run of
-- the whole case, where its scheme wants no more; who may be right there loses nothing.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local fakegpu = require "fakegpu"
local tap = require "tap"
local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local gi = require "gilua"
local scratch = require "scratch"
local screen = require "gilua.farm.screen"
local wire = require "gilua.base.wire"

--------------------------------------------------------------------------------------------------
-- What answers say

tap.case("who may be right is who is right, or as near to it as is asked for", function()
  local function may(answers, tolerance, most)
    local a = { status = "ok", off = 0, unset = 0, max_error = 0 }
    for name, value in pairs(answers) do a[name] = value end
    return screen.may_be_right(a, tolerance or {}, most)
  end
  tap.ok(may {}, "right")
  tap.ok(not may { off = 0.01, max_error = 2 }, "wrong")
  tap.ok(not may { unset = 0.01 }, "never set")
  tap.ok(not may { off = 0.01, max_error = 0 / 0 }, "no number")
  tap.ok(may({ off = 0.01, max_error = 2 }, {}, 2), "wrong, but by no more than is timed")
  tap.ok(not may({ off = 0.01, max_error = 2 }, {}, 1.5), "by more")
  tap.ok(not may({ off = 0.01, max_error = 0 / 0 }, {}, 1.5), "no number is more")
  tap.ok(may({ off = 0.01, max_error = 2, penalty = 3 }, { parent_penalty = 3 }), "may be a parent")
  tap.ok(not may({ off = 0.01, max_error = 2, penalty = 4 }, { parent_penalty = 3 }), "may not")
  tap.ok(not may { status = "illegal_address" }, "wrote where nothing is to be written")
end)

--------------------------------------------------------------------------------------------------
-- On the virtual GPU

-- Distinct mutants of one to eight genes, as of a young evolution.
local function mutants(problem, n)
  local rng, list = gi.rng(20140712), {}
  for i = 1, n do
    local genes = {}
    for k = 1, rng:int(4) do genes[k] = problem.grammar:random_gene(rng) end
    list[i] = table.concat(genes, " ")
  end
  return list
end

-- Everything of a measurement but the seconds that it took.
local function told(m)
  local copy = {}
  for name, value in pairs(m) do copy[name] = value end
  copy.seconds, copy.compile_s = nil, nil
  return wire.encode(copy)
end

tap.case("no wrong mutant comes through, and no right one is refused", function()
  local problem = gi.problem "kernels/niftyreg"
  local list, case = mutants(problem, 40), { side = 24, seed = 3 }
  local whole <close> = gi.farm(problem, { jobs = 1, device = "emu" })
  local small <close> = gi.farm(problem, { jobs = 1, device = "emu", wrong = "small" })
  local as_ever, now = whole:evaluate(list, case), small:evaluate(list, case)
  local right, wrong = 0, 0
  for i, m in ipairs(as_ever) do
    local is_right = gi.fitness.right(m)
    tap.is(gi.fitness.right(now[i]), is_right, list[i])
    local raced = m.status == "race" and now[i].small -- nobody asked
    if is_right or m.status ~= "ok" and not raced then
      tap.is(told(now[i]), told(m), "all that is measured is the same")
    else
      tap.ok(now[i].small and now[i].off > 0, "the small case says how wrong it is")
      tap.ok(now[i].ticks > 0 and (raced or now[i].n < m.n),
        "with a time and the number of its answers")
    end
    right = right + (is_right and 1 or 0)
    wrong = wrong + ((m.status == "ok" or raced) and not is_right and 1 or 0)
  end
  tap.ok(right >= 5 and wrong >= 5, ("%d are right, %d wrong"):format(right, wrong))
  local before, after = whole:stats(), small:stats()
  tap.is(after.screened, wrong, "the wrong ones ended with the small case")
  tap.ok(after.runs < before.runs, ("%d runs in place of %d"):format(after.runs, before.runs))
  tap.is(wire.encode(after.duplicates), wire.encode(before.duplicates), "as many duplicates")
end)

tap.case("a comparison and answers are of the whole case", function()
  local problem = gi.problem "kernels/reduction"
  local farm <close> = gi.farm(problem, { jobs = 1, device = "emu", wrong = "small" })
  local case = { seed = 2, rows = 2, columns = 512 }
  local wrong = problem.source:gsub("%+= row", "-= row")
  local mutant = { source = wrong, name = "wrong" }
  tap.is(farm:evaluate({ mutant }, case)[1].small, true, "it is wrong on the small case")
  local _, m = farm:answers(mutant, case)
  tap.is(m.small, nil, "what it writes is asked of the whole one")
  tap.is(farm:evaluate({ mutant }, case, { wrong = "whole" })[1].small, nil, "so may anybody")
end)

-- Without its barrier the second warp may read what the first has not written yet: here it has.
local LUCKY = [[
extern "C" __global__ void k(float *y, const float *x, int n)
{
    __shared__ float s[64];
    int i = blockIdx.x * 64 + threadIdx.x, t = threadIdx.x;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) y[i] = s[t] + s[t % 32];
}
]]

tap.case("of a wrong mutant that ends with the small case nobody asks whether it races", function()
  local problem = gi.problem(scratch.problem(LUCKY, [[{ source = "kernel.cu", kernel = "k",
    size = 1000, block_size_x = 64, check_races = "shared",
    args = { { name = "y", type = "f32", count = "size_x", role = "out" },
      { name = "x", type = "f32", count = "size_x" },
      { name = "n", type = "i32", value = "size_x" } } }]]))
  local farm <close> = gi.farm(problem, { jobs = 1, device = "emu", wrong = "small" })
  local racing = problem.source:gsub("__syncthreads%(%)", "")
  local both = racing:gsub("%+ s%[", "- s[")
  local one, other = { source = racing, name = "racing" }, { source = both, name = "both" }
  local case = { seed = 2 }
  tap.is(farm:evaluate({ one }, case)[1].status, "race", "one that is right races")
  local m = farm:evaluate({ other }, case)[1]
  tap.is(m.status .. " " .. tostring(m.small), "ok true", "a wrong one is wrong")
  tap.is(farm:evaluate({ other }, case, { wrong = "whole" })[1].status, "race",
    "and races where it is to go on to the whole case")
end)

tap.case("what wrong is, is said", function()
  tap.raises(function() gi.farm(gi.problem "kernels/reduction", { jobs = 1, wrong = "both" }) end,
    'wrong is "whole" or "small", not \'both\'')
end)

--------------------------------------------------------------------------------------------------
-- On a GPU: machine code

local VERDICTS = {
  race = { status = "race", message = "as the test says" },
  wrong = { status = "ok", answers = { status = "ok", off = 0.5, wrong = 0.5, unset = 0,
    max_error = 3, mean_error = 1, nan = 0, n = 10 } },
  right = { status = "ok", answers = { status = "ok", off = 0, wrong = 0, unset = 0, max_error = 0,
    mean_error = 0, nan = 0, n = 10 } },
}

local function verdict_of(code)
  local kind = code:match "race" or code:match "wrong" or "right"
  local verdict = { instructions = 100, ticks = code:match "slow" and 300 or 100 }
  for name, value in pairs(VERDICTS[kind]) do verdict[name] = value end
  return verdict
end

local ANSWERS = {
  probe = function()
    return { devices = { { device = "cuda:0", name = "fake GPU", clock_ghz = 2,
                           target = "sm_90" } } }
  end,
  compile = function(m)
    local results = {}
    for i, u in ipairs(m.units) do
      results[i] = { code = u.source, hash = core.system.hash((u.source:gsub("%b()", ""))) }
      if m.target == "sm_90" then
        results[i].code_hash = core.system.hash(u.source .. table.concat(m.options))
      end
    end
    return { results = results }
  end,
  check = function(m) return { verdict = verdict_of(m.code) } end,
  sift = function(m)
    local verdict = verdict_of(m.code)
    local is_wrong = verdict.answers and verdict.answers.off > 0
    return { verdict = (m.first or is_wrong) and verdict or { status = "ok", passed = true } }
  end,
  case = function() return { case = wire.encode {}, info = { name = "fake" } } end,
  run = function(m)
    local wrong = m.mutant.code:match "wrong"
    return { measurement = { status = "ok", off = wrong and 0.25 or 0, wrong = 0, unset = 0,
      max_error = 0, n = 1000, ns = 1000, baseline_ns = m.baseline and 1000, seconds = {} } }
  end,
}

local PROBLEM = { dir = "fake", kernel = "k", source = "source of ",
  parameters = {}, loop_limit = 10, definition = {},
  tolerance = { max_error = 0 }, checked_case = {} }
function PROBLEM.values() return {} end
function PROBLEM.compile_options() return { "-Xptxas=-O1" } end
function PROBLEM.prepared(_, case) return case end
PROBLEM.grammar = { names = function() return {} end, guard = function() return "" end }
function PROBLEM.grammar.apply(_, genome, marks)
  local source = PROBLEM.source .. genome
  return marks.hash and core.system.hash128(marks.hash .. source) or source, { params = {} }
end

-- What came of genomes, and what was compiled to PTX and to machine code, each in one word; behind
-- so many that were wrong.
local function evaluated(options, genomes, wrong)
  local real, fake, results = crew.open, fakegpu.crew(ANSWERS), nil
  crew.open = function() return fake end
  local ok, why = pcall(function()
    options.device, options.jobs = "cuda", 1
    local farm <close> = gi.farm(PROBLEM, options)
    for _ = 1, wrong or 0 do farm.funnel.sieve:note { status = "race" } end
    results = farm:evaluate(genomes, { n = 1 })
  end)
  crew.open = real
  if not ok then error(why, 0) end
  local asked = { compute_90 = {}, sm_90 = {} }
  for _, message in ipairs(fake.asked) do
    for _, unit in ipairs(message.units or {}) do
      table.insert(asked[message.target], (unit.source:gsub("source of ", "")))
    end
  end
  for _, list in pairs(asked) do table.sort(list) end
  return results, table.concat(asked.compute_90, ","), table.concat(asked.sm_90, ","), fake
end

local GENOMES = { "race", "right", "slow wrong", "wrong" }

tap.case("machine code is for those that may be right", function()
  local m, ptx, machine = evaluated({ wrong = "small" }, GENOMES)
  tap.is(ptx, ",race,right,slow wrong,wrong", "PTX of all")
  tap.is(machine, ",right", "machine code of the unmodified kernel and the one that is right")
  tap.is(m[1].status, "race", "who races says so")
  tap.is(m[2].off .. " " .. tostring(m[2].small) .. " " .. m[2].ticks, "0 nil 2000.0", "measured")
  tap.is(m[4].off .. " " .. tostring(m[4].small), "0.5 true", "the small case's errors")
  tap.is(m[4].ticks .. " " .. m[3].ticks, "2000.0 6000.0",
    "as slow as the unmodified kernel, and three times as slow")
end)

tap.case("while most are wrong, who is right in haste is compiled once more, in one go", function()
  local m, ptx, machine, fake = evaluated({ wrong = "small" }, GENOMES, 100)
  tap.is(ptx, ",,race,right,slow wrong,wrong", "all in haste; the unmodified kernel as ever, too")
  tap.is(machine, ",race,right", "machine code of those that may be right")
  local hasty = 0
  for _, message in ipairs(fake.asked) do
    local is_hasty = table.concat(message.options or {}, " "):find("--Ofast-compile=mid", 1, true)
    hasty = hasty + (is_hasty and #message.units or 0)
    tap.ok(not is_hasty or message.target == "compute_90", "no machine code in haste")
  end
  tap.is(hasty, 5, "four mutants and the unmodified kernel")
  tap.is(m[1].status, "race", "the checked run is of what is compiled as ever")
  tap.is(m[2].off .. " " .. tostring(m[2].small) .. " " .. m[2].ticks, "0 nil 2000.0", "measured")
  tap.is(m[3].off .. " " .. tostring(m[3].small) .. " " .. m[3].ticks, "0.5 true 6000.0",
    "the small case's errors and times, of the two in haste")
  tap.is(m[3].code_hash, nil, "and no code")
end)

tap.case("a scheme that wants the errors of the whole case has them", function()
  local m, ptx, machine = evaluated({}, GENOMES)
  tap.is(ptx .. ";" .. machine, ";,race,right,slow wrong,wrong", "in one stage, for most get far")
  tap.is(m[4].off .. " " .. tostring(m[4].small), "0.25 nil", "the GPU's errors")
  m, ptx, machine = evaluated({ assembler = "nvjitlink" }, GENOMES)
  tap.is(ptx, ",race,right,slow wrong,wrong", "in two where nothing is made twice")
  tap.is(select(2, machine:gsub(",", "")), 3, "machine code of all that stood the checked run")
  tap.is(m[1].status .. " " .. m[4].off, "race 0.25", "with the GPU's errors, too")
end)

tap.case("who is not checked, or asked to be in one stage, is compiled once", function()
  local _, ptx, machine = evaluated({ check = "winners" }, GENOMES)
  tap.is(ptx .. ";" .. machine, ";,race,right,slow wrong,wrong", "nobody is checked")
  _, ptx, machine = evaluated({ two_stages = false }, GENOMES)
  tap.is(ptx .. ";" .. machine, ";,race,right,slow wrong,wrong", "one stage")
end)

tap.case("equal PTX is assembled once", function()
  local m, ptx, machine = evaluated({ wrong = "small" }, { "right", "right(again)", "(neutral)" })
  tap.is(ptx, ",(neutral),right,right(again)", "three sources beside the unmodified kernel's")
  tap.is(select(2, machine:gsub(",", "")), 1, "two kinds of machine code: " .. machine)
  tap.is(m[1].code_hash == m[2].code_hash and m[1].code_hash ~= nil, true, "it is the same code")
end)

tap.case("nvJitLink is given the PTX that was checked, and what the assembler is told", function()
  local _, _, _, fake = evaluated({ wrong = "small", assembler = "nvjitlink" }, { "right" })
  local linked = 0
  for _, message in ipairs(fake.asked) do
    if message.op == "compile" and message.target == "sm_90" then
      tap.is(message.ptx, true, "no source")
      tap.is(table.concat(message.options), "-Xptxas=-O1", "the options")
      linked = linked + #message.units
    end
  end
  tap.is(linked, 2, "of the unmodified kernel and a mutant")
end)

tap.case("what the assembler is told is told to machine code alone", function()
  local _, _, _, fake = evaluated({ wrong = "small" }, { "right" })
  for _, message in ipairs(fake.asked) do
    if message.op == "compile" then
      tap.is(#message.options, message.target == "sm_90" and 1 or 0, message.target)
    end
  end
end)

tap.done()
