-- hostile_recordings: recordings of strangers that attack who opens them, the rows of
-- tests/hostile/recordings.lua: each is refused in a sentence or becomes a problem; nothing is run,
-- and no memory is filled.

package.path = "tests/lua/?.lua;tests/hostile/?.lua;" .. package.path
local gi = require "gilua"
local recordedlimits = require "gilua.new.recordedlimits"
local scratch = require "scratch"
local tap = require "tap"
local tape = require "tape"

local FEW = 1 << 20 -- warp instructions

recordedlimits.most_instructions = FEW

-- Why a recording cannot be looked at and run again; nil.
local function looked_at(path)
  local r <close> = gi.recording.open(path)
  r:reads()
  gi.recording.line(r)
  local now, why = r:replay { budget = FEW }
  if not now then gi.fail("%s", why) end
  if now.status ~= "ok" then gi.fail("%s: %s", now.status, now.message) end
end

local function new(folder)
  gi.recordedproblem.write({ folder .. "/a.rec" }, folder .. "/p",
    { source = folder .. "/app.cu", quiet = true })
end

-- The most memory that this process has had, in MB.
local function peak()
  local file <close> = assert(io.open "/proc/self/status")
  return tonumber(file:read("a"):match "VmHWM:%s*(%d+)") // 1024
end

local function try(what, says, f, ...)
  local said = scratch.sentence(f, ...)
  if says then
    tap.has(said, says, what)
    tap.ok(not tostring(said):find "traceback", "in a sentence")
  else
    tap.is(said, nil, what)
  end
end

local function said_by_new(row)
  if row.new == true then return row.says end
  return row.new
end

for _, row in ipairs(require "recordings") do
  tap.case(row.name, function()
    local folder = tap.folder()
    local text = tape.recording(300, { spoil = row.spoil })
    scratch.write(folder .. "/app.cu", tape.SOURCE)
    scratch.write(folder .. "/a.rec", row.bytes and row.bytes(text) or text)
    try("run again", row.says, looked_at, folder .. "/a.rec")
    if row.new then try("new", said_by_new(row), new, folder) end
    tap.ok(not io.open "ran", "nothing ran")
  end)
end
if not tap.sanitized "how much memory they take" then
  tap.ok(peak() < 500, ("at most %d MB were taken"):format(peak()))
end
tap.done()
