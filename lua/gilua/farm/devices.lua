--- devices: the devices on which a farm's workers run, and the number of workers for each.

local attempt = require "gilua.base.attempt"
local core = require "gilua.core"
local crew = require "gilua.farm.crew"
local fail = require "gilua.base.fail"
local printable = require "gilua.base.printable"
local undo = require "gilua.base.undo"

local M = {}

--- How many workers there are where nothing else says it: one a core, or as $GILUA_JOBS says.
---@return integer
function M.usual_jobs()
  local said = os.getenv "GILUA_JOBS"
  if not said then return core.system.cores() end
  local n = math.tointeger(tonumber(said))
  if not n or n < 1 then
    fail("GILUA_JOBS is '%s': it says how many workers there are, a whole number from 1; "
      .. "`unset GILUA_JOBS` makes it one a core", said)
  end
  return n
end

-- Which driver: the version of its interface, and where the system tells it its own.
local function driver_words(version)
  local file <close> = io.open "/proc/driver/nvidia/version"
  local build = file and (file:read "l" or ""):match "%d+%.%d[%d.]*"
  return build and ("%d, %s"):format(version, build) or tostring(version)
end

--- What GPUs a worker in such a box sees.
local function gpus(device, memory_bytes, box)
  local asked = crew.open({ { roles = { "host" }, depth = 1 } }, memory_bytes, box)
  local found
  asked:post {
    kind = "probe", role = "host", limit_s = 60,
    message = function() return { op = "probe", device = device } end,
    done = function(reply) found = reply.devices end,
    blame = function(_, why)
      fail("device '%s' cannot be opened: %s", device, why)
    end,
  }
  undo(function() asked:close() end, asked.drain, asked)
  asked:close()
  for _, d in ipairs(found) do d.driver = d.driver and driver_words(d.driver) end
  found.box = box
  return found
end

--- Returns the devices. A worker lists the GPUs, so the driver never enters this process. If the
--- driver starts without the box only, the worker runs without it.
---@param device string "emu", "cuda", "cuda:0,2"
---@param memory_bytes integer what a worker may use
---@return table[] list of { device, name, target, clock_ghz, uuid, driver, sms, l2_bytes,
---  memory_rate }, with box: what workers of such a device are shut into
function M.probe(device, memory_bytes)
  if not device:match("^cuda") then
    local d, why = require("gilua").device(device)
    if not d then fail("%s", why) end
    return { { device = device, name = d:info().name, target = d:target() }, box = "emu" }
  end
  local ok, boxed = attempt(gpus, device, memory_bytes, "gpu")
  if ok then return boxed end
  local works, found = attempt(gpus, device, memory_bytes, "none")
  if not works then error(boxed, 0) end
  io.stderr:write(printable.text(("gilua: the workers are not boxed, because '%s' cannot be opened "
    .. "in a box: %s (docs/security.md)\n"):format(device, tostring(boxed))))
  return found
end

--- Refuses GPUs of several models.
function M.refuse_mixed(devices)
  for _, d in ipairs(devices) do
    if d.name ~= devices[1].name then
      fail("the GPUs differ (%s is a %s, %s a %s), so their times cannot be "
        .. "compared: name one with --device %s, or ask for all with gi.farm's mixed = true",
        devices[1].device, devices[1].name, d.device, d.name, devices[1].device)
    end
  end
end

--- One entry a worker. On emu each does everything; on cuda each GPU has a worker of its own.
---@param devices table[] of probe; none: somebody else has the GPUs
---@param jobs integer
---@return table[] list for crew.open
function M.staff(devices, jobs)
  local list = {}
  local virtual = devices[1] ~= nil and devices[1].device == "emu"
  for i = 1, jobs do
    list[i] = { roles = virtual and { "device", "host" } or { "host" }, device = "emu", depth = 1 }
  end
  for _, d in ipairs(virtual and {} or devices) do
    list[#list + 1] = { roles = { "device" }, device = d.device, depth = 2 }
  end
  return list
end

return M
