-- recorded: problems of whole programs: what a recording's table says, its evaluation, the checked
-- run, and how one is made of a recording and a source.

package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local scratch = require "scratch"
local tap = require "tap"
local tape = require "tape"

-- A folder with a program's source and recordings of it.
local function workplace()
  local folder = tap.folder()
  scratch.write(folder .. "/app.cu", tape.SOURCE)
  scratch.write(folder .. "/a.rec", tape.recording(300))
  scratch.write(folder .. "/b.rec", tape.recording(100))
  return folder
end

local function made(folder, o)
  o = o or {}
  o.source, o.quiet = o.source or folder .. "/app.cu", true
  gi.recordedproblem.write({ folder .. "/a.rec", folder .. "/b.rec" }, folder .. "/p", o)
  return gi.problem(folder .. "/p")
end

local function the(list, field)
  local values = {}
  for i, one in ipairs(list) do values[i] = tostring(one[field]) end
  return table.concat(values, " ")
end

tap.case("a problem of two recordings", function()
  local folder = workplace()
  local problem = made(folder)
  local recorded = problem.definition.recorded
  tap.is(problem.kernel, "lower,scale", "kernels that have 90 % of the time evolve together")
  tap.is(the(recorded.table.answers, "name") .. " " .. the(recorded.table.answers, "type"),
    "y left f32 i32", "what is copied out has the parameters' names and types")
  tap.is(recorded.table.answers[1].max_error, nil, "what no rounding changes is exact")
  tap.is(recorded.table.recordings.validate[1], "b.rec", "the second recording is to choose by")
  tap.is(problem.definition.grammar.launch_bounds_threads, "64", "the blocks are as launched")
  tap.is(gi.own.case(problem, 5, "emu").recording, problem.dir .. "/a.rec", "it is trained on one")
  tap.is(gi.own.case(problem, 5, "emu", true).recording, problem.dir .. "/b.rec",
    "and the claim is made on the other")
  tap.has(scratch.sentence(gi.farm, problem, { device = "cuda", clock = "spans" }),
    "timed as a whole", "the clock of one kernel's blocks is refused in a sentence")

  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  local list = farm:evaluate({ "", "<_kernel.cu_8>", "<_kernel.cu_13>", "<_kernel.cu_24>" },
    gi.own.case(problem, 1))
  tap.is(the(list, "status"), "ok ok ok ok", "all run")
  local base, free, empty, loop = table.unpack(list)
  tap.ok(gi.fitness.right(base), "the kernels as they are give what was copied out")
  tap.is(base.n, 2 * 300 + 4, "every piece counts")
  tap.is(the(base.kernels, "launches"), "1 4 4", "launches are the program's")
  tap.is(base.ticks, base.kernels[1].ticks + base.kernels[2].ticks + base.kernels[3].ticks,
    "the time is that of the whole sequence")
  tap.ok(gi.fitness.right(free) and free.ticks < base.ticks, "a barrier less is right and faster")
  tap.ok(not gi.fitness.right(empty), "an answer that is not written is none")
  tap.ok(not gi.fitness.right(loop), "nor is one that is wrong from the second round on")
  tap.is(farm:case_info().name, "a.rec (train)", "the case says what the recording is for")
  tap.is(#gi.coverage.of(problem, gi.own.case(problem, 1)).never, 0,
    "coverage is known")
end)

tap.case("values that all launches are given", function()
  local problem = made(workplace())
  local params = { { name = "y", pointer = 1, type = "float", extents = {} },
    { name = "x", pointer = 1, type = "float", extents = {} },
    { name = "n", pointer = 0, type = "int", extents = {} } }
  local function values() -- as text
    local found = problem.definition.values_of { name = "scale", params = params }
    return ("%s %s"):format(found.n, found.y)
  end
  tap.is(values(), "nil nil", "one recording has 300 elements, the other 100")
  problem = (function()
    local folder = workplace()
    gi.recordedproblem.write({ folder .. "/a.rec" }, folder .. "/p", { source = folder .. "/app.cu",
      quiet = true })
    return gi.problem(folder .. "/p")
  end)()
  tap.is(values(), "300 nil", "of one that is the same, and of no address")
  params[2] = { name = "x", pointer = 0, type = "Extent", extents = {} }
  tap.is(values(), "nil nil", "nothing behind what is of unknown length")
end)

