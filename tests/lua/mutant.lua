-- mutant: one mutant by hand, on the virtual GPU.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local mutants = require "gilua.prompt.mutant"
local scratch = require "scratch"
local tap = require "tap"

local SPEC = { side = 16, seed = 1 }
local CONDITION = "<IF_kernel.cu_245><IF_kernel.cu_167>"

-- One problem for the whole file: its farm is opened once.
local p = gi.problem "kernels/niftyreg"
p:use(SPEC, { jobs = 1 })

tap.case("rules", function()
  tap.is(#p:rules "IF", 4, "of a type")
  tap.is(#p:rules "if", 4, "in small letters too")
  tap.has(tostring(p:rules "IF"), "<IF_kernel.cu_245>         ((threadIdx.x & 31) < 16)", "to read")
  tap.raises(function() p:rules "IFF" end, "'IFF' is no rule type", "a type there is not")
  for _, rule in ipairs(p:rules()) do
    if rule.type == "fixed" then tap.ok(false, "a fixed rule is shown: " .. rule.name) end
  end
end)

tap.case("genes below the source", function()
  local farm <close> = gi.farm(p, { jobs = 1 })
  local tid = gi.below.open(p, farm):find "<ptx:spline_deformation.1.2>"
  local m = p:mutant("<IF_245><IF_167> " .. tid.name)
  tap.is(m.genome, CONDITION .. " " .. tid.name, "stay beside those of the source")
  tap.has(tostring(m:explain()), tid.text, "are told with their instruction")
  tap.is(m:compile().status, "ok", "compile")
  local plain = p:mutant "":ptx()
  tap.has(plain, "%tid.x", "the kernel has what is deleted")
  local _, before = plain:gsub("%%tid", "")
  local _, after = p:mutant(tid.name):ptx():gsub("%%tid", "")
  tap.is(after, before - 1, "and the mutant has it not")
  tap.raises(function() p:mutant "<ptx:spline_deformation.99.1>" end, "names no block", "refused")
end)

tap.case("the source around a line", function()
  local listing = p:show(245, 1)
  tap.is(#listing, 3, "as many lines as asked for")
  tap.is(listing[2].rules[1].name, "<IF_kernel.cu_245>", "with what may change there")
  tap.is(tostring(p:show "<IF_245>"), tostring(p:show(245)), "by a rule's name too")
  tap.has(tostring(listing), "  245         if ((threadIdx.x & 31) < 16) {", "to read")
  tap.raises(function() p:show(9999) end, "has lines 1 to 301, not 9999", "a line there is not")
  tap.raises(function() p:show "<IF_1>" end, "<IF_1> is no rule", "nor that rule")
end)

tap.case("the papers' short forms", function()
  tap.is(p:mutant("<288><232>").genome, "<_kernel.cu_288><_kernel.cu_232>", "bare numbers")
  for _, form in ipairs { "<IF_245><IF_167>", "<IF245><IF167>", CONDITION } do
    tap.is(p:mutant(form).genome, CONDITION, form)
  end
  tap.is(p:mutant(p:mutant "RemX"), p:mutant "RemX", "equal genomes are equal mutants")
  tap.is(tostring(p:mutant ""), "the unmodified kernel of niftyreg", "no gene at all")
end)

tap.case("a gene that is refused", function()
  tap.raises(function() p:mutant "<IF_246>" end, "near it are <IF_kernel.cu_245>",
    "a wrong line: what is near it")
  tap.raises(function() p:mutant "<IF_245><288>" end, "both rules of a gene have the same type",
    "a wrong type: why")
  tap.raises(function() p:mutant(5) end, "a genome is text", "no text")
end)

tap.case("what it changes", function()
  local m = p:mutant(CONDITION .. " RemX")
  tap.is(m:source(), (p.grammar:apply(m.genome, true)), "its source")
  tap.has(m:diff(), "-        if ((threadIdx.x & 31) < 16) {\n+        if (tid < c_A", "a diff")
  tap.is(p:mutant(""):diff(), "", "none of the unmodified kernel")
  tap.is(m:diff(m), "", "nor from itself")
  tap.is(#m:explain(), 2, "each gene in words")
  tap.has(tostring(m:explain()), "`RemX` is switched on", "to read")
end)

tap.case("what the compiler makes of it", function()
  local m = p:mutant("RemX"):compile()
  tap.is(m.status, "ok", "it compiles")
  tap.ok(m.instructions > 100, "to so many instructions: " .. m.instructions)
  tap.is(p:mutant("<_kernel.cu_242>"):compile().neutral, false, "to others than the original's")
  tap.is(p:mutant("<283>+<283>"):compile().neutral, true, "or the same: a neutral mutant")
  tap.has(p:mutant("RemX"):ptx(), ".entry spline_deformation", "PTX")
  local broken = p:mutant "<_kernel.cu_109>"
  tap.ok(broken:compile().status == "ok" or broken:compile().message, "or why it does not compile")
end)

tap.case("a right mutant", function()
  local m = p:mutant(CONDITION):run()
  tap.is(m.status, "ok", "runs")
  tap.is(m.wrong, 0.0, "gives right answers")
  tap.ok(m.speedup > 0.5 and m.speedup < 2, "has a speed-up: " .. m.speedup)
  tap.has(m.case, "ball 16", "on a case")
  tap.is(p:mutant(""):run().speedup, 1.0, "the unmodified kernel is as fast as itself")
  local errors = p:mutant(CONDITION):errors()
  tap.is(errors.off, 0, "has no error to show")
  tap.has(tostring(errors), "answers are within 0.001", "and says so")
end)

tap.case("a wrong mutant, and where", function()
  local m = p:mutant "<_kernel.cu_284><_kernel.cu_266>"
  local measured, e = m:run(), m:errors()
  tap.is(e.n, measured.n, "all answers are looked at")
  tap.is(e.wrong, math.floor(measured.wrong * measured.n + 0.5), "as many wrong as it measured")
  tap.near(e.max_error, measured.max_error, "the same largest error", 1e-6)
  local first = e.first[1]
  tap.is(#first.got, 3, "what it gave")
  tap.ok(first.x and first.y and first.z, "and where that is")
  tap.has(tostring(e), ("slice z = %d of 16x16x16"):format(e.slice), "a picture")
  tap.raises(function() m:errors { slice = 16 } end, "z goes from 0 to 15", "of a slice there is")
end)

tap.case("answers that are never written", function()
  local m = p:mutant "<IF_279>"
  local e = m:errors()
  tap.is(e.unset, e.n, "all of them")
  tap.is(m:run().unset, 1.0, "as measured")
  tap.has(tostring(e), "???", "in the picture")
end)

tap.case("a problem table of two dimensions has a picture", function()
  local q = gi.problem(scratch.problem([[
extern "C" __global__ void plus(const float *x, float *y, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < w && j < h)
    y[j * w + i] = x[j * w + i] + 1;
}
]], [[{ name = "plus", source = "kernel.cu", kernel = "plus", size = { 30, 7 }, block_size_x = 8,
    block_size_y = 4, args = {
      { name = "x", type = "f32", count = "size_x * size_y", fill = "index" },
      { name = "y", type = "f32", count = "size_x * size_y", role = "out" },
      { name = "w", type = "i32", value = "size_x" },
      { name = "h", type = "i32", value = "size_y" } } }]]))
  q:use({ seed = 1 }, { jobs = 1 })
  local text = tostring(q:mutant("<_kernel.cu_4>"):errors())
  tap.has(text, "30x7 answers, x to the right, y down", "as the kernel's size is")
  tap.has(text, "answer 1 (0, 0)", "and places in the list")
  tap.has(text, "\n" .. ("?"):rep(30) .. "\n", "row by row")
end)

tap.case("errors to a file", function()
  local dir, e = tap.folder(), p:mutant("<IF_279>"):errors()
  e:save(dir .. "/e.ppm")
  tap.is(tap.read(dir .. "/e.ppm"):sub(1, 9), "P6\n16 16\n", "a picture")
  tap.is(#tap.read(dir .. "/e.ppm"), 13 + 16 * 16 * 3, "with all its pixels")
  local wrong = p:mutant("<_kernel.cu_284><_kernel.cu_266>"):errors()
  wrong:save(dir .. "/e.nii.gz")
  local _, largest = assert(gi.nifti.read(dir .. "/e.nii.gz")).data:range()
  tap.near(largest, wrong.max_error, "a volume of errors", 1e-6)
  tap.raises(function() e:save(dir .. "/e.gif") end, ".ppm, .nii or .nii.gz", "nothing else")
end)

tap.case("answers without a place are drawn in a row", function()
  local errors = require "gilua.prompt.errors"
  local got, want = gi.array("f32", 100), gi.array("f32", 100)
  for i = 31, 40 do got[i] = 5 end
  local e = errors.new({ status = "ok" }, { output = got, expected = want }, { max_error = 0.5 })
  tap.is(e.off, 10, "counted")
  tap.is(e.low .. " " .. e.high, "31 40", "the first and last of them")
  tap.has(tostring(e), "is not known from this problem; answers 1 to 100", "and why")
  tap.raises(function() e:save "x.ppm" end, "not known from this problem", "no file of them")
end)

tap.case("a case can say where answers are", function()
  local errors = require "gilua.prompt.errors"
  local got, want = gi.array("f32", 4), gi.array("f32", 4)
  got[2] = 9
  local case = { output = got, expected = want, volume = { 2, 2, 2 },
                 positions = gi.array.from({ 0, 6, 1, 3 }, "i32") }
  local e = errors.new({ status = "ok" }, case, { max_error = 0.5 })
  local first = e.first[1]
  tap.is(("%d %d %d"):format(first.x, first.y, first.z), "0 1 1", "voxel 6 of 2x2x2")
  tap.is(e.slice, 1, "whose slice is shown")
  case.positions, case.box = gi.array.from({ 0, 4 }, "i32"), { 1, 2, 1 }
  first = errors.new({ status = "ok" }, case, { max_error = 0.5 }).first[1]
  tap.is(("%d %d %d"):format(first.x, first.y, first.z), "0 1 0", "the second answer of a box")
  case = { output = gi.array("i32", 2, 3):sentinel(), expected = gi.array("i32", 2, 3) }
  e = errors.new({ status = "ok" }, case, { max_error = 0 })
  tap.is(e.unset, 6, "whole numbers that were never written")
  tap.has(tostring(e), "???\n???", "an output of two dimensions is a picture itself")
end)

tap.case("an answer may be off by a share of what is expected", function()
  local errors = require "gilua.prompt.errors"
  local nan = 0 / 0
  local got = gi.array.from { 1000.5, 0.5, nan, 1001.5 }
  local want = gi.array.from { 1000, 0, nan, 1000 }
  local limits = { max_error = 0.25, rel_error = 1e-3 }
  local e = errors.new({ status = "ok" }, { output = got, expected = want }, limits)
  tap.is(e.off .. " of " .. e.n, "2 of 4", "half a thousandth is within a thousandth")
  tap.is(e.first[1].index .. " " .. e.first[2].index, "2 4", "those beyond")
  tap.has(tostring(e), "off by more than 0.25 + 0.001 of each answer", "said")
  local own = { output = got, expected = want, compare = { max_error = 2 } }
  e = errors.new({ status = "ok" }, own, limits)
  tap.has(tostring(e), "all 4 answers are within 2", "what an output's own limits replace")
end)

tap.case("times", function()
  local m = p:mutant "constantBasis"
  local t = m:time()
  tap.is(t.status, "ok", "beside the unmodified kernel")
  tap.near(t.ratio, m:run().speedup, "the same ratio as its speed-up", 1e-9)
  tap.ok(t.exact, "exact on the virtual GPU")
  tap.has(tostring(t), "as fast as the unmodified kernel", "to read")
  tap.near(m:compare(p:mutant "RemX").ratio * p:mutant("RemX"):compare(m).ratio, 1,
    "two mutants, either way", 1e-9)
  tap.is(m:compare(p).ratio, t.ratio, "the problem stands for the unmodified kernel")
  tap.is(m:compare(p:mutant "<IF_167>").status, "ok", "a wrong one can be compared too")
end)

-- A farm that answers as one on a GPU does.
local function gpu_farm()
  local measured = { status = "ok", ticks = 40000.0, ns = 27100.0, baseline_ns = 42400.0, n = 100,
                     max_error = 1e-6, mean_error = 1e-7, off = 0.0, wrong = 0.0, unset = 0.0 }
  return {
    virtual = false, devices = { { device = "cuda:0", target = "sm_90" } },
    description = function() return "NVIDIA H200" end,
    case_info = function() return { name = "brain" } end,
    compare = function()
      return { status = "ok", ratio = 1.558, low = 1.556, high = 1.561, pairs = 100,
               a_ns = { 27000, 27100, 27300 }, b_ns = { 42400 } }
    end,
    evaluate = function(_, genomes)
      local list = {}
      for i in ipairs(genomes) do
        list[i] = {}
        for k, v in pairs(measured) do list[i][k] = v end
      end
      return list
    end,
    close = function(self) self.closed = true end,
  }
end

tap.case("times of a GPU", function()
  local q, farm, asked = gi.problem "kernels/niftyreg", gpu_farm(), nil
  local farm_before = gi.farm
  gi.farm = function(_, options) asked = options return farm end
  q:use(SPEC, { device = "cuda" })
  local m = q:mutant "constantBasis"
  local fine, why = pcall(function()
    local t = m:time()
    tap.is(asked.device, "cuda", "the farm is opened with the options given")
    tap.is(t.ns, 27100, "the median")
    tap.is(t.exact, false, "is not exact")
    tap.is(tostring(t), "27.1 us: 1.558x as fast as the unmodified kernel\n100 interleaved pairs, "
      .. "95 % interval 1.556x to 1.561x; NVIDIA H200, brain", "to read")
    local inspect = require "gilua.prompt.inspect"
    tap.has(inspect.render(m:run()), "ok  27.1 us (1.000x)", "a measurement too")
    tap.has(m:ptx(), ".target sm_90", "compiled for that GPU")
    q:use(SPEC, { device = "emu" })
    tap.ok(farm.closed, "other options close it")
  end)
  gi.farm = farm_before
  assert(fine, why)
end)

tap.case("gene by gene", function()
  local k = p:mutant(CONDITION .. " constantBasis <_kernel.cu_283>+<_kernel.cu_283>"):knockout()
  tap.is(#k, 3, "a row for each gene")
  tap.has(k[2].verdict, "times faster", "what one does")
  tap.is(k[3].verdict, "does nothing for the time", "one that does nothing")
  tap.is(k.needed.genome:find("283", 1, true), nil, "is not needed")
  tap.has(tostring(k), "all it needs: ", "to read")
  k = p:mutant("<IF_279> RemX"):knockout()
  tap.has(k[1].verdict, "the culprit: without it right", "of a wrong mutant the guilty gene")
  tap.is(k.needed, nil, "and no other")
end)

tap.case("neighbours", function()
  local m = p:mutant(CONDITION .. " RemX")
  local list = p:neighbours(m, { more = 3, seed = 5 })
  tap.is(#list, 5, "one gene less, and some with one more")
  tap.is(list[1].genome, "RemX", "the first gene left out")
  tap.is(list[2].genome, CONDITION, "then the second")
  tap.is(list[3].genome, m.genome .. " " .. list[3].gene, "one added")
  tap.is(tostring(p:neighbours(m, { more = 3, seed = 5 })), tostring(list), "the same of one seed")
  tap.ok(tostring(p:neighbours(m, { more = 3, seed = 6 })) ~= tostring(list), "others of another")
  local run = list:run()
  tap.is(#run, 5, "run together")
  tap.has(tostring(run), "- " .. CONDITION, "and to read")
end)

tap.case("a case that cannot be made is refused when said", function()
  tap.raises(function() p:use { side = 16, seed = 1, sied = 1 } end,
    "a case has no field 'sied'; did you mean 'side'?", "a misspelt field")
  tap.raises(function() p:use { side = 16 } end, "a case needs an integer seed", "a missing one")
  tap.raises(function() p:use { side = 3, seed = 1 } end, "from 8 to 1024, not 3", "a wrong value")
  tap.raises(function() p:use { image = "none.nii", seed = 1 } end, "none.nii: No such file",
    "a file that is not there")
  tap.raises(function() p:use(SPEC, { devise = "emu" }) end, "did you mean 'device'?", "an option")
  tap.is(p:mutant("RemX"):run().n, 63 * 25, "and the case before it stays")
end)

tap.case("an error on the way leaves the farm in order", function()
  local image = tap.folder() .. "/ball.nii"
  assert(gi.nifti.write(image, gi.array("f32", 16, 16, 16):fill(1)))
  p:use { image = image, seed = 1 }
  os.remove(image)
  p.region = nil -- what it has of the image here
  tap.raises(function() p:mutant("RemX"):run() end, "No such file", "told")
  p:use(SPEC)
  tap.is(p:mutant("RemX"):run().status, "ok", "it works afterwards")
end)

-- As Ctrl-C does: an error out of whatever runs after so many instructions.
local function interrupted_after(count, f)
  debug.sethook(function()
    debug.sethook()
    error("interrupted!", 0)
  end, "", count)
  local fine, why = pcall(f)
  debug.sethook()
  return not fine and tostring(why):find("interrupted!", 1, true) ~= nil
end

tap.case("interrupted at any moment, it leaves no job behind", function()
  local want = p:mutant("constantBasis"):run().ticks
  local stopped = 0
  for i, m in ipairs(p:neighbours("", { more = 8, seed = 3 })) do
    p:use { side = 16, seed = 1 + i % 2 } -- a new case each time: more to interrupt
    if interrupted_after(100 * 2 ^ i, function() m:run() end) then stopped = stopped + 1 end
    p:use(SPEC)
    local again = p:mutant("constantBasis"):run()
    tap.is(again.ticks, want, ("after %d instructions"):format(100 * 2 ^ i))
  end
  tap.ok(stopped >= 4, "it was indeed stopped: " .. stopped .. " times")
end)

local function workers_alive()
  local n = 0
  local self = io.open("/proc/self/stat"):read("a"):match("^%d+")
  for name in require("lfs").dir("/proc") do
    local stat = name:find("^%d+$") and io.open("/proc/" .. name .. "/stat")
    local text = stat and stat:read("a") or ""
    if stat then stat:close() end
    local state, parent = text:match("^%d+ %(.*%) (%a) (%d+)")
    if parent == self and state ~= "Z" then n = n + 1 end
  end
  return n
end

tap.case("a problem that nobody has any more closes its farm", function()
  local before = workers_alive()
  local q = gi.problem "kernels/niftyreg"
  q:use(SPEC, { jobs = 1 })
  q:mutant("RemX"):run()
  tap.is(workers_alive(), before + 1, "a worker of its own")
  q = nil -- luacheck: ignore
  collectgarbage()
  collectgarbage()
  tap.is(workers_alive(), before, "ends with it")
  tap.is(mutants.latest(), nil, "and the prompt completes its rules no more")
end)

tap.case("a problem without a small case asks for one", function()
  local q = setmetatable({}, { __index = function(_, key)
    return key == "name" and "mine" or mutants.problem[key] or ({
      grammar = p.grammar, checked_case = nil })[key]
  end })
  tap.raises(function() q:mutant("RemX"):run() end, "mine has no small case of its own", "by name")
  tap.raises(function() p:use "brain" end, "a case is a table", "and a table it is")
end)

tap.done()
