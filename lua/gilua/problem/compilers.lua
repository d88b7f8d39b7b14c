--- compilers: selects the compiler of a mutant's source: NVRTC, or LLVM (clang and its NVPTX back
-- end). --compiler llvm selects LLVM for all mutants and the unmodified kernel; a gene
-- compiler=llvm selects it for one mutant, if the problem has a parameter of that name outside the
-- source.

local core = require "gilua.core"
local fail = require "gilua.base.fail"
local settings = require "gilua.base.settings"

local M = {
  HEADER = core.home .. "/lua/gilua/include/gilua_llvm.h", -- in the place of CUDA's own
  PASSES = "O3", -- of LLVM, where nothing else is said
}

--- How clang is to see CUDA's own headers of halves and cooperative groups: those beside NVRTC.
---@return string[] options none where there are no headers
function M.cuda_headers()
  local info = core.compile.info()
  if not info or not info.includes[1] then return {} end
  local options = { "-DGILUA_CUDA_HEADERS", "-I" .. core.home .. "/lua/gilua/include" }
  for _, folder in ipairs(info.includes) do options[#options + 1] = "-I" .. folder end
  return options
end

--- The compilers' options for each value of the parameters that choose them; nvcc gets the same.
--- `math`: how exact floats have to be: `ftz` makes subnormals zero, `division` makes quotients and
--- roots good to 2 units in the last place, `fast` is both and __expf, __sinf and their like.
--- `ptxas`: what the assembler does with PTX, on a GPU alone.
M.TOLD = {
  math = {
    precise = {}, ftz = { "-ftz=true" }, fast = { "-use_fast_math" },
    division = { "-prec-div=false", "-prec-sqrt=false" },
  },
  ptxas = {
    default = {}, O1 = { "-Xptxas=-O1" }, O2 = { "-Xptxas=-O2" },
    dlcm_ca = { "-Xptxas=-dlcm=ca" }, dlcm_cg = { "-Xptxas=-dlcm=cg" },
    registers_32 = { "-Xptxas=-maxrregcount=32" }, registers_48 = { "-Xptxas=-maxrregcount=48" },
    registers_64 = { "-Xptxas=-maxrregcount=64" }, registers_96 = { "-Xptxas=-maxrregcount=96" },
  },
}

local NAMES = { nvrtc = true, llvm = true }

---@class gilua.llvm_use
---@field version string of LLVM
---@field passes string in their order, with commas between

-- What a parameter of the problem's says, or else the command line.
local function said(problem, name, values)
  for _, p in ipairs(problem.parameters) do
    if p.name == name and p.in_source == false and values[name] ~= p.default then
      return tostring(values[name])
    end
  end
  return require("gilua").options[name]
end

-- A parameter's default, which the command line may have overruled.
local function usual(problem, name)
  for _, p in ipairs(problem.parameters) do
    if p.name == name and p.in_source == false then return tostring(p.default) end
  end
  return nil
end

--- Might a mutant of the problem be compiled by LLVM?
---@param problem gilua.problem
---@return boolean
function M.may_be_llvm(problem)
  return require("gilua").options.compiler == "llvm" or usual(problem, "compiler") ~= nil
end

--- What LLVM is to do with a mutant; nil where NVRTC compiles it.
---@param problem gilua.problem
---@param values table of its parameters
---@return gilua.llvm_use?
function M.llvm(problem, values)
  local name = said(problem, "compiler", values) or usual(problem, "compiler") or "nvrtc"
  if not NAMES[name] then
    fail("%s: the compiler is nvrtc or llvm, not '%s'", problem.dir, name)
  end
  if name == "nvrtc" then return nil end
  local info, why = core.llvm.info()
  if not info then fail("compiler=llvm: %s", why) end
  return { version = info.version,
    passes = said(problem, "passes", values) or usual(problem, "passes") or M.PASSES }
end

local function refuse(name, value, where)
  fail("%s is one of %s, not '%s'", where or name,
    table.concat(settings.keys(M.TOLD[name]), ", "), tostring(value))
end

--- Is a parameter one of M.TOLD? Where it is of such a name with values of another kind, it is the
--- user's own; where some of the values are known and some are not, that fails.
---@param name string
---@param values any[]
---@param where? string that says so, where a name of M.TOLD can be nothing else: all are known then
---@return boolean
function M.is_told(name, values, where)
  local known, other, n = M.TOLD[name], nil, 0
  for _, value in ipairs(known and values or {}) do
    if known[value] then n = n + 1 else other = other or value end
  end
  if other and (n > 0 or where) then refuse(name, other, where) end
  return n > 0
end

--- Appends what a mutant's values of such parameters tell the compiler.
---@param parameters table[] of the problem; those with `told` are meant
---@param values? table
---@param options string[]
---@return string[] options the same ones
function M.tell(parameters, values, options)
  for _, p in ipairs(parameters) do
    if p.told then
      local value = tostring(values and values[p.name] or p.default)
      local list = M.TOLD[p.name][value] or refuse(p.name, value)
      table.move(list, 1, #list, #options + 1, options)
    end
  end
  return options
end

--- Which LLVM may compile a mutant, and the kernel as it is; nil where none may.
---@param problem gilua.problem
---@return string?
function M.description(problem)
  if not M.may_be_llvm(problem) then return nil end
  local info, o = core.llvm.info(), require("gilua").options
  return info and ("%s %s %s"):format(info.version, o.compiler or "-", o.passes or "-") or "none"
end

--- How gi.compile compiles one as a farm would: its options, with who compiles it.
---@param problem gilua.problem
---@param values table of its parameters
---@param options table of gi.compile
---@return table options the same one
function M.options(problem, values, options)
  local llvm = M.llvm(problem, values)
  options.options = problem:compile_options(values)
  options.compiler, options.passes = llvm and "llvm", llvm and llvm.passes
  return options
end

--- Fails where the command line asks for what cannot be.
---@param problem gilua.problem
function M.check(problem)
  local o = require("gilua").options
  if o.passes and not M.may_be_llvm(problem) then
    fail("--passes are LLVM's: add --compiler llvm, or leave it out")
  elseif o.compiler == "llvm" and problem.is_ptx then
    fail("%s has no source, so that nothing is compiled: leave out --compiler llvm", problem.dir)
  elseif o.compiler == "llvm" then
    local info, why = core.llvm.info()
    if not info then fail("--compiler llvm: %s", why) end
  end
end

return M
