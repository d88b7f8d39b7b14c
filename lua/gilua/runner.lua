--- Runs compiled mutants of one problem on one device and checks every answer. Used inside workers,
-- and by scripts that want no worker.
--
-- A mutant is never believed: the output holds sentinels before the run, inputs are read-only, and
-- device variables live only as long as the mutant's module.

local core = require "gilua.core"

local M = {}
M.__index = M

---@param problem gilua.problem
---@param device userdata
function M.new(problem, device)
  return setmetatable({ problem = problem, device = device, buffers = {}, textures = {} }, M)
end

--- Makes `case` the one to run; the buffers and textures of the last one are released.
function M:use(case)
  for _, child in pairs(self.buffers) do child:close() end
  for _, child in pairs(self.textures) do child:close() end
  self.buffers, self.textures = {}, {}
  self.case = case
end

local function must(value, message)
  if value == nil then error(message, 0) end
  return value
end

function M:buffer(array)
  local b = self.buffers[array]
  if not b then
    b = must(self.device:buffer(array, { read_only = array ~= self.case.output }))
    self.buffers[array] = b
  end
  return b
end

--- Textures are made once a case: a launch describes them anew each time.
function M:texture(name, description)
  local key = name .. (description.kind or "") .. (description.channels or "")
  local t = self.textures[key]
  if not t then
    local options = {}
    for k, v in pairs(description) do
      if k ~= "array" then options[k] = v end
    end
    t = must(self.device:texture(description.array, options))
    self.textures[key] = t
  end
  return t
end

--- A launch argument or constant: arrays become buffers, { texture = name } its handle.
function M:value(v, launch)
  if type(v) == "table" and v.texture then
    local description = launch.textures and launch.textures[v.texture]
    if not description then error(("launch: no texture is called '%s'"):format(v.texture), 0) end
    return self:texture(v.texture, description)
  end
  return v
end

function M:prepare(module, launch)
  for name, v in pairs(launch.constants or {}) do
    local ok, message, code = module:write(name, self:value(v, launch))
    -- a variable that the mutant does not use is not in its module
    if not ok and not (code == "usage" and message:find("has no __device__", 1, true)) then
      error(message, 0)
    end
  end
  local args = {}
  for i, v in ipairs(launch.args) do
    args[i] = type(v) == "userdata" and self:buffer(v) or self:value(v, launch)
  end
  return args
end

local function failed(status, message)
  return { status = status, message = message, ticks = math.huge, ns = math.huge, n = 0,
           max_error = math.huge, mean_error = math.huge, wrong = 1, unset = 1, registers = 0,
           shared_bytes = 0, seconds = { run = 0, check = 0 } }
end
M.failed = failed

--- Runs PTX on the current case.
---@param code string what the device loads
---@param values table parameter values
---@param budget number warp instructions allowed, 0 for no limit but the device's own
---@param checked? boolean with the race detector and the count of uninitialised reads (slower)
---@return table measurement
function M:measure(code, values, budget, checked)
  local start = core.system.seconds()
  local module, message = self.device:load(code)
  if not module then return failed("compile_error", message) end
  local case = self.case
  local launch = self.problem:launch(case, values)
  local args = self:prepare(module, launch)
  case.output:sentinel()
  local m = module:launch {
    kernel = self.problem.kernel, grid = launch.grid, block = launch.block, shared = launch.shared,
    args = args, budget = budget, print = false,
    check_races = checked, count_uninitialised = checked,
  }
  module:close()
  local ran = core.system.seconds()
  if m.status == "ok" then
    local c = core.array.compare(self:buffer(case.output):read(), case.expected, case.compare)
    for k, v in pairs(c) do m[k] = v end
  else
    m = failed(m.status, m.message)
  end
  m.seconds = { run = ran - start, check = core.system.seconds() - ran }
  return m
end

return M
