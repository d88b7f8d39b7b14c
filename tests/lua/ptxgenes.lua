-- Genes over PTX, as scripts and farms have them: names, draws, the funnel from genome to
-- measurement, beside genes of the source; and what an assembler says of many of them.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local scratch = require "scratch"
local tap = require "tap"
local genome = require "gilua.search.genome"
local gi = require "gilua"

local SOURCE = [[
extern "C" __global__ void k(float *y, const float *x, int n)
{
    __shared__ float s[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    float a = s[threadIdx.x] * 2.0f;
    a = fminf(a, 1.0f);
    if (i < n) y[i] = a;
}
]]

local PROBLEM = [[{ source = "kernel.cu", kernel = "k", size = 1000, block_size_x = 64,
  args = { { name = "y", type = "f32", count = "size_x", role = "out" },
    { name = "x", type = "f32", count = "size_x" },
    { name = "n", type = "i32", value = "size_x" } },
  tune_params = { UNUSED = { 1, 2 } },
}]]

local function problem()
  return gi.problem(scratch.problem(SOURCE, PROBLEM))
end

-- The name of the first instruction whose text matches.
local function named(ptx, pattern)
  for _, instruction in ipairs(ptx:instructions()) do
    if instruction.text:find(pattern) then return instruction.name end
  end
  error("no instruction is like " .. pattern)
end

tap.case("instructions have names, lines and texts", function()
  local farm <close> = gi.farm(problem(), { jobs = 1 })
  local ptx <close> = gi.ptx(farm:ptx())
  local list = ptx:instructions()
  tap.ok(#list > 15, "so many: " .. #list)
  local bar = ptx:find(named(ptx, "^bar.sync"))
  tap.is(bar.text .. " " .. bar.line .. " " .. tostring(bar.open), "bar.sync 0; 6 true", "one")
  tap.is(ptx:find(named(ptx, "^ret")).open, false, "a return is not open")
  local found, why, code = ptx:find "<ptx:k.99.1>"
  tap.is(found, nil, "there is no such block")
  tap.has(why, "<ptx:k.99.1> names no block", "which is said")
  tap.is(code, "gene", "as of a gene")
  tap.is(select(3, gi.ptx "no PTX"), "compile", "text that is none")
  tap.is(tostring(ptx), ("PTX of %d instructions"):format(#list), "it says how many")
  local closed
  do
    local other <close> = gi.ptx(farm:ptx())
    closed = other
  end
  tap.raises(function() closed:instructions() end, "the PTX is closed", "and when it is closed")
end)

tap.case("a genome's three parts", function()
  local source, ptx, llvm = genome.parts("<ptx:k.1.1> FAST <llvm:k.1.1> "
    .. "<ptx:k.1.2><ptx:k.1.3>  <_k.cu_3>")
  tap.is(source .. "|" .. ptx, "FAST <_k.cu_3>|<ptx:k.1.1> <ptx:k.1.2><ptx:k.1.3>", "in order")
  tap.is(llvm, "<llvm:k.1.1>", "LLVM's")
  tap.is(table.concat({ genome.parts "" }, "|"), "||", "of nothing")
end)

tap.case("draws are legal, and of the kinds asked for", function()
  local farm <close> = gi.farm(problem(), { jobs = 1 })
  local ptx <close> = gi.ptx(farm:ptx())
  local draw, rng = gi.genome.ptx_source(ptx), gi.rng(5)
  local kinds = {}
  for _ = 1, 200 do
    local list = assert(ptx:genes(draw(rng)))
    kinds[list[1].kind] = true
  end
  tap.is(#gi.settings.keys(kinds), 7, "all of them")
  local weights = { copy = 0, move = 0, replace = 0, swap = 0, operand = 0, constant = 0 }
  draw = gi.genome.ptx_source(ptx, { weights = weights })
  for _ = 1, 20 do tap.is(ptx:genes(draw(rng))[1].kind, "delete", "only deletions") end
  tap.raises(function() ptx:random_gene(rng, { cpy = 1 }) end, "weights are those of copy", "typo")
  weights.delete = 0
  tap.has(select(2, ptx:random_gene(rng, weights)), "nothing in this PTX is open", "none")
  local first, second = gi.genome.either(function() return "a" end, function() return "b" end), 0
  for _ = 1, 100 do second = second + (first(rng) == "b" and 1 or 0) end
  tap.ok(second > 20 and second < 80, "one or the other: " .. second)
end)

-- "status right" of each genome.
local function fates(farm, genomes)
  local list = {}
  for i, m in ipairs(farm:evaluate(genomes, { seed = 1 })) do
    list[i] = ("%s %s"):format(m.status, gi.fitness.right(m))
  end
  return table.concat(list, ", ")
end

tap.case("genes of PTX go through the funnel, with those of the source and without", function()
  local p = problem()
  local farm <close> = gi.farm(p, { jobs = 2 })
  local ptx <close> = gi.ptx(farm:ptx())
  -- of `fminf(a, 1.0f)` the 1 is moved to a register
  local store, one = named(ptx, "st.global"), named(ptx, "0f3F800000;$")
  local bar = named(ptx, "^bar.sync")
  tap.is(fates(farm, { "", bar .. "+" .. bar, one, store }),
    "ok true, ok true, ok false, ok false", "neutral and wrong ones")
  local twice = farm:evaluate({ one .. ".1=0f3F800000" }, { seed = 1 })[1]
  tap.has(twice.message, "it changes nothing", "one that is illegal does not compile")
  tap.is(twice.status, "compile_error", "which is its fate")
  local both = "<_kernel.cu_8> " .. store .. " UNUSED=2"
  local m = farm:evaluate({ both, both, "<_kernel.cu_8>" }, { seed = 1 })
  tap.is(m[1].genome, both, "a genome is told as it was written")
  tap.is(m[1].lost, nil, "the store is still there without line 8")
  tap.ok(m[1].unset == 1 and m[3].unset == 0, "both did what they do")
  tap.is(m[2].cached, "genome", "the same is not done twice")
  m = farm:evaluate({ "<_kernel.cu_8> " .. one .. ".1=0f40000000", "<_kernel.cu_8>" },
    { seed = 1 })
  tap.is(m[1].lost, one .. ".1=0f40000000", "what the source has no more is lost")
  tap.is(m[1].max_error, m[2].max_error, "and what is left is done")
  tap.is(m[1].ptx_hash, m[2].ptx_hash, "with the same PTX")
end)

tap.case("a barrier that is needed is missed by the checked run", function()
  local farm <close> = gi.farm(problem(), { jobs = 1 })
  local ptx <close> = gi.ptx(farm:ptx())
  tap.is(fates(farm, { named(ptx, "^bar.sync") }), "ok true", "each thread reads what it wrote")
  local swap = named(ptx, "^bar.sync") .. "~" .. named(ptx, "^ld.shared")
  tap.is(fates(farm, { swap }), "ok true", "also before it")
end)

tap.case("on a GPU mutants of PTX are screened, whatever else is checked", function()
  local p = problem()
  local farm <close> = gi.farm(p, { jobs = 1, check = "winners" })
  local ptx <close> = gi.ptx(farm:ptx())
  local gene = named(ptx, "^bar.sync")
  local gpu = setmetatable({ virtual = false }, { __index = farm })
  tap.is(gpu:is_screened(gene), true, "those of a GPU")
  tap.is(gpu:is_screened "UNUSED=2", false, "not of the source alone")
  tap.is(farm:is_screened(gene), false, "nor on the virtual GPU")
  function farm.is_screened(_, text) return text == gene end
  local list = farm:evaluate({ gene, "UNUSED=2" }, { seed = 2 })
  tap.is(list[1].status .. " " .. list[2].status, "ok ok", "both run to their end")
  tap.is(farm:stats().checks, 2, "one was screened, and the kernel as it is before it")
  tap.near(list[2].largest, 1, "a measurement knows the largest right answer", 1e-6)
end)

tap.case("genes in words, and the lines that they change", function()
  local p = problem()
  local farm <close> = gi.farm(p, { jobs = 1 })
  tap.is(gi.below.has "<_kernel.cu_8> FAST", false, "none below the source")
  tap.is(gi.below.explain(p, "<ptx:k.1.1>")[1].text, "changes an instruction of the PTX",
    "before its PTX is known")
  local ptx = gi.below.open(p, farm)
  tap.is(gi.below.open(p, farm), ptx, "which is asked for once")
  local bar, st = named(ptx, "^bar.sync"), named(ptx, "^st.shared")
  local one, param = named(ptx, "0f3F800000;$"), named(ptx, "^ld.param.u32")
  local function says(gene, words, lines)
    local list, found = gi.explain.genome(p, "<_kernel.cu_8> " .. gene), {}
    tap.has(list[1].text, "line 8", "the source's gene comes first")
    tap.is(list[2].text, words, words)
    for line in pairs(gi.below.lines(p, gene)) do found[#found + 1] = line end
    table.sort(found)
    tap.is(table.concat(found, " "), lines, "lines " .. lines)
  end
  local store = ptx:find(st).text
  local b, s = "`bar.sync 0;` of line 6", ("`%s` of line 5"):format(store)
  says(bar, ("the instruction %s is deleted"):format(b), "6")
  says(bar .. st, ("the instruction %s is replaced by a copy of %s"):format(b, s), "6")
  says(st .. "+" .. bar, ("before the instruction %s a copy of %s is inserted"):format(s, b), "5")
  says(st .. "-" .. bar, ("the instruction %s goes before %s"):format(b, s), "5 6")
  says(st .. "~" .. bar, ("the instructions %s and %s change places"):format(s, b), "5 6")
  says(one .. ".1=0f00000000", ("operand 1 of the instruction `%s` of line 8 becomes 0f00000000")
    :format(ptx:find(one).text), "8")
  local setp = named(ptx, "^setp")
  says(setp .. ".1=" .. param, ("operand 1 of the instruction `%s` of line 5 becomes what `%s` of "
    .. "line 1 makes"):format(ptx:find(setp).text, ptx:find(param).text), "5")
end)

tap.case("the same twice, from an archive too", function()
  local p, folder = problem(), tap.folder()
  local texts = {}
  for round = 1, 3 do
    local farm <close> = gi.farm(p, { jobs = round })
    local archive <close> = gi.archive.open(folder .. "/archive.sqlite")
    local _, hash = archive:world "one"
    if round > 1 then farm:remember(archive:memory(hash)) end
    local ptx <close> = gi.ptx(farm:ptx())
    local draw, rng, list = gi.genome.ptx_source(ptx), gi.rng(9), {}
    for i = 1, 30 do list[i] = (i % 3 == 0 and "<_kernel.cu_8> " or "") .. draw(rng) end
    local lines = {}
    for i, m in ipairs(farm:evaluate(list, { seed = 1 })) do
      lines[i] = ("%s %s %s %s %s"):format(m.genome, m.status, m.ticks, m.max_error, m.lost)
    end
    texts[round] = table.concat(lines, "\n")
    if round == 3 then tap.is(farm:stats().seconds.checked, 0, "nothing was done again") end
  end
  tap.is(texts[2], texts[1], "two workers, and an archive that is told")
  tap.is(texts[3], texts[1], "three, and one that answers")
  tap.has(texts[1], "8> <ptx:", "both sorts of genes")
end)

tap.case("edited PTX assembles, and its machine code tells what it does", function()
  local core = require "gilua.core"
  if not core.compile.linker() then return tap.skip "there is no nvJitLink" end
  local farm <close> = gi.farm(problem(), { jobs = 1 })
  local ptx <close> = gi.ptx(farm:ptx())
  local function hash(genes)
    local image = assert(core.compile.link({ (ptx:apply(genes)) }, { target = "sm_90" }))
    return assert(core.compile.code_hash(image, "k"))
  end
  local bar, load = named(ptx, "^bar.sync"), named(ptx, "^ld.shared")
  tap.is(#hash "", 16, "a hash")
  tap.is(hash(load .. "+" .. named(ptx, "^mov.u32")), hash(load .. "+" .. named(ptx, "^mov.u32")),
    "of the same code it is the same")
  tap.ok(hash(bar) ~= hash "", "of a barrier less another")
  tap.is(hash(named(ptx, "^ld.param.u32") .. "-" .. named(ptx, "^ld.param.u64")), hash "",
    "of an order that does not matter the same")
  local none, why = core.compile.code_hash("no image", "k")
  tap.is(none, nil, "of what is no machine code none")
  tap.ok(#why > 5, "and why: " .. tostring(why))
end)

--------------------------------------------------------------------------------------------------
-- What ptxas takes

local function ptxas()
  for _, name in ipairs { "ptxas", "/usr/local/cuda/bin/ptxas" } do
    if os.execute(name .. " --version >/dev/null 2>&1") then return name end
  end
end

-- Random genomes of one to six genes on the PTX of a problem of kernels/.
local function refused(name, program, n, folder)
  local p = gi.problem("kernels/" .. name)
  local farm <close> = gi.farm(p, { jobs = 1 })
  local ptx <close> = gi.ptx(farm:ptx())
  local draw, rng, list = gi.genome.ptx_source(ptx), gi.rng(2), {}
  for _ = 1, n do
    local genes = {}
    for i = 1, rng:int(6) do genes[i] = draw(rng) end
    local text = assert(ptx:apply(table.concat(genes, " ")))
    scratch.write(folder .. "/k.ptx", text)
    local pipe = assert(io.popen(("%s -arch=sm_90 -O0 -o %s/k.cubin %s/k.ptx 2>&1"):format(program,
      folder, folder)))
    local said = pipe:read "a"
    if not pipe:close() then list[#list + 1] = table.concat(genes, " ") .. "\n" .. said end
  end
  return table.concat(list, "\n")
end

tap.case("random genomes give PTX that ptxas takes", function()
  local program = ptxas()
  if not program then return tap.skip "there is no ptxas" end
  if tap.sanitized "what ptxas says of random genomes" then return end
  local folder = tap.folder()
  for _, name in ipairs { "niftyreg", "histogram", "reduction", "stereo" } do
    tap.is(refused(name, program, 12, folder), "", "of " .. name)
  end
end)

tap.done()
