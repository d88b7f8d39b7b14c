-- edits: random genes over PTX, or LLVM's code, on a GPU and on the virtual one. For each kind: how
-- many assemble (nvJitLink must take all), run to their end and are right on each, on how many both
-- agree, and how many are right and other code; then mutants a second. Where the two disagree the
-- genes are shown.

local gi = require "gilua"

local options = gi.cli {
  doc = "Random genes over PTX: a GPU's verdicts beside those of the virtual one.",
  { name = "problem", default = "niftyreg", doc = "of kernels/" },
  { name = "genes", default = 100, min = 1, doc = "of each kind" },
  { name = "level", default = "ptx", check = function(text)
    return text == "ptx" or text == "llvm", "must be ptx or llvm"
  end, doc = "what they change: ptx, or llvm (the code that LLVM makes)" },
  { name = "side", default = 60, min = 1, doc = "of NiftyReg's case" },
}

local problem = gi.problem("kernels/" .. options.problem)
local case = options.problem == "niftyreg" and { side = options.side, seed = options.seed }
  or { seed = options.seed }
local KINDS = { "copy", "delete", "move", "replace", "swap", "operand", "constant" }

if options.level == "llvm" then gi.options.compiler = "llvm" end
local draws = { ptx = gi.genome.ptx_source, llvm = gi.genome.llvm_source }

local function drawn(code, kind, rng)
  local weights = {}
  for _, name in ipairs(KINDS) do weights[name] = name == kind and 1 or 0 end
  local draw, list, seen = draws[options.level](code, { weights = weights }), {}, {}
  for _ = 1, 20 * options.genes do
    local gene = draw(rng)
    if not seen[gene] and #list < options.genes then list[#list + 1] = gene end
    seen[gene] = true
  end
  return list
end

local function is_other(m, base)
  return (m.code_hash or m.ptx_hash) ~= (base.code_hash or base.ptx_hash)
end

local function row(kind, real, virtual, base)
  local n = { assembled = 0, ran = 0, right = 0, right_virtual = 0, agree = 0, other = 0 }
  for i, m in ipairs(real) do
    local right, right_virtual = gi.fitness.right(m), gi.fitness.right(virtual[i])
    if m.status ~= "compile_error" then n.assembled = n.assembled + 1
    else print("refused", m.genome, m.message) end
    if m.status == "ok" then n.ran = n.ran + 1 end
    if right then n.right = n.right + 1 end
    if right_virtual then n.right_virtual = n.right_virtual + 1 end
    if right and is_other(m, base) then n.other = n.other + 1 end
    if right == right_virtual then n.agree = n.agree + 1
    else
      print("differ", m.genome, m.status, m.max_error, virtual[i].status, virtual[i].max_error)
    end
  end
  print(("%-9s %5d  assembled %5d  ran %5d  right %5d (virtual %5d)  agree %5d  right and other "
    .. "code %5d"):format(kind, #real, n.assembled, n.ran, n.right, n.right_virtual, n.agree,
    n.other))
  return n.assembled == #real
end

local core = require "gilua.core"
local gpu <close> = gi.farm(problem, { device = options.device, jobs = options.jobs,
  check = "winners" })
local virtual <close> = gi.farm(problem, { jobs = options.jobs, check = "winners" })
-- names are of the PTX that a GPU's compiler gives: the virtual one is asked with the same
local code = options.level == "llvm" and gi.llvm(gpu:bitcode()) or gi.ptx(gpu:ptx())
local base = gpu:evaluate({ "" }, case)[1]
virtual:evaluate({ "" }, case)
print(("%s on %s, unmodified %.1f us"):format(problem.name, gpu:description(), base.ns / 1e3))
local rng, all, seconds, count = gi.rng(options.seed), true, 0, 0
for _, kind in ipairs(KINDS) do
  local genes = drawn(code, kind, rng)
  local began = core.system.seconds()
  local real = gpu:evaluate(genes, case)
  seconds, count = seconds + core.system.seconds() - began, count + #genes
  all = row(kind, real, virtual:evaluate(genes, case), base) and all
end
print(("%d mutants in %.2f s: %.1f a second"):format(count, seconds, count / seconds))
print(all and "every one assembles" or "NOT every one assembles")
os.exit(all, true)
