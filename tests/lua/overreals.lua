-- overreals: two kernels of a source text each, run over the reals on the virtual GPU, for tests of
-- certificates: k(float *y, const float *x, const float *z, double *d, int *n, int count, float s).

local core = require "gilua.core"
local gi = require "gilua"

local M = { N = 64, FAST = { "-lineinfo", "--use_fast_math" } }

local HEAD = "#define LARGEST __int_as_float(0x7f800000)\n"
  .. 'extern "C" __global__ void k(float *y, const float *x, const float *z, double *d, '
  .. "int *n, int count, float s) {\nint i = threadIdx.x + blockIdx.x * blockDim.x;\n"

local device = assert(gi.device "emu")
local made = {} -- code by body

-- What stands before a line "//" is outside of the kernel.
local function code_of(body, o)
  local options, target = o.options or M.FAST, o.target or device:target()
  local key = target .. table.concat(options, " ") .. body
  local before, inside = body:match "^(.-\n) *//\n(.*)$"
  local source = (before or "") .. HEAD .. (inside or body) .. "\n}\n"
  made[key] = made[key]
    or assert(gi.compile(source, { options = options, target = target }))
  return made[key]
end

-- Arrays of one seed: y and n are written, x, z and d are inputs.
local function arrays_of(seed)
  local rng, list = core.rng.new(seed), {}
  for i, type in ipairs { "f32", "f32", "f32", "f64", "i32" } do
    list[i] = gi.array(type, M.N)
    rng:fill(list[i], type == "i32" and 0 or -1, type == "i32" and 9 or 1)
  end
  return list
end

local WRITTEN = { true, false, false, true, true }

-- A kernel's code runs: what it is over the reals; or why not.
local function run(code, o, buffers)
  local module <close> = assert(device:load(code))
  local exact, args = gi.exact.new(o.seed or 1), {}
  for i, array in ipairs(arrays_of(o.data or 1)) do
    args[i] = buffers[i]:write(array)
    exact:memory(buffers[i], i > 1)
  end
  args[6], args[7] = { "i32", o.count or M.N }, { "f32", o.s or 0.75 }
  local m, no = module:launch { kernel = "k", grid = o.grid or 2, block = o.block or 32,
    args = args, exact = exact, check_races = o.races ~= false and "global",
    backwards = o.backwards, budget = 100000 }
  if not m or m.status ~= "ok" then return nil, m and m.message or no end
  local answers = {}
  for i, buffer in ipairs(buffers) do
    if WRITTEN[i] then exact:take(buffer) end
    if WRITTEN[i] then answers[#answers + 1] = buffer:read():copy() end
  end
  return exact, nil, answers
end

--- Are two kernels equal over the reals? backwards: the second runs so.
---@param first string PTX
---@param second string
---@param o? { data?, seed?, grid?, block?, count?, s?, backwards?, races? = false: unchecked }
---@return table? certificate of exact:compare; answers: lists of both kernels' arrays
---@return string? why a kernel did not run
function M.compared_code(first, second, o)
  local buffers, again, c = {}, {}, nil
  for i, array in ipairs(arrays_of(1)) do
    buffers[i] = device:buffer(array, { read_only = not WRITTEN[i] })
  end
  for key, value in pairs(o or {}) do again[key] = value end
  again.backwards = nil
  local a, no, old = run(first, again, buffers)
  again.backwards = o and o.backwards
  local b, why, new
  if a then b, why, new = run(second, again, buffers) end
  if a and b then
    c = a:compare(b)
    c.answers = { old, new }
  end
  for _, one in pairs { a, b, table.unpack(buffers) } do one:close() end
  return c, no or why
end

--- The same of two bodies.
---@param first string
---@param second string
---@param o? { options?: string[], target?: string, data?, seed?, … }
function M.compared(first, second, o)
  return M.compared_code(code_of(first, o or {}), code_of(second, o or {}), o)
end

--- A body as a whole source.
---@param body string
---@return string
function M.source(body)
  return HEAD .. body .. "\n}\n"
end

M.target = device:target()

return M
