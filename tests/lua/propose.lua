-- propose: texts of a kernel that another program writes, as genes; and diffs, taken and applied.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local diff = require "gilua.base.diff"
local genome = require "gilua.search.genome"
local gi = require "gilua"
local propose = require "gilua.search.propose"
local tap = require "tap"

local seed = tonumber(os.getenv "SEED") or 1
tap.note(("seed %d"):format(seed))
local rng = gi.rng(seed)

local reduction = gi.problem "kernels/reduction"

-- A text with lines taken, changed and added at random; with and without an end of the last line.
local function varied(text)
  local lines = {}
  for line in text:gmatch "[^\n]*\n" do
    local chance = rng:unit()
    if chance < 0.05 then goto next end
    if chance < 0.1 then line = "  x = <" .. rng:int(100) .. "% é\t>;\n" end
    if chance > 0.95 then lines[#lines + 1] = "// added " .. rng:int(9) .. "\n" end
    lines[#lines + 1] = line
    ::next::
  end
  local all = table.concat(lines)
  return rng:unit() < 0.3 and all:gsub("\n$", "") or all
end

tap.case("a unified diff brings one text to the other, also where lines have moved", function()
  local wrong = 0
  for _ = 1, 60 do
    local new = varied(reduction.source)
    if not new:find "\n$" then new = new .. "\n" end
    local patch = diff.unified(reduction.source, new, "kernel.cu")
    if patch ~= "" and diff.apply(reduction.source, patch) ~= new then wrong = wrong + 1 end
    local moved = diff.apply("// first\n" .. reduction.source, patch)
    if patch ~= "" and moved ~= "// first\n" .. new and moved ~= nil then
      -- a hunk at the very beginning may stand before the new line too
      if not patch:find "@@ %-1[, ]" then wrong = wrong + 1 end
    end
  end
  tap.is(wrong, 0, "of sixty")
  local none, why = diff.apply("a\nb\n", "--- k\n+++ k\n@@ -1,2 +1,2 @@\n a\n-c\n+d\n")
  tap.is(none, nil, "what does not fit is refused")
  tap.has(why, "the lines of its hunk 1 (line 1) are not there", "with its hunk")
  tap.has(select(2, diff.apply("a\n", "hello\n")), "holds no hunk", "and what is no diff")
end)

tap.case("genes for lines give a source any text", function()
  local wrong, different = 0, 0
  for _ = 1, 60 do
    local text = varied(reduction.source)
    local genes = propose.genome(reduction, text)
    local made = reduction.grammar:apply(genes, true)
    local full, why = reduction.grammar:check(genes)
    if not full then tap.note(why) end
    if made ~= text and made ~= text .. "\n" then wrong = wrong + 1 end
    if genes ~= "" and reduction.grammar:apply(full or "", true) ~= made then wrong = wrong + 1 end
    if genes ~= "" then different = different + 1 end
  end
  tap.is(wrong, 0, "of sixty")
  tap.ok(different > 50, "most of them different")
end)

tap.case("a later gene takes lines from an earlier one; others are as ever elsewhere", function()
  local grammar = reduction.grammar
  local function lines_of(text)
    local list = {}
    for line in text:gmatch "[^\n]*" do list[#list + 1] = line end
    return list
  end
  local made = lines_of(grammar:apply(genome.join { genome.lines(2, 4, "// gone\n"),
    genome.lines(4, 5, "// stays\n") }, true))
  local before = lines_of(reduction.source)
  tap.is(made[2], before[2], "the earlier one is nowhere")
  tap.is(made[4], "// stays", "the later one is there")
  tap.is(made[5], before[6], "and what comes behind")
  local gene
  repeat gene = grammar:random_gene(rng, { pragma = 0 }) until gene:find "^<_[^<]*>$"
  local line = tonumber(gene:match "_(%d+)>$")
  local there = grammar:apply(gene, true)
  local both = grammar:apply(gene .. " " .. genome.lines(1, 1, before[1] .. "\n"), true)
  tap.is(both, there, "a gene of other lines does what it does")
  local none = grammar:apply(gene .. " " .. genome.lines(line, line, before[line] .. "\n"), true)
  tap.is(none, reduction.source, "one of these lines nothing")
  local _, detail = grammar:apply(genome.lines(1, 1, "// one\n"))
  tap.ok(detail.rewritten, "it is said that the text may hold what it likes")
  tap.is(select(2, grammar:apply(gene)).rewritten, false, "and of others that it does not")
end)

tap.case("settings in a text are settings, which a launch knows of", function()
  local text = reduction.source:gsub("block_size 256", "block_size 64 // fewer")
    :gsub("#undef shuffles", "#define shuffles 1"):gsub("sum = 0%.f", "sum = 1.f")
  local genes = propose.genome(reduction, text)
  tap.has(genes, "block_size=64 shuffles=1 <lines_50>=%20%20", "beside the piece that differs")
  tap.is(propose.genome(reduction, reduction.source), "", "none where nothing differs")
end)

tap.case("a gene that is none is refused in a sentence", function()
  for gene, part in pairs {
    ["<lines_3>"] = "it is written <lines_FILE_12>=TEXT",
    ["<lines_0>=x"] = "do not begin before they end", ["<lines_4-3>=x"] = "do not begin",
    ["<lines_99999>=x"] = "goes on behind the last line",
    ["<lines_other.cu_3>=x"] = "of no file here, or no numbers",
    ["<lines_99999999999999999999>=x"] = "or no numbers", ["<lines_-3>=x"] = "or no numbers",
    ["<lines_3>=%"] = "two hexadecimal digits", ["<lines_3>=%4"] = "two hexadecimal digits",
    ["<lines_3>=%00"] = "two hexadecimal digits", ["<lines_3>=a<b"] = "two hexadecimal digits",
  } do
    local full, why = reduction.grammar:check(gene)
    tap.is(full, nil, gene)
    tap.has(why or "", part, "  why")
  end
end)

tap.case("answers are read: a source, a diff, or JSON", function()
  local source = "a\nb\nc\n"
  local patch = diff.unified(source, "a\nB\nc\n", "kernel.cu")
  local function texts(answer, most)
    local list, refused = propose.texts(answer, source, most or 4)
    return table.concat(list, "|"), table.concat(refused, "|")
  end
  tap.is(texts "x\ny\n", "x\ny\n", "a source")
  tap.is(texts(patch), "a\nB\nc\n", "a diff")
  tap.is(texts "  \n", "", "nothing")
  local json = gi.json.encode { { patch = patch, note = "upper case" }, { source = "d\n" }, "e\n" }
  tap.is(texts(json), "a\nB\nc\n|d\n|e\n", "a list")
  tap.is(texts(json, 1), "a\nB\nc\n", "no more than wanted")
  tap.is(texts '{"source": "f\\n"}', "f\n", "one alone")
  tap.has(select(2, texts "[1, {}]"), "proposal 2: it has neither", "what is none of these")
  tap.has(select(2, texts "[1, "), "its JSON is broken", "JSON that ends too soon")
  tap.has(select(2, texts "--- k\n+++ k\n@@ -1 +1 @@\n-z\n+y\n"), "are not there", "another's diff")
end)

--------------------------------------------------------------------------------------------------
-- A run

-- What a program says that moves the first of two numbers up to the other.
local function program(folder, text)
  local path = folder .. "/program"
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
  return "sh " .. path
end

-- Genomes and births of the generations of a small run.
local function bred(step)
  local list, farm <close> = {}, gi.farm(reduction, { jobs = 1 })
  gi.evolve.run {
    problem = reduction, farm = farm, rng = gi.rng(1), population = 4, generations = 3,
    finalists = 0, breed = { gi.evolve.mutants, gi.evolve.newcomers, gi.propose.step(step) },
    new_case = function(_, r) return { rows = 20, columns = 99, seed = r:int(1 << 31) } end,
    on_generation = function(run)
      for _, x in ipairs(run.population) do
        list[#list + 1] = ("%d %s %s %s"):format(run.generation, x.birth, x.measurement.status,
          x.genome)
      end
    end,
  }
  return table.concat(list, "\n")
end

local ANSWER = [[
cat >"$0.asked"
echo asked >>"$0.times"
cat <<'END'
--- kernel.cu
+++ kernel.cu
@@ -10,2 +10,2 @@
-// unroll      elements a thread adds to sums of their own before these are added: 1, 2 or 4
-#define block_size 256
+// proposed
+#define block_size 128
END
]]

tap.case("what a program proposes is a mutant, and is kept", function()
  local folder = tap.folder()
  local command = program(folder, ANSWER)
  local first = bred { command = command, keep = folder .. "/kept" }
  local _, proposals = first:gsub("%d proposal ok block_size=128 <lines_10>=", "")
  tap.is(proposals, 1, "a diff of the best is one for as long as it fits: " .. first)
  local question = gi.json.decode(tap.read(folder .. "/program.asked"))
  tap.is(question.unmodified.source, reduction.source, "it is told the kernel")
  tap.is(question.generation, 3, "and the generation")
  tap.ok(question.best.source and question.best.ticks, "and the best so far")
  local again = bred { command = "false", keep = folder .. "/kept" }
  tap.is(again, first, "a second time it is not needed")
  local asked = #tap.read(folder .. "/program.times")
  bred { command = command, keep = folder .. "/kept", fresh = true }
  tap.is(#tap.read(folder .. "/program.times"), 2 * asked, "but asked where that is wanted")
end)

tap.case("a program that fails ends the run at first, and is told of later", function()
  tap.raises(function() bred { command = "exit 3" } end,
    "'exit 3' proposes nothing: it ended with status 3", "a status")
  tap.raises(function() bred { command = "sleep 9", limit_s = 0.1 } end,
    "it did not end within 0.1 s", "none")
  tap.raises(gi.propose.step, "command must be a shell's command line", "no command")
  tap.raises(function() gi.propose.step { command = "true", most = 0 } end,
    "most must be a whole number from 1 on, not 0", "no number")
  local folder = tap.folder()
  local command = program(folder, '[ ! -e "$0.once" ] || exit 3\n: >"$0.once"\n' .. ANSWER)
  local list = bred { command = command .. " 2>/dev/null" }
  tap.has(list, "2 proposal ok", "the first time it answers")
  tap.is(list:find("3 proposal", 1, true), nil, "the second it does not, and the run goes on")
end)

tap.done()
