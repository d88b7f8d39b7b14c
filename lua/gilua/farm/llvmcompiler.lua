--- llvmcompiler: CUDA source to PTX by clang and LLVM, in a worker: clang is a process of its own,
-- and LLVM may end the process in which it runs.

local assembler = require "gilua.farm.assembler"
local compilers = require "gilua.problem.compilers"
local core = require "gilua.core"

local M = {}

-- Parts of the header, and what a source names that wants one.
local PARTS = {
  { "ATOMICS", "atomic" }, { "HINTS", "__ld", "__st" }, { "TEXTURES", "tex%dD" },
  { "VECTORS", "char[1-4]", "short[1-4]", "long[1-4]", "double[1-4]" },
  { "WARPS", "_sync%f[%W]", "__activemask" },
}

-- Functions of the mathematical library that are no single instruction, or parts of their names:
-- those that end with a bracket are of the header itself where an f stands before it.
local MATHS = { "acos", "asin", "atan", "bessel", "cbrt", "cos", "erf", "exp", "fdim", "finite",
  "fmod", "frexp", "gamma", "hypot", "isnormal", "j[01n]", "ldexp", "log", "modf", "nan%f[%W]",
  "nanf", "nearbyint", "nextafter", "norm", "pow", "remainder", "remquo", "lrint", "round", "scalb",
  "signbit", "sin", "tan", "y[01n]f?%s*%(", "_r[nzud]%f[%W]", "__double2", "__hiloint", "hadd",
  "mul64hi", "ceil%s*%(", "copysign%s*%(", "fabs%s*%(", "floor%s*%(", "fma%s*%(", "fmax%s*%(",
  "fmin%s*%(", "rint%s*%(", "rsqrt%s*%(", "sqrt%s*%(", "trunc%s*%(" }

local function names_one(source, patterns, from)
  for i = from, #patterns do
    if source:find(patterns[i]) then return true end
  end
  return false
end

-- The options, without the parts of the header that nothing in the source can want, and the file
-- that what it wants of mathematics is linked from.
local function fitted(source, options)
  local list = table.move(options or {}, 1, #(options or {}), 1, {})
  local includes = source:find "#%s*include" ~= nil
  for _, part in ipairs(includes and {} or PARTS) do
    if not names_one(source, part, 2) then list[#list + 1] = "-DGILUA_NO_" .. part[1] end
  end
  local maths = (includes or names_one(source, MATHS, 1)) and core.compile.libdevice() or nil
  if not maths then list[#list + 1] = "-DGILUA_NO_MATHS" end
  if includes then
    local headers = compilers.cuda_headers()
    table.move(headers, 1, #headers, #list + 1, list)
  end
  return list, maths
end

-- What the header of gilua's has not is most likely a function of CUDA's library.
local function explained(message)
  local name = message:match "use of undeclared identifier '([%w_]+)'"
    or message:match "unknown type name '([%w_]+)'"
    or message:match "no matching function for call to '([%w_]+)'"
  local file = message:match "'([^']+)' file not found"
  if file then
    return ("%s (compiler=llvm reads CUDA's headers of halves and cooperative groups where they "
      .. "lie beside NVRTC: docs/llvm.md)"):format(message)
  end
  if not name then return message end
  local libdevice, why = core.compile.libdevice()
  if not libdevice and names_one(name, MATHS, 1) then return ("%s (%s)"):format(message, why) end
  return ("%s (gilua's header for LLVM has what docs/llvm.md lists)"):format(message)
end

local FATES = { timeout = true, crash = true }

-- The fate of a source that clang did not take.
local function refused(message, code, log)
  return { message = code == "compile" and explained(message) or message, log = log or message,
    status = FATES[code] and code, kind = code }
end

--- One source.
---@param source string
---@param o { target: string, options?: string[], name?: string, passes: string, limit_s?: number }
---@return table { code?, ir?, message?, log?, status?, kind? } code: PTX; ir: LLVM's bitcode that
---  it was made from; status: of what did not end, or crashed; kind: of failure, "nolib" and "io"
---  are none of the source's
function M.compile(source, o)
  local options, library = fitted(source, o.options)
  local bitcode, message, code, log = core.llvm.front(source, { target = o.target,
    header = compilers.HEADER, library = library, options = options, name = o.name,
    limit_s = o.limit_s })
  if not bitcode then return refused(message, code, log) end
  local module <close> = assert(core.llvm.open(bitcode))
  local run, why = module:run(o.passes, o.target)
  if not run then return refused(why, "usage") end
  local ir = module:bitcode()
  local ptx, failed = module:ptx(o.target)
  if not ptx then return refused(failed, "usage") end
  return { code = ptx, ir = ir, log = message }
end

--- The same as gi.compile gives it: code, log or nil, message, code, log.
---@param source string
---@param o table options of gi.compile; passes
function M.one(source, o)
  local options = table.move(o.options or {}, 1, #(o.options or {}), 1, {})
  for _, define in ipairs(o.defines or {}) do options[#options + 1] = "-D" .. define end
  for _, folder in ipairs(o.include or {}) do options[#options + 1] = "-I" .. folder end
  local target = o.target or "ptx"
  local r = M.compile(source, { target = target, options = options, name = o.name,
    passes = o.passes or compilers.PASSES })
  if not r.code then return nil, r.message, r.kind or "compile", r.log or "" end
  if not target:find "^sm_" then return r.code, r.log end
  return core.compile.link({ r.code }, { target = target, options = assembler.options(options) })
end

return M
