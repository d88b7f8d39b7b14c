-- Genes over LLVM's code: names, draws, repair of SSA form, what is lost, and the way from genome
-- to measurement beside genes of the source and of PTX.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local scratch = require "scratch"
local tap = require "tap"
local core = require "gilua.core"
local gi = require "gilua"

local info, missing = core.llvm.info()
if not info or not info.clang then
  tap.skip(missing or "there is no clang of LLVM " .. info.version)
  tap.done()
  return
end

-- By hand, so that it is the same in every version of LLVM.
local IR = [[
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
define ptx_kernel void @k(ptr addrspace(1) %y, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %less = icmp slt i32 %tid, %n
  br i1 %less, label %then, label %end
then:
  %a = add i32 %tid, 5
  %b = mul i32 %a, %n
  %p = getelementptr i32, ptr addrspace(1) %y, i32 %tid
  store i32 %b, ptr addrspace(1) %p, align 4
  br label %end
end:
  %j = phi i32 [ %tid, %entry ], [ %b, %then ]
  %q = getelementptr i32, ptr addrspace(1) %y, i32 %j
  %f = sitofp i32 %j to float
  store float %f, ptr addrspace(1) %q, align 4
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
]]

-- A's of one text, where the k of a name is left out: "3.1" -> <llvm:k.3.1>.
local function named(genes)
  return (genes:gsub("<([%d.]+)>", "<llvm:k.%1>"))
end

-- Instructions of a module with genes, one after the other, without what surrounds them.
local function edited(llvm, genes)
  local module, lost = llvm:apply(named(genes))
  if not module then return "refused: " .. lost end
  local list = {}
  for line in module:text():match "{(.-)\n}":gmatch "\n  ([^\n]*)" do list[#list + 1] = line end
  module:close()
  return table.concat(list, "\n")
end

-- What of the lines of `after` is not in `before`, and the other way round.
local function change(llvm, genes)
  local before, after, seen, list = edited(llvm, ""), edited(llvm, genes), {}, {}
  for line in before:gmatch "[^\n]+" do seen[line] = true end
  for line in after:gmatch "[^\n]+" do
    if not seen[line] then list[#list + 1] = line end
  end
  return table.concat(list, "\n")
end

tap.case("instructions have names and texts", function()
  local llvm = gi.llvm(IR)
  tap.is(tostring(llvm), "LLVM module of 13 instructions", "it says how many")
  local site = llvm:find "<llvm:k.2.2>"
  tap.is(site.text .. " " .. tostring(site.open), "%b = mul i32 %a, %n true", "one")
  tap.is(llvm:find "<llvm:k.3.1>".open, false, "a phi is not open")
  tap.is(llvm:find "<llvm:k.1.3>".open, false, "nor is a branch")
  local names = {}
  for i, instruction in ipairs(llvm:instructions()) do names[i] = instruction.name end
  tap.is(table.concat(names, " ", 11), "<llvm:k.3.3> <llvm:k.3.4> <llvm:k.3.5>", "in order")
  for name, why in pairs { ["<llvm:k.9.1>"] = "no block", ["<llvm:k.1.9>"] = "no instruction",
      ["<llvm:l.1.1>"] = "no function", ["<llvm:k.1>"] = "is a name" } do
    local found, said, code = llvm:find(name)
    tap.is(found, nil, name)
    tap.has(said, why, "is said")
    tap.is(code, "gene", "as of a gene")
  end
end)

tap.case("an operand that is not there becomes the last of its type, or 1", function()
  local llvm = gi.llvm(IR)
  tap.is(change(llvm, "<2.1>"), "%b = mul i32 %tid, %n", "what read what is gone")
  tap.is(change(llvm, "<1.1>"), "%less = icmp slt i32 %n, %n\n%a = add i32 %n, 5\n"
    .. "%p = getelementptr i32, ptr addrspace(1) %y, i32 %b\n"
    .. "%j = phi i32 [ %n, %entry ], [ %b, %then ]",
    "an argument, where nothing is above; else the last above")
  tap.is(change(llvm, "<1.1>-<2.2>"):match "^[^\n]*", "%0 = mul i32 %n, %n",
    "what is read above its place")
  tap.is(edited(llvm, "<2.1>-<3.3>"):match "%%%d = sitofp[^\n]*", "%0 = sitofp i32 %tid to float",
    "a value of a block that does not dominate")
  tap.is(change(llvm, "<1.2>"), "br i1 true, label %then, label %end",
    "no value of the type: 1")
  tap.is(change(llvm, "<3.1>"), "%q = getelementptr i32, ptr addrspace(1) %y, i32 %tid\n"
    .. "%f = sitofp i32 %tid to float", "a phi may go")
end)

tap.case("what each gene does", function()
  local llvm = gi.llvm(IR)
  tap.is(change(llvm, "<2.1>.2=7"), "%a = add i32 %tid, 7", "a number")
  tap.is(change(llvm, "<2.4>.1=<2.1>"), "store i32 %a, ptr addrspace(1) %p, align 4", "an operand")
  tap.is(change(llvm, "<2.2><2.1>"), "%0 = add i32 %tid, 5\n"
    .. "store i32 %0, ptr addrspace(1) %p, align 4\n"
    .. "%j = phi i32 [ %tid, %entry ], [ %0, %then ]", "a copy in another's place")
  tap.is(change(llvm, "<2.1>+<2.2>"), "%0 = mul i32 %tid, %n\n%a = add i32 %0, 5",
    "a copy is used by the next that can")
  tap.is(change(llvm, "<2.1>+<2.2>/<2.4>.1"), "%0 = mul i32 %tid, %n\n"
    .. "store i32 %0, ptr addrspace(1) %p, align 4", "or by who is named")
  tap.is(edited(llvm, "<2.1>~<2.3>"):match "label %%end\n(.-)\n%s*store",
    "%0 = getelementptr i32, ptr addrspace(1) %y, i32 %tid\n%b = mul i32 %tid, %n\n"
    .. "%1 = add i32 %tid, 5", "places change")
  tap.is(change(llvm, "<3.1>.2=<2.1>"), "%j = phi i32 [ %tid, %entry ], [ %a, %then ]",
    "a phi's operand, at the end of its block")
end)

tap.case("names stay with instructions, and copies are of what was", function()
  local llvm = gi.llvm(IR)
  tap.is(edited(llvm, "<2.1> <2.1>.2=7 <2.1>~<2.3> <1.1>-<2.1>"), edited(llvm, "<2.1>"),
    "what is gone is not changed")
  tap.is(change(llvm, "<1.1>-<2.2> <2.2>.2=9"):match "^[^\n]*", "%0 = mul i32 %n, 9",
    "where it went")
  tap.is(change(llvm, "<2.2>.2=9 <3.2>+<2.2>/<3.3>.1"):match "%%0[^\n]*", "%0 = mul i32 %j, %n",
    "as it was, its operands as they are")
  tap.is(change(llvm, "<2.1> <2.1>+<2.4>"), "store i32 %tid, ptr addrspace(1) %y, align 4\n"
    .. "%b = mul i32 %tid, %n", "before what is gone")
end)

tap.case("illegal genes are refused, each with its reason", function()
  local llvm = gi.llvm(IR)
  for gene, why in pairs {
    ["<3.5>"] = "is not open", ["<2.1>~<2.1>"] = "one instruction twice",
    ["<2.1><2.4>"] = "of other types", ["<2.1>.3=1"] = "no operand 3 that could change",
    ["<2.1>.1=0f3F800000"] = "a whole number", ["<1.1>.1=1"] = "no operand 1",
    ["<2.1>.1=<3.3>"] = "of other types", ["<2.1>.2=5"] = "changes nothing",
    ["<2.1>?"] = "is no gene", ["<2.1>.2=0f3F"] = "is no gene", ["<2.1>+"] = "is no gene",
    ["<2.1>+<2.2>/<2.4>.9"] = "no operand 9", ["<2.1>x"] = "is no gene",
  } do
    local list, said, code = llvm:genes(named(gene))
    tap.is(list, nil, gene)
    tap.has(said, why, "and why")
    tap.is(code, "gene", "of a gene")
  end
  tap.is(select(3, gi.llvm "no module"), "format", "text that is none")
  tap.raises(function() llvm:random_gene(gi.rng(1), { coppy = 1 }) end, "weights are those of", "")
end)

local KINDS = { "copy", "delete", "move", "replace", "swap", "operand", "constant" }

local function bitcode_of(name)
  local source = gi.textfile.read(("kernels/%s/kernel.cu"):format(name))
  local module = core.llvm.open(assert(core.llvm.front(source,
    { header = gi.compilers.HEADER, target = "compute_90" })))
  assert(module:run("O3", "compute_90"))
  return module:bitcode()
end

tap.case("whatever is drawn is legal, printed as it is read, and well formed", function()
  local llvm, rng = gi.llvm(bitcode_of "bfs"), gi.rng(7)
  for _, kind in ipairs(KINDS) do
    local weights, fine = {}, 0
    for _, other in ipairs(KINDS) do weights[other] = other == kind and 1 or 0 end
    for _ = 1, 40 do
      local gene = llvm:random_gene(rng, weights)
      local read = assert(llvm:genes(gene))[1]
      local module <close> = llvm:apply(gene)
      if module and read.text == gene and read.kind == kind then fine = fine + 1 end
    end
    tap.is(fine, 40, kind)
  end
  local whole = 0
  for _ = 1, 25 do
    local genes = {}
    for i = 1, 20 do genes[i] = llvm:random_gene(rng) end
    local module <close> = assert(llvm:apply(table.concat(genes, " ")))
    if gi.ptx(module:ptx "compute_90") then whole = whole + 1 end
  end
  tap.is(whole, 25, "twenty together give PTX")
end)

tap.case("changed copies of genes are read or refused", function()
  local llvm, rng = gi.llvm(IR), gi.rng(3)
  for _ = 1, 2000 do
    local gene = llvm:random_gene(rng)
    local at = rng:int(1, #gene)
    local text = gene:sub(1, at - 1) .. string.char(rng:int(1, 126)) .. gene:sub(at + 1)
    local list, _, code = llvm:genes(text)
    if not list and code ~= "gene" then tap.ok(false, text) end
    local module = list and llvm:apply(text)
    if module then module:close() end
  end
  tap.ok(true, "2000 of them")
end)

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
  tune_params = { compiler = { "nvrtc", "llvm" } },
}]]

-- The name of the first instruction whose text matches.
local function first(code, pattern)
  for _, instruction in ipairs(code:instructions()) do
    if instruction.text:find(pattern) then return instruction.name, instruction.line end
  end
  error("no instruction is like " .. pattern)
end

tap.case("source, LLVM and PTX in one genome", function()
  local problem = gi.problem(scratch.problem(SOURCE, PROBLEM))
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local llvm = gi.below.open_llvm(problem, farm)
  local barrier, line = first(llvm, "barrier")
  local minimum = first(llvm, "minnum")
  tap.is(line, 6, "instructions have lines")
  local ptx = gi.ptx(farm:ptx "compiler=llvm")
  tap.has(farm:ptx("compiler=llvm " .. minimum), "mul", "the rest is there")
  tap.ok(not farm:ptx("compiler=llvm " .. minimum):find("min.f32", 1, true), "what is deleted not")
  local other
  for _, rule in ipairs(problem.grammar:rules()) do
    if rule.text:find("fminf", 1, true) then other = rule.name end
  end
  local list = farm:evaluate({ "", barrier, "compiler=llvm", "compiler=llvm " .. barrier,
    ("compiler=llvm %s %s"):format(other, minimum), "compiler=llvm " .. minimum .. " " .. other,
    "compiler=llvm <llvm:k.77.1>" }, { seed = 1 })
  tap.is(list[1].status, "ok", "as it is")
  tap.has(list[2].message, "and NVRTC compiles it", "no gene of LLVM's where NVRTC compiles")
  tap.is(list[3].status, "ok", "by LLVM")
  tap.ok(list[4].ticks < list[3].ticks, "without its barrier it is faster")
  tap.is(list[5].lost, minimum, "what the source lost is said")
  tap.is(list[6].ticks, list[5].ticks, "wherever it stands, the source is first")
  tap.is(list[7].status, "compile_error", "a name that is none")
  tap.is(ptx and #gi.below.explain(problem, "compiler=llvm " .. barrier), 1, "in words")
  tap.has(gi.below.explain(problem, barrier)[1].text, "of line 6 is deleted", "with its line")
end)

tap.case("gilua evolve --genome llvm, and verify of its run", function()
  local folder = scratch.problem(SOURCE, PROBLEM)
  local function run(words)
    local pipe <close> = assert(io.popen(("cd %s && %s %s 2>&1"):format(folder,
      core.system.program(), words)))
    return pipe:read "a"
  end
  local said = run("evolve . --genome llvm --weak-data --population 8 --generations 2 "
    .. "--jobs 1 --out o")
  tap.has(said, "generation 2", "it evolves")
  local result = gi.json.decode(gi.textfile.read(folder .. "/o/result.json"))
  tap.is(result.compiler, "llvm", "the run knows who compiled")
  for gene in result.best.genome:gmatch "%S+" do tap.has(gene, "<llvm:k.", "genes are LLVM's") end
  tap.has(run "verify o --jobs 1 --cases 1", "answers on 1 case", "and is verified so")
  tap.has(run "evolve . --genome llvm --compiler nvrtc", "leave out --compiler nvrtc",
    "a contradiction")
end)

tap.done()
