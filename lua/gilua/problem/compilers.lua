--- compilers: who compiles a mutant's source. NVRTC is the one; LLVM the other (clang and its NVPTX
-- back end), asked for by --compiler llvm for all mutants and the kernel as it is, or by a gene
-- compiler=llvm where the problem has a parameter of that name which is not in the source.

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
  if not info or not info.include then return {} end
  return { "-DGILUA_CUDA_HEADERS", "-I" .. core.home .. "/lua/gilua/include",
    "-I" .. info.include, "-I" .. info.include .. "/cccl" }
end

--- What NVRTC is told for each value of a parameter `math`: how exact floats have to be. They are
--- nvcc's options, too: ftz flushes subnormals to zero, `division` makes quotients and roots of
--- floats good to 2 units in the last place, `fast` is both and __expf, __sinf and their like.
M.MATH = {
  precise = {},
  ftz = { "-ftz=true" },
  division = { "-prec-div=false", "-prec-sqrt=false" },
  fast = { "-use_fast_math" },
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

-- Is a parameter what says how exact floats have to be, and no macro of the source's?
local function is_math(p)
  return p.name == "math" and p.in_source == false and not p.macro
end

--- What a mutant's parameter `math` adds to the options of its compiler.
---@param problem gilua.problem
---@param values? table of its parameters
---@return string[] options
function M.math(problem, values)
  for _, p in ipairs(problem.parameters) do
    if is_math(p) then
      local value = tostring(values and values.math or p.default)
      return M.MATH[value] or fail("%s: math is one of %s, not '%s'", problem.dir,
        table.concat(settings.keys(M.MATH), ", "), value)
    end
  end
  return {}
end

--- Do values of a parameter `math` all mean how exact floats have to be? A source may have a macro
--- of that name, with others.
---@param values any[]
---@return boolean
function M.are_of_math(values)
  for _, value in ipairs(values) do
    if not M.MATH[value] then return false end
  end
  return true
end

--- Fails where a problem's parameter `math` has values that mean nothing.
---@param problem gilua.problem
function M.check_math(problem)
  for _, p in ipairs(problem.parameters) do
    for _, value in ipairs(is_math(p) and p.values or {}) do
      M.math(problem, { math = value })
    end
  end
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
