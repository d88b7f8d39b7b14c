--- llvmcompiler: CUDA source to PTX by clang and LLVM, in a worker: clang is a process, and what
-- LLVM does to its own is not to be known beforehand.

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

-- The options, without those parts of the header that nothing in the source can want.
local function lighter(source, options)
  local list = table.move(options or {}, 1, #(options or {}), 1, {})
  local function wants(part)
    for i = 2, #part do
      if source:find(part[i]) then return true end
    end
    return false
  end
  for _, part in ipairs(source:find "#%s*include" and {} or PARTS) do
    if not wants(part) then list[#list + 1] = "-DGILUA_NO_" .. part[1] end
  end
  return list
end

-- What the header of gilua's has not is most likely a function of CUDA's library.
local function explained(message)
  local name = message:match "use of undeclared identifier '([%w_]+)'"
    or message:match "unknown type name '([%w_]+)'"
    or message:match "no matching function for call to '([%w_]+)'"
  local file = message:match "'([^']+)' file not found"
  if file then
    return ("%s (with compiler=llvm there are no headers of CUDA's: docs/llvm.md)"):format(message)
  end
  if not name then return message end
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
  local bitcode, message, code, log = core.llvm.front(source, { target = o.target,
    header = compilers.HEADER, options = lighter(source, o.options), name = o.name,
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
