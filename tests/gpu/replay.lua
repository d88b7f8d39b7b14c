-- replay: recordings of whole programs (gilua record) on a GPU and on the virtual one. For each:
-- what the host gets is compared piece by piece; the time of the whole sequence and of its kernels;
-- what a repetition takes beyond that; which memory has the address that it had. With --problem a
-- problem is made of it, checked, evolved and verified on the GPU.
--
-- NAME.1.rec is what is trained on, NAME.2.rec what is verified with; NAME.cu, where it is there,
-- the source. Each recording has a process of its own, since a fault costs a process its GPU. Fails
-- where a piece differs by more than --rel of its values, or a command ends badly.

local core = require "gilua.core"
local gi = require "gilua"
local lfs = require "lfs"

local options = gi.cli {
  doc = "Recordings of whole programs on a GPU beside the virtual one.",
  { name = "recordings", default = "out/rec", doc = "folder of NAME.rec" },
  { name = "only", default = "", doc = "recordings with this in their name" },
  { name = "one", default = "", doc = "this recording alone, in this process" },
  { name = "rel", default = 1e-4, min = 0, doc = "what f32 values may differ by, of the largest" },
  { name = "problem", default = "", doc = "names to make problems of, with commas between" },
  { name = "population", default = 16, min = 2, doc = "of evolve" },
  { name = "generations", default = 3, min = 1, doc = "of evolve" },
}
local device_name = options.device == "emu" and "cuda" or options.device
local failed = 0

local function recordings()
  local list = {}
  for name in lfs.dir(options.recordings) do
    if name:find "%.rec$" and name:find(options.only, 1, true) then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

local function fail(...)
  failed = failed + 1
  print("FAILED", string.format(...))
end

-- The largest difference over the largest value, as f32; nil where the bytes are none.
local function difference(got, right)
  if #got ~= #right or #got % 4 ~= 0 then return nil end
  local largest, most = 0, 0
  for at = 1, #got, 4 do
    local a, b = string.unpack("<f", got, at), string.unpack("<f", right, at)
    if a ~= a or b ~= b then return nil end
    largest, most = math.max(largest, math.abs(b)), math.max(most, math.abs(a - b))
  end
  return most / math.max(largest, 1e-30)
end

local function compare(name, r, m)
  local same, worst = 0, 0
  for i, read in ipairs(m.reads) do
    if read.same then
      same = same + 1
    else
      local rel = difference(read.bytes, r:blob(read.name))
      worst = math.max(worst, rel or math.huge)
      if not rel or rel > options.rel then
        fail("%s: piece %d (%d bytes) is another: %s", name, i, read.size,
          rel and ("by %.3g of its largest value"):format(rel) or "no f32 that is near")
      end
    end
  end
  return same, worst
end

local function seconds(f, ...)
  local begun = core.system.seconds()
  local found, why = f(...)
  return core.system.seconds() - begun, found, why
end

local function kernels(m)
  local parts = {}
  for i, k in ipairs(m.kernels) do
    parts[i] = ("%s %d x %.2f us"):format(k.name, k.launches, k.ns / k.launches / 1000)
  end
  return table.concat(parts, "; ")
end

local gpu

local function on_gpu(name, r, virtual)
  local opening, replay, why = seconds(gpu.replay, gpu, r.file)
  if not replay then return fail("%s: %s", name, why) end
  local there, elsewhere = replay:places()
  local m, wrong = replay:run { timeout_s = 20 }
  if not m then return fail("%s: %s", name, wrong) end
  if m.status ~= "ok" then return fail("%s: %s: %s", name, m.status, m.message) end
  local same, worst = compare(name, r, m)
  local times = {}
  for i = 1, 5 do times[i] = seconds(replay.run, replay, { timeout_s = 20 }) - m.ns * 1e-9 end
  table.sort(times)
  local t, slow = replay:run { timed = true, timeout_s = 20 }
  if not t or t.status ~= "ok" then return fail("%s: timed: %s", name, slow or t.message) end
  print(("%-18s pieces %d of %d the same, worst %.2g; %.1f us +- %.2f %% (virtual %.1f us); "
    .. "opened in %.0f ms; overhead of a replay %.2f ms; memory %d kB there, %d kB elsewhere")
    :format(name, same, #m.reads, worst, t.median_ns / 1000, 100 * t.rel_error, virtual.ns / 1000,
    1000 * opening, 1000 * times[3], there // 1000, elsewhere // 1000))
  print(("%-18s %s"):format("", kernels(m)))
  if there + elsewhere > 90e6 and times[3] > 0.010 then
    fail("%s: a replay takes %.1f ms beside its kernels", name, 1000 * times[3])
  end
  replay:close()
end

local function one(name)
  local r = gi.recording.open(options.recordings .. "/" .. name)
  local took, virtual, why = seconds(r.replay, r, {})
  if not virtual then
    fail("%s on the virtual GPU: %s", name, why)
  else
    local same = 0
    for _, read in ipairs(virtual.reads) do same = same + (read.same and 1 or 0) end
    if same ~= #virtual.reads then fail("%s: differs on the virtual GPU", name) end
    local ok, wrong = pcall(on_gpu, name, r, virtual)
    if not ok then fail("%s: %s", name, wrong) end
    io.stdout:flush()
  end
  r.file:close()
  return took
end

if options.one ~= "" then
  gpu = assert(gi.device(device_name))
  one(options.one)
  os.exit(failed == 0)
end

-- Commands, as a user types them.

local gilua = os.getenv "GILUA" or "./gilua"

local function command(text)
  print("$ gilua " .. text)
  io.stdout:flush()
  local took, ok, _, status = core.system.seconds(), os.execute(("%s %s 2>&1"):format(gilua, text))
  took = core.system.seconds() - took
  print(("# %.1f s, status %s"):format(took, status))
  return ok or status
end

for _, name in ipairs(recordings()) do
  local ok = os.execute(("%s %s --recordings %s --device %s --rel %g --one %s 2>&1"):format(gilua,
    arg[0], options.recordings, device_name, options.rel, name))
  if not ok then fail("%s", name) end
end

for name in options.problem:gmatch "[^,]+" do
  local stem = options.recordings .. "/" .. name
  local out = os.tmpname()
  os.remove(out)
  local source = lfs.attributes(stem .. ".cu") and " --source " .. stem .. ".cu" or ""
  local second = lfs.attributes(stem .. ".2.rec") and " " .. stem .. ".2.rec" or ""
  if command(("new %s.1.rec%s -o %s.problem%s"):format(stem, second, out, source)) ~= true then
    fail("%s: no problem", name)
  else
    local checked = command(("check %s.problem --device %s"):format(out, device_name))
    if checked ~= true and checked ~= 3 then fail("%s: check", name) end
    local evolved = command(("evolve %s.problem --device %s --population %d --generations %d "
      .. "--seed 1 --out %s.run"):format(out, device_name, options.population, options.generations,
      out))
    if evolved ~= true and evolved ~= 3 then fail("%s: evolve", name) end
    if evolved == true and command(("verify %s.run --device %s"):format(out, device_name)) ~= true
    then fail("%s: verify", name) end
  end
end

print(failed == 0 and "all as it should be" or ("%d failed"):format(failed))
os.exit(failed == 0)
