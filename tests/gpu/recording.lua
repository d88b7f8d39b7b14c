-- recording: what a recording costs a program. Each is run as it is (on a GPU: by NVIDIA's own
-- runtime), by `gilua run` and by `gilua record`, in turn; wall time of the process, the start of
-- its GPU included.
--
--   kernels/workloads/make -j 8 build all
--   gilua --device cuda tests/gpu/recording.lua [--programs out/workloads] [--size train]
--     [--libraries /usr/local/cuda/lib64] [--times 5]
--
-- On the virtual GPU there is no run as it is: a recording stands beside `gilua run`. Fails where
-- the median of a recording is more than the issue allows: twice the program's own time on a GPU,
-- 1.3 times that of `gilua run` on the virtual one. Text of the programs is not looked at; a status
-- other than 0 fails.

local core = require "gilua.core"
local gi = require "gilua"
local lfs = require "lfs"

local o = gi.cli {
  doc = "What a recording costs a program.",
  { name = "programs", default = "out/workloads", doc = "folder of NAME/NAME" },
  { name = "only", default = "", doc = "names, with commas between" },
  { name = "size", default = "train", doc = "of kernels/workloads/sizes" },
  { name = "libraries", default = "/usr/local/cuda/lib64", doc = "folder of NVIDIA's libcudart" },
  { name = "times", default = 5, min = 1, doc = "runs of each way" },
}

local gilua = os.getenv "GILUA" or "./gilua"
local virtual = o.device == "emu"
local most = virtual and 1.3 or 2
local scratch <close> = gi.tempfolder.new()

-- Arguments by program, of the size asked for.
local function sizes()
  local list = {}
  for line in io.lines(gi.home .. "/kernels/workloads/sizes") do
    local name, size, arguments = line:match "^(%w+)%s+(%w+)%s+(.*)$"
    if size == o.size then list[name] = arguments end
  end
  return list
end

local WAYS = {
  { "as it is", "LD_LIBRARY_PATH=" .. o.libraries .. ":$LD_LIBRARY_PATH %s" },
  { "run", gilua .. " run --quiet --device " .. o.device .. " -- %s" },
  { "recorded", gilua .. " record --quiet --device " .. o.device .. " -o " .. scratch.path
    .. "/a.rec -- %s" },
}
if virtual then table.remove(WAYS, 1) end

local function seconds(command)
  os.remove(scratch.path .. "/a.rec")
  local begun = core.system.seconds()
  local ok = os.execute(command .. " >" .. scratch.path .. "/out 2>&1")
  if not ok then gi.fail("%s: %s", command, gi.textfile.read(scratch.path .. "/out")) end
  return core.system.seconds() - begun
end

-- Medians of the ways, and the last one's over the first's, pair by pair.
local function measured(program, arguments)
  local command = ("%s/%s/%s %s"):format(o.programs, program, program, arguments)
  local times, ratios = {}, {}
  for i = 0, o.times do -- the first warms caches
    for k, way in ipairs(WAYS) do
      local s = seconds(way[2]:format(command))
      times[k] = times[k] or {}
      if i > 0 then times[k][i] = s end
    end
    if i > 0 then ratios[i] = times[#WAYS][i] / times[1][i] end
  end
  for k, list in ipairs(times) do times[k] = gi.stats.median(list) end
  return times, ratios
end

local names, list = {}, sizes()
for name in pairs(list) do
  local wanted = o.only == "" or ("," .. o.only .. ","):find("," .. name .. ",", 1, true)
  local path = ("%s/%s/%s"):format(o.programs, name, name)
  if wanted and lfs.attributes(path, "mode") == "file" then names[#names + 1] = name end
end
table.sort(names)
if #names == 0 then
  gi.fail("%s has no program: kernels/workloads/make -o %s build all", o.programs, o.programs)
end

local failed, all = 0, {}
for _, name in ipairs(names) do
  local times, ratios = measured(name, list[name])
  local words = {}
  for k, way in ipairs(WAYS) do words[k] = ("%s %.3f s"):format(way[1], times[k]) end
  local ratio = gi.stats.median(ratios)
  all[#all + 1] = ratio
  failed = failed + (ratio > most and 1 or 0)
  print(("%-14s %s; %.2f times as long (%.2f to %.2f)%s"):format(name, table.concat(words, ", "),
    ratio, math.min(table.unpack(ratios)), math.max(table.unpack(ratios)),
    ratio > most and "  TOO LONG" or ""))
  io.stdout:flush()
end
print(("%d programs: median %.2f times as long, worst %.2f; allowed %.1f"):format(#all,
  gi.stats.median(all), math.max(table.unpack(all)), most))
os.exit(failed == 0)
