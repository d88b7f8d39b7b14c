-- archipelago: starts all islands of a ring (gilua.search.islands) on this machine, each a process
-- with its share of the cores and, on cuda, one of the GPUs, and compares their winners in the end.
-- On several nodes a batch system starts them instead (docs/howto/islands.md).

local core = require "gilua.core"
local devices = require "gilua.farm.devices"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local fitness = require "gilua.search.fitness"
local folder = require "gilua.report.folder"
local json = require "gilua.base.json"
local lfs = require "lfs"
local shell = require "gilua.base.shell"
local textfile = require "gilua.base.textfile"

local M = {}

---@class Archipelago
---@field script string what each island runs, with --island K and --meet FOLDER beside `words`
---@field words string[] more of its command line
---@field islands integer
---@field device string "emu", "cuda" or "cuda:N"
---@field seed integer
---@field jobs? integer worker processes of all together
---@field quiet boolean
---@field resume boolean what an earlier beginning left goes on
---@field dir string folder of the results: DIR/1, DIR/2, … and DIR/ring

--- The folder of a run that begins (the first of usual, usual-2, … that is free), or of the last
--- one, which goes on.
---@param usual string
---@param resume boolean
---@return string
function M.folder(usual, resume)
  local last
  for n = 1, math.huge do
    local dir = n == 1 and usual or ("%s-%d"):format(usual, n)
    if not lfs.symlinkattributes(dir) then
      if not resume then return dir end
      return last or fail("there are no islands to go on with: %s is not there", usual)
    end
    last = dir
  end
end

-- Agents' GPUs are given out by each island's farm.
local function device_of(device, island)
  if device ~= "cuda" or core.options.cluster then return device end
  local gpus = core.system.driver().gpus or {}
  return #gpus > 0 and ("cuda:%d"):format((island - 1) % #gpus) or device
end

local function command_of(a, island)
  local dir = ("%s/%d"):format(a.dir, island)
  local ended = folder.has_ended(dir)
  if ended then return nil end
  local jobs = math.max(1, (a.jobs or devices.usual_jobs()) // a.islands)
  local words = { core.system.program(), "--device", device_of(a.device, island), "--seed",
    tostring(a.seed), "--jobs", tostring(jobs), "--out", dir, a.script }
  table.move(a.words, 1, #a.words, #words + 1, words)
  if core.options.cluster then
    table.move({ "--cluster", core.options.cluster }, 1, 2, #words + 1, words)
  end
  for _, word in ipairs { "--islands", tostring(a.islands), "--island", tostring(island), "--meet",
      a.dir .. "/ring", a.quiet and "--quiet" or "--lines" } do
    words[#words + 1] = word
  end
  if ended == false then words[#words + 1] = "--resume" end
  for i, word in ipairs(words) do words[i] = shell.quoted(word) end
  return table.concat(words, " ")
end

-- Runs all of them beside each other. A shell's background jobs do not hear the interrupt key, so
-- the script passes it on and waits until they have saved what they have; the status is then the
-- signal's, as shells have it. The neighbours of one that ends badly would wait for it for ever:
-- then the script ends all.
local BESIDE = [[
one() {
  "$@" & island=$!
  trap 'kill -TERM $island 2>/dev/null' INT TERM HUP
  wait $island; status=$?
  while kill -0 $island 2>/dev/null; do wait $island; status=$?; done
  [ $status = 0 ] || kill -USR1 $$
}
islands= told=0
end() { kill -TERM $islands 2>/dev/null; }
trap end USR1
trap 'told=129; end' HUP
trap 'told=130; end' INT
trap 'told=143; end' TERM
]]
local TO_THE_END = [[
for one in $islands; do
  while kill -0 $one 2>/dev/null; do wait $one; done
done
exit $told]]

-- The status with which all ends where a signal came meanwhile; nil where none did.
local function run_beside(commands)
  local lines = {}
  for i, command in ipairs(commands) do
    lines[i] = "one " .. command .. " & islands=\"$islands $!\"\n"
  end
  local status, why = core.system.run { argv = { "/bin/sh", "-c",
    BESIDE .. table.concat(lines) .. TO_THE_END } }
  if not status then fail("%s", why) end
  return status > 128 and status or nil
end

--- Runs all islands that have not come to their end, to their end.
---@param a Archipelago
---@return table[] found by island: { dir = its folder, genome =, speedup = as it measured it }
function M.run(a)
  local made, why = textfile.make_folder(a.dir)
  if not made then fail("cannot write results to '%s': %s", a.dir, why) end
  local commands = {}
  for island = 1, a.islands do commands[#commands + 1] = command_of(a, island) end
  local signalled = #commands > 0 and run_beside(commands)
  local found, missing = {}, {}
  for island = 1, a.islands do
    local dir = ("%s/%d"):format(a.dir, island)
    if not folder.has_ended(dir) then
      missing[#missing + 1] = tostring(island)
    else
      local result = json.decode(textfile.read(dir .. "/result.json", "the island's result"))
      found[island] = { dir = dir, genome = result.best.genome, speedup = result.speedup }
    end
  end
  if #missing > 0 then
    ends.with(signalled or ends.STATUS.world, "island%s %s of %s did not come to the end; what "
      .. "was found is kept: the same command with --resume goes on",
      #missing == 1 and "" or "s", table.concat(missing, ", "), a.dir)
  end
  if signalled then
    ends.with(signalled, "interrupted; all islands of %s have come to their end: the same command "
      .. "with --resume compares them", a.dir)
  end
  return found
end

--- Holds what the islands found against each other, on one case that none of them has seen.
---@param found table[] as M.run gives it; gets ratio, low, high: how much faster than the
---  unmodified kernel, interleaved with it
---@param farm gilua.farm
---@param case table
---@return table? best of them; nil where none is right and faster
function M.compare(found, farm, case)
  local best
  for _, island in ipairs(found) do
    local right = fitness.right(farm:evaluate({ island.genome }, case)[1])
    local c = right and farm:compare(island.genome, "", case)
    if c and c.status == "ok" then
      island.ratio, island.low, island.high = c.ratio, c.low, c.high
      if c.low > 1 and (not best or c.ratio > best.ratio) then best = island end
    end
  end
  return best
end

return M
