-- fakegpu: a GPU that is none, for what only a GPU does: kernels run on the virtual one, and what
-- they take, how a timing ends and what it touches is what a test says. And a crew without
-- processes, whose workers answer as a test says.

local gi = require "gilua"

local M = {}

--------------------------------------------------------------------------------------------------
-- The device, for gi.runner

local Module = {}
Module.__index = Module
Module.__close = function(self) self:close() end

local function delegated(method)
  return function(self, ...) return self.emu[method](self.emu, ...) end
end

for _, method in ipairs { "write", "read", "kernels", "info", "reset" } do
  Module[method] = delegated(method)
end

function Module:close()
  self.gpu.loaded = self.gpu.loaded - 1
  self.emu:close()
end

local function without(launch, ...)
  local copy = {}
  for name, value in pairs(launch) do copy[name] = value end
  for _, name in ipairs { ... } do copy[name] = nil end
  return copy
end

local TIMING = { "rel_error", "min_samples", "max_samples", "stop_above_ns", "flush_l2" }

--- One launch, untimed. `gpu.launches` has what each was.
function Module:launch(launch)
  self.gpu.launches[#self.gpu.launches + 1] = launch
  local m = self.emu:launch(launch)
  if m.status == "ok" then m.ns = self.gpu.takes(self.code) end
  return m
end

--- Timing: `gpu.timings` has what was asked; `gpu.after`, where there is one, is called when the
--- launches are through, and what it returns is the result instead.
function Module:time(launch)
  local gpu = self.gpu
  gpu.timings[#gpu.timings + 1] = { code = self.code, how = launch }
  local m = self.emu:launch(without(launch, table.unpack(TIMING)))
  if m.status ~= "ok" then return m end
  m.median_ns, m.samples, m.rel_error = gpu.takes(self.code), {}, 0.001
  m.dropped, m.slow, m.capped = 0, false, false
  for i = 1, launch.min_samples do m.samples[i] = m.median_ns end
  return gpu.after and gpu.after(m) or m
end

--- Interleaved pairs; `gpu.pair_ends`, where there is one, is what comes of it.
function Module:pair(o)
  local gpu, m = self.gpu, { a = {}, b = {} }
  gpu.rounds[#gpu.rounds + 1] = { pairs = o.pairs, loaded = gpu.loaded }
  for i = 1, o.pairs do
    m.a[i], m.b[i] = gpu.takes(self.code), gpu.takes(o.other.code)
  end
  return gpu.pair_ends or m
end

local Gpu = {}
Gpu.__index = Gpu
Gpu.buffer, Gpu.texture = delegated "buffer", delegated "texture"

function Gpu.name() return "cuda" end

function Gpu:load(code)
  local emu, why = self.emu:load(code)
  if not emu then return nil, why end
  self.loaded = self.loaded + 1
  return setmetatable({ gpu = self, emu = emu, code = code }, Module)
end

--- `gpu.damage`: what was touched since somebody asked last.
function Gpu:intact()
  local damage = self.damage
  self.damage = nil
  if damage then return nil, damage, "touched" end
  return true
end

---@param takes fun(code: string): number nanoseconds of a kernel
function M.device(takes)
  return setmetatable({ emu = gi.device "emu", takes = takes, loaded = 0, launches = {},
                        timings = {}, rounds = {} }, Gpu)
end

--------------------------------------------------------------------------------------------------
-- The crew, for gi.farm: what gilua.farm.crew's open is to return

local Crew = {}
Crew.__index = Crew

---@param answers table<string, fun(message: table): table> by `op`: the reply of a worker
function M.crew(answers)
  return setmetatable({ answers = answers, queue = {}, asked = {}, restarts = 0, losses = {} },
    Crew)
end

function Crew:post(job) self.queue[#self.queue + 1] = job end
function Crew:clear() self.queue = {} end
function Crew.close() end

function Crew:drain(after)
  local worker = { device = "cuda:0", index = 1 }
  while #self.queue > 0 do
    local job = table.remove(self.queue, 1)
    local message = job.message(worker)
    self.asked[#self.asked + 1] = message
    local reply = assert(self.answers[message.op], message.op)(message)
    reply.seconds, reply.cpu_s = reply.seconds or 0, reply.cpu_s or 0
    if reply.blame then job.blame(reply.blame, "as the test says")
    else job.done(reply, worker) end
    if after then after() end
  end
end

return M