tap.case("launches as transformations want them", function()
  gi.transform.add { name = "launched", doc = "Another launch.",
    find = function() return {} end,
    make = function(_, _, args)
      local launch = ({ odd = "block.x%7", fives = "grid.x%5" })[args[1]] or args[1]
      return { edits = {}, launch = launch, says = "it is another" }
    end }
  local problem = made(workplace())
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  local genomes = { "", "T:launched<12>(grid.x*3)", "T:launched<12>(grid.x/8)",
    "T:launched<18>(grid.x/8)", "T:launched<12>(odd)",
    "T:launched<12>(block.x/2)", "T:launched<12>(block.x/2) T:launched<12>(grid.x*2)",
    "T:launched<12>(fives)" }
  local base, more, scale, lower, none, fewer, halved, fives = table.unpack(farm:evaluate(genomes,
    gi.own.case(problem, 1)))
  tap.ok(gi.fitness.right(more), "blocks without an item do nothing")
  tap.ok(more.warp_instructions > base.warp_instructions, "but they are there")
  tap.ok(scale.status == "ok" and not gi.fitness.right(scale), "too few of one kernel")
  tap.ok(lower.status == "ok" and not gi.fitness.right(lower), "too few of another")
  tap.ok(lower.max_error ~= scale.max_error or lower.wrong ~= scale.wrong, "each for itself")
  tap.is(none.status, "launch_error", "a block that it cannot do with")
  tap.has(none.message, "multiple of 7", "why")
  tap.ok(fewer.status == "ok" and not gi.fitness.right(fewer), "too few threads a block")
  tap.ok(gi.fitness.right(halved), "twice as many blocks of half as many")
  local list = farm:check(genomes)
  tap.is(the(list, "status"), "ok ok ok ok launch_error ok ok launch_error", "checked, too")
  tap.has(fives.message, "multiple of 5, and it is 2, in b.rec (validate)",
    "what fits this recording alone")

  local files, _, launched = gi.backport.files(gi.kept.of(problem), "T:launched<12>(grid.x*3)")
  tap.has(files[1].text, "scale<<<8 * 3, 64>>>", "the program's launch is changed")
  tap.is(launched.done .. " " .. #launched.left, "1 0", "and no other")
  files, _, launched = gi.backport.files(gi.kept.of(problem), "T:launched<18>(grid.x*3)")
  tap.has(files[1].text, "scale<<<8, 64>>>", "of a kernel that the file does not launch")
  tap.is(launched.done .. " " .. #launched.left, "0 1", "a person is told")
end)

tap.case("the checked run", function()
  local folder = workplace()
  local problem = made(folder)
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  local function by_hand(was, now)
    local source = problem.source:gsub(was, now)
    return { source = source, name = now }
  end
  local list = farm:check { by_hand("y%[i%] = x%[i%]", "y[i + n] = x[i]"),
    by_hand("atomicAdd%(left, 1%)", "*left += 1"), by_hand("lower%(", "upper("),
    by_hand("int i =", "while (n < 5000) n = n %% 4000; int i =") }
  tap.is(the(list, "status"), "illegal_address race launch_error timeout",
    "an address, a race, a kernel that is gone, a loop without end")
  tap.has(list[1].message, "event 11 of the recording", "with the place in the recording")
  tap.has(list[3].message, "kernel lower is not there any more", "and whose code is missing")
end)

tap.case("the source is the one that was recorded", function()
  local folder = workplace()
  scratch.write(folder .. "/other.cu", (tape.SOURCE:gsub("1%.0f", "2.0f")))
  local why = scratch.sentence(made, folder, { source = folder .. "/other.cu" })
  tap.has(why, "does not give the kernels that were recorded", "another one is refused")
  tap.has(why, "kernel scale has `", "with the first difference")
  scratch.write(folder .. "/like.cu", (tape.SOURCE:gsub("was > 4.0f", "was > 3.9999f")))
  local most = gi.recordedlimits.most_instructions
  gi.recordedlimits.most_instructions = 10
  tap.has(scratch.sentence(made, folder, { source = folder .. "/like.cu" }),
    "a.rec is too long to be replayed", "one of which that is not known, for want of time")
  gi.recordedlimits.most_instructions = most
  local like = made(folder, { source = folder .. "/like.cu" })
  tap.ok(like, "one with other PTX is taken where all that is copied out is the same")
  gi.newproblem.remove_tree(like.dir)
  local problem = made(folder, { source = folder .. "/other.cu", anyway = true })
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  tap.ok(not gi.fitness.right(farm:evaluate({ "" }, gi.own.case(problem, 1))[1]),
    "--anyway takes it, and its answers are held against the recording's")
end)

tap.case("without a source", function()
  local folder = workplace()
  gi.recordedproblem.write({ folder .. "/a.rec", folder .. "/b.rec" }, folder .. "/p",
    { quiet = true })
  local problem = gi.problem(folder .. "/p")
  tap.is(problem.kernel, "_Z5lowerPfPii,_Z5scalePfPKfi", "kernels have the recording's names")
  tap.is(the(problem.definition.recorded.table.answers, "type"), "f32 u8", "types are guessed")
  tap.is(problem.grammar:gene_count(), 0, "no line has genes")
  local barrier, store
  for _, i in ipairs(problem.ptx:instructions()) do
    barrier = barrier or i.text:find "^bar" and i.name
    store = store or i.text:find "^st%.global" and i.name
  end
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  local list = farm:evaluate({ "", barrier, store, barrier .. " " .. store },
    gi.own.case(problem, 1))
  tap.is(the(list, "status"), "ok ok ok ok", "all run")
  tap.ok(gi.fitness.right(list[1]) and gi.fitness.right(list[2]), "a barrier less is right")
  tap.ok(list[2].ticks < list[1].ticks, "and faster")
  tap.ok(not gi.fitness.right(list[3]), "a store less is not")
end)

tap.case("products without fma", function()
  local text = "\n\tfma.rn.ftz.f32 %f4, %f1, 0f3F800000, %f3;\n\t@%p1 fma.rn.f64 %fd1, %fd2, %fd3, "
    .. "%fd4;\n"
  tap.is(gi.ptxtext.without_fma(text), "\n\t{\n\t.reg .f32 %gilua_product;\n"
    .. "\tmul.rn.ftz.f32 %gilua_product, %f1, 0f3F800000;\n"
    .. "\tadd.rn.ftz.f32 %f4, %gilua_product, %f3;\n\t}\n\t{\n\t.reg .f64 %gilua_product;\n"
    .. "\tmul.rn.f64 %gilua_product, %fd2, %fd3;\n\t@%p1 add.rn.f64 %fd1, %gilua_product, %fd4;\n"
    .. "\t}\n", "a product, then a sum")
end)

tap.case("products with fma", function()
  local function fused(body) return gi.ptxtext.with_fma("\n{\n" .. body .. "\n}\n"):sub(4, -4) end
  local product = "\tmul.f32 \t%f3, %f1, %f2;\n"
  tap.is(fused(product .. "\tadd.f32 \t%f5, %f4, %f3;"),
    product .. "\tfma.rn.f32 %f5, %f1, %f2, %f4;", "a sum")
  tap.has(fused(product .. "\tsub.f32 \t%f5, %f3, %f4;"),
    "neg.f32 %gilua_minus, %f4;\n\tfma.rn.f32 %f5, %f1, %f2, %gilua_minus;", "a difference")
  tap.has(fused(product .. "\tsub.f32 \t%f5, %f4, %f3;"),
    "neg.f32 %gilua_minus, %f1;\n\tfma.rn.f32 %f5, %gilua_minus, %f2, %f4;", "the other way")
  for what, rest in pairs {
    ["rounded by name"] = "\tadd.rn.f32 \t%f5, %f4, %f3;",
    ["of another type"] = "\tadd.f64 \t%fd5, %fd4, %fd3;",
    ["in another block"] = "$L_1:\n\tadd.f32 \t%f5, %f4, %f3;",
    ["of what is written twice"] = "\tmov.f32 \t%f1, %f9;\n\tld.global.f32 \t%f1, [%rd1];\n"
      .. "\tadd.f32 \t%f5, %f4, %f3;",
  } do
    tap.is(fused(product .. rest), product .. rest, "not " .. what)
  end
  local rounded = "\tmul.rn.f32 \t%f3, %f1, %f2;\n\tadd.f32 \t%f5, %f4, %f3;"
  tap.is(fused(rounded), rounded, "not where the product is rounded")
end)

-- The program in three files: the kernels in two, which the third includes.
local function in_files(folder)
  local head, scale, lower, rest = tape.SOURCE:match
    "^(.-)(__global__ void scale.-\n}\n)\n(__global__ void lower.-\n}\n)\n(.*)$"
  scratch.write(folder .. "/scale.cu", "// the first\n" .. scale)
  scratch.write(folder .. "/lower.cu", (lower:gsub("\n$", "")))
  scratch.write(folder .. "/main.cu",
    head .. '#include "scale.cu"\n#include "lower.cu"\n' .. rest)
  return scale, lower
end

-- What deleting the rule of a line makes of the files.
local function without_line(problem, words)
  local line, at = 0, nil
  for text in problem.source:gmatch "([^\n]*)\n" do
    line = line + 1
    if text:find(words, 1, true) then at = at or line end
  end
  return gi.backport.files(gi.kept.of(problem), ("<_kernel.cu_%d>"):format(at))
end

tap.case("kernels in several files", function()
  local folder = workplace()
  local _, lower = in_files(folder)
  local problem = made(folder, { source = folder .. "/main.cu" })
  tap.is(problem.kernel, "lower,scale", "are one genome, where one file includes them")
  local files = without_line(problem, "atomicAdd(left, 1)")
  tap.is(the(files, "path"), folder .. "/lower.cu " .. folder .. "/scale.cu", "each is told")
  tap.is(files[2].text, files[2].old, "a change is put into the one that it belongs to")
  tap.is(files[1].text, (lower:gsub("\n$", ""):gsub("    atomicAdd%(left, 1%);\n", "    \n", 1)),
    "and to no other, as long as it was, without an end of its last line")
  gi.newproblem.remove_tree(problem.dir)

  local function unit(name) -- which is compiled on its own
    local text = assert(tap.read(("%s/%s.cu"):format(folder, name)))
    scratch.write(("%s/%s.cu"):format(folder, name),
      name == "scale" and "static __constant__ float by[2];\n" .. text or text)
  end
  scratch.write(folder .. "/main.cu", "int main() {}\n")
  unit "scale"
  local several = made(folder, { source = folder .. "/scale.cu," .. folder .. "/lower.cu" })
  tap.is(several.kernel, "lower,scale", "or several are named")
  gi.newproblem.remove_tree(several.dir)
  local one = made(folder, { source = folder .. "/lower.cu" })
  tap.is(one.kernel, "lower", "a kernel that none has stays as it is")
  gi.newproblem.remove_tree(one.dir)
  local both = made(folder, { source = folder .. "/main.cu", beside = true })
  tap.is(both.kernel, "lower,scale", "but where files beside it are looked into")
  gi.newproblem.remove_tree(both.dir)
  tap.has(scratch.sentence(made, folder, { source = folder .. "/lower.cu", kernel = "scale" }),
    "has no __global__ function named scale", "unless it is asked for by name")
end)

tap.case("what recordings are for", function()
  local folder = workplace()
  local function uses(o)
    local paths = {}
    for i, use in ipairs(o) do
      paths[i] = ("%s/%d.rec"):format(folder, i)
      scratch.write(paths[i], tape.recording(20 + i, { as = use or nil }))
    end
    gi.recordedproblem.write(paths, folder .. "/p", { quiet = true })
    local t = gi.problem(folder .. "/p").definition.recorded.table.recordings
    gi.newproblem.remove_tree(folder .. "/p")
    local list = {}
    for _, use in ipairs(gi.recorded.USES) do
      list[#list + 1] = use .. " " .. table.concat(t[use] or {}, " ")
    end
    return table.concat(list, ", ")
  end
  tap.is(uses { "unseen", false, "train", false },
    "train 3.rec, validate 2.rec, unseen 1.rec 4.rec, small ", "as they say, or by their order")
  tap.is(uses { "nonsense" }, "train 1.rec, validate , unseen , small ", "no use says nothing")
  tap.is(uses { "small", false, false, false },
    "train 2.rec, validate 3.rec, unseen 4.rec, small 1.rec", "the checked run has no order")
  tap.has(scratch.sentence(uses, { "unseen", "validate" }), "not for training", "none to train on")
end)

tap.case("a recording for the checked run alone", function()
  local folder = workplace()
  local function checked(with_small)
    if with_small then
      scratch.write(folder .. "/a.small.rec", tape.recording(20, { as = "small" }))
    end
    gi.recordedproblem.write({ folder .. "/a.rec" }, folder .. "/p",
      { source = folder .. "/app.cu", quiet = true })
    local problem = gi.problem(folder .. "/p")
    local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
    local case = gi.own.case(problem, 1)
    local instructions = farm:check({ "" })[1].instructions
    local m = farm:evaluate({ "" }, case)[1]
    gi.newproblem.remove_tree(folder .. "/p")
    return instructions, m.n, farm:case_info().name
  end
  local all, answers, name = checked(false)
  tap.is(name, "a.rec (train)", "it is trained on the first")
  local few, same, still = checked(true)
  tap.ok(few < all / 2, ("the small one is checked: %d of %d instructions"):format(few, all))
  tap.is(same, answers, "and trained on the other")
  tap.is(still, name, "as ever")
end)

tap.case("kernels by name", function()
  local folder = workplace()
  tap.has(scratch.sentence(made, folder, { kernel = "nothing" }),
    "launches no kernel 'nothing'; it launches scale, lower, touch", "one that is not there")
  tap.is(made(folder, { kernel = "touch" }).kernel, "touch", "one that is")
end)

-- Each number is written by one thread and looked at by the next, for nothing.
local RACY = tape.SOURCE:gsub("    y%[i%] = x%[i%] %* by%[1%] %+ 1%.0f;", [[
  {
    y[i] = x[i] * by[1] + 1.0f;
    if (y[(i + 1) %% n] == -7.0f) y[i] = 0.0f;
  }]])

tap.case("a program whose own kernels race", function()
  local folder = tap.folder()
  local path = folder .. "/a.rec"
  scratch.write(folder .. "/app.cu", RACY)
  scratch.write(path, tape.recording(300, { source = RACY }))
  local own, said = print, ""
  print = function(line) said = said .. line .. "\n" end -- luacheck: ignore
  local ready = gi.recordedproblem.write({ path }, folder .. "/p", { source = folder .. "/app.cu" })
  print = own -- luacheck: ignore
  tap.is(ready, false, "is no problem that is ready")
  tap.has(said, "p/problem.lua is written, but the run with every check on", "which is said")
  tap.has(said, "(race): race in global memory", "with the reason")
  tap.has(said, ", kernel.cu line ", "the place")
  tap.has(said, 'add check_races = "shared"', "and what to do")
  tap.is(gi.recordedproblem.write({ path }, folder .. "/q", { source = folder .. "/app.cu",
    kernel = "touch", quiet = true }), true, "one of a kernel that does not race is ready")
end)

tap.case("a program that is too long to be replayed", function()
  local folder, said = workplace(), ""
  local own, most = print, gi.recordedlimits.most_instructions
  print = function(line) said = said .. line .. "\n" end -- luacheck: ignore
  gi.recordedlimits.most_instructions = 10
  local ready = gi.recordedproblem.write({ folder .. "/a.rec" }, folder .. "/p",
    { source = folder .. "/app.cu" })
  print, gi.recordedlimits.most_instructions = own, most -- luacheck: ignore
  tap.ok(ready, "is a problem all the same")
  tap.has(said, "record the program with less to do", "and what is wrong with it is said")
  tap.ok(not said:find "a replay of the recording took", "replays are short here")
  gi.newproblem.remove_tree(folder .. "/p")
  gi.recordedlimits.long_s, said = 0, ""
  print = function(line) said = said .. line .. "\n" end -- luacheck: ignore
  gi.recordedproblem.write({ folder .. "/a.rec" }, folder .. "/p", { source = folder .. "/app.cu" })
  print, gi.recordedlimits.long_s = own, 10 -- luacheck: ignore
  tap.has(said, "a replay of the recording took 0 s, and some more are made", "a long one is told")
end)

tap.case("an answer that the program did not give", function()
  local folder = workplace()
  scratch.write(folder .. "/a.rec", tape.recording(300, { wrong = 77 }))
  local problem = made(folder)
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  local m = farm:evaluate({ "" }, gi.own.case(problem, 1))[1]
  tap.is(math.floor(m.off * m.n + 0.5), 1, "is one that is off")
end)

tap.case("names of C++", function()
  local mangled = gi.mangled
  local function read(symbol)
    local name, arguments = mangled.read(symbol)
    return name .. " " .. (arguments and table.concat(arguments, ",") or "?")
  end
  tap.is(read "_Z5scalePfPKfi", "scale ", "a function")
  tap.is(read "_Z6reduceILi256EfLb1EEvPT0_", "reduce 256,float,true", "a template's arguments")
  tap.is(read "_ZN2ns4deep3runILin4EPKfEEvv", "run -4,float const *", "in namespaces")
  tap.is(read "_Z4scanILi64EN3cub17CUB_300001_SM_9004AlgoEEvv", "scan 64,cub::Algo",
    "a type in namespaces")
  tap.is(read "_Z4scanILN3cub17CUB_300001_SM_9004AlgoE1EL4Kindn2EEvv",
    "scan (cub::Algo)1,(Kind)-2", "constants of enums, without a version's namespace")
  tap.is(read "_Z3runIN2ns4PairIif4DataEEPK3OneIfEEvv",
    "run ns::Pair<int, float, Data>,One<float> const *", "types made of templates")
  tap.is(read "_Z3runISt4pairIifEEvv", "run ?", "what is not understood")
  tap.is(read "plain", "plain ", "a name of C")
end)

-- A sum that only larger inputs need; and their recordings, two to train on.
local VARIED = tape.SOURCE:gsub("    y%[i%] = x%[i%] %* by%[1%] %+ 1%.0f;", [[
  {
    float one = 0.0f;
    for (int j = 0; j < 4; j++)
      one += n > 200 ? 0.25f : 0.0f;
    y[i] = x[i] * by[1] + (n > 200 ? one : 1.0f);
  }]])
local SUM, BARRIER = "<_kernel.cu_16>", "<_kernel.cu_8>"

local function varied()
  local folder, paths = tap.folder(), {}
  scratch.write(folder .. "/app.cu", VARIED)
  for i, n in ipairs { 300, 100, 64 } do
    paths[i] = ("%s/%d.rec"):format(folder, n)
    scratch.write(paths[i], tape.recording(n, { source = VARIED, as = n > 64 and "train" or nil }))
  end
  gi.recordedproblem.write(paths, folder .. "/p", { source = folder .. "/app.cu", quiet = true })
  return gi.problem(folder .. "/p")
end

tap.case("several recordings to train on", function()
  local problem = varied()
  local recorded = problem.definition.recorded
  local case = gi.own.drawn(problem, 1)
  tap.is(#case.recordings, 2, "a generation has two of them")
  tap.is(gi.own.drawn(problem, 1).recordings[1], case.recordings[1], "the same of a seed")
  local firsts = {}
  for seed = 1, 20 do firsts[gi.own.drawn(problem, seed).recordings[1]] = true end
  tap.is(#gi.settings.keys(firsts), 2, "either may be the first")
  recorded.table.draw = 1
  tap.ok(gi.own.drawn(problem, 1).recording, "draw = 1: one at a time")
  recorded.table.draw = nil
  tap.is(#gi.own.drawn(problem, 1, "emu", "best").recordings, 2, "the best meet on all")
  tap.has(gi.own.drawn(problem, 1, "emu", "claim").recording, "64.rec", "the claim is on others")

  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  local spec = {}
  for i, one in ipairs(recorded:specs "train") do spec[i] = one end
  local alone = {}
  for i = 1, 2 do alone[i] = farm:evaluate({ "", SUM, BARRIER }, spec[i]) end
  tap.is(tostring(gi.fitness.right(alone[1][2])) .. tostring(gi.fitness.right(alone[2][2])),
    "falsetrue", "what one recording tells, and the other does not")
  tap.ok(alone[2][2].ticks < alone[2][1].ticks, "where it would be faster")
  local told = {}
  local both = farm:evaluate({ "", SUM, BARRIER }, recorded:together "train",
    function(i, m, done, total) told[i] = ("%d/%d %s"):format(done, total, m.status) end)
  tap.is(table.concat(told, " "), "1/3 ok 2/3 ok 3/3 ok", "results are told in order")
  tap.ok(not gi.fitness.right(both[2]), "an edit that is wrong on one is wrong")
  tap.is(the(both[2].recordings, "right"), "false true", "on which is known")
  tap.is(both[1].n, alone[1][1].n + alone[2][1].n, "all answers of both are compared")
  local ratios = {}
  for i = 1, 2 do ratios[i] = alone[i][3].ticks / alone[i][1].ticks end
  tap.ok(ratios[1] ~= ratios[2], "an edit that gains more on one")
  tap.near(both[3].ticks / both[1].ticks, math.max(ratios[1], ratios[2]),
    "is worth what it is on the worst")
  tap.near(both[1].energy_j, alone[1][1].energy_j + alone[2][1].energy_j,
    "energy is that of all")
  for _, field in ipairs { "least_memory", "part_launch" } do
    tap.near(both[1][field], alone[1][1][field] + alone[2][1][field], "and so is " .. field)
  end
  tap.is(alone[1][1].part_launch % 4000, 0.0, "which is of all launches")
  tap.near(farm:compare(BARRIER, "", recorded:together "train").ratio,
    1 / math.max(ratios[1], ratios[2]), "in a comparison, too")
  tap.is(farm:case_info().answers > 0, true, "and there is a case at hand")
end)

tap.case("a search on several recordings", function()
  local problem = varied()
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1, wrong = "small" })
  local run = gi.evolve.run {
    problem = problem, farm = farm, population = 4, generations = 1, rng = gi.rng(1),
    fitness = gi.fitness.within(problem.tolerance),
    init = function() return { SUM, BARRIER, SUM .. " " .. BARRIER, "" } end,
    new_case = function(number)
      return gi.own.drawn(problem, number, "emu", ({ false, "best", "claim" })[number])
    end,
    observers = { gi.telling.observer() },
  }
  tap.is(run.result.genes, BARRIER, "the edit that is right on one of them loses")
  tap.is(run.result.unseen, true, "the winner is judged on a third")
  tap.has(gi.telling.summary(run), SUM .. ": right on 100.rec (train), wrong on 300.rec (train)",
    "and it is told which tells it")
  tap.is(select(2, gi.telling.list(run)), 2, "alone and with another")
end)

local function refusal(text)
  local folder = scratch.problem(tape.SOURCE, text)
  return scratch.sentence(gi.problem, folder)
end

tap.case("tables that cannot be meant", function()
  tap.has(refusal "{ recordings = { train = 'a.rec' }, source = 'kernel.cu' }",
    "the field 'kernels' is missing", "no kernels")
  tap.has(refusal [[{ recordings = { trains = 'a.rec' }, source = 'kernel.cu',
    kernels = { k = 'k' } }]], "did you mean 'train'?", "a use that there is not")
  tap.has(refusal [[{ recordings = { train = 'a.rec' }, source = 'kernel.cu',
    kernels = { k = 'k' } }]], "a.rec", "a recording that is not there")
  tap.has(refusal [[{ recordings = { train = 'a.rec' }, source = 'kernel.cu', kernels = { k = 'k' },
    answers = { { name = 'y', typ = 'f32' } } }]], "did you mean 'type'?", "a field of an answer")
  local function with(field)
    return ("{ recordings = { train = 'a.rec' }, source = 'kernel.cu', kernels = { k = 'k' }, %s }")
      :format(field)
  end
  tap.has(refusal(with "answers = { { type = 'f23' } }"), "did you mean 'f32'?", "an odd type")
  tap.has(refusal(with "tune_params = { block_size_x = { '64' } }"), "launches are those of the",
    "what a recording has fixed")
  tap.has(refusal(with "tune_params = { passes = { 'a b' } }"), "passes 1 must be a word",
    "a value that is no word")
  tap.has(refusal(with "tune_params = { passes = {} }"), "must be a list of values", "and none")
  tap.has(refusal(with "options = { {} }"), "options 1 must be a string", "options that are none")
  tap.has(refusal(with "launches = 'graf'"), "launches is \"stream\" or \"graph\", not 'graf'",
    "a way to launch that is none")
  tap.has(refusal(with "draw = 0"), "a whole number from 1, not 0", "a draw of none")
  tap.has(refusal(with "tolerance = { max_error = true }"), "must be a number",
    "limits that are none")
end)

tap.done()
