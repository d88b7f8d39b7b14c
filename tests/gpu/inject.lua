-- inject: programs with CUDA's run-time library linked in, recorded on a GPU as they are
-- (`gilua record --inject`), beside the recordings that gilua makes of the same programs on the
-- virtual GPU, where they are built with a shared library. For each: whether the program prints
-- what it prints alone; launches and arguments (but for addresses); pieces that were copied out;
-- replays of the GPU's recording on the virtual GPU and on the GPU; the program's time without and
-- with the recorder. nvcc must be there. Fails where a program or a replay is not right, or
-- where recording takes more than --most times the program's own time.
--
-- The program `injected` uses the driver alone (tests/programs/injected.c); saxpy and shared
-- (variables; managed and pinned memory, textures) are of tests/programs, too, the others of
-- kernels/workloads. --trace also lists the driver's functions that each calls.

local core = require "gilua.core"
local gi = require "gilua"
local lfs = require "lfs"

local options = gi.cli {
  doc = "Programs recorded on a GPU as they are, beside the same on the virtual GPU.",
  { name = "programs", default = "injected,saxpy,shared,lud,hotspot,bfs",
    doc = "names, with commas between" },
  { name = "size", default = "small", doc = "of kernels/workloads/sizes: what is compared" },
  { name = "large", default = "train", doc = "what is timed as well; nothing: ''" },
  { name = "times", default = 5, min = 1, doc = "runs of each way; medians are told" },
  { name = "most", default = 2.0, min = 1, doc = "times the program's own time" },
  { name = "rel", default = 1e-4, min = 0, doc = "what f32 values may differ by, of the largest" },
  { name = "trace", default = false, doc = "which of the driver's functions programs call" },
  { name = "folder", default = "out/inject", doc = "where everything goes" },
}

local failed = 0
local function fail(...)
  failed = failed + 1
  print("FAILED", string.format(...))
end

local HOME, HERE = gi.home, arg[0]:match "^(.*)/[^/]*$" or "." -- luacheck: globals arg
local gpus = core.system.driver().gpus or {}
local compute = gpus[1] and gpus[1].compute or 75
local has_gpu = #gpus > 0

--------------------------------------------------------------------------------------------------
-- Commands

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- Its status and all it prints; err: where its standard error goes.
local function sh(command, err)
  local pipe = io.popen(("{ %s; } 2>%s; echo \"status $?\""):format(command, err or "&1"))
  local text = pipe:read "a"
  pipe:close()
  local status = tonumber(text:match "status (%d+)%s*$")
  return status, (text:gsub("status %d+%s*$", ""))
end

local GILUA = quoted(select(2, sh "readlink -f /proc/$PPID/exe"):match "%S+")

local function arguments(name, size)
  for line in io.lines(HOME .. "/kernels/workloads/sizes") do
    local program, of, rest = line:match "^(%S+)%s+(%S+)%s+(.-)%s*$"
    if program == name and of == size then return rest end
  end
end

local function build(name, cudart)
  local path = options.folder .. "/" .. name .. "." .. cudart
  local source, more = ("%s/kernels/workloads/%s/%s.cu"):format(HOME, name, name), ""
  if not lfs.attributes(source) then source = ("%s/../programs/%s.cu"):format(HERE, name) end
  if name == "injected" then -- which has no run-time library
    source, more = HERE .. "/../programs/injected.c", "--no-device-link -lcuda"
    cudart = "none"
  end
  local code = cudart == "static"
    and ("-gencode arch=compute_%d,code=sm_%d -gencode arch=compute_%d,code=compute_%d"):format(
      compute, compute, compute, compute)
    or ("-gencode arch=compute_%d,code=compute_%d"):format(compute, compute)
  local status, said = sh(("nvcc -O3 -lineinfo -cudart %s %s -o %s %s %s"):format(cudart, code,
    quoted(path), quoted(source), more))
  if status ~= 0 then return fail("%s is not built: %s", path, said) end
  return path
end

-- Median seconds of so many runs, and what the last one printed.
local function timed(n, make_command)
  local times, printed = {}, nil
  for i = 1, n do
    local command = make_command(i)
    local begun = core.system.seconds()
    local status, said = sh(command, options.folder .. "/said.txt")
    printed = said
    times[i] = core.system.seconds() - begun
    if status ~= 0 then
      local f <close> = io.open(options.folder .. "/said.txt")
      return nil, ("status %d: %s%s"):format(status, said, f:read "a")
    end
  end
  table.sort(times)
  return times[(n + 1) // 2], printed
end

--------------------------------------------------------------------------------------------------
-- Recordings

local function kinds(r)
  local count = {}
  for _, e in ipairs(r.events) do count[e[1]] = (count[e[1]] or 0) + 1 end
  return count
end

-- "NAME GRID BLOCK SHARED" of each launch, and its arguments without what differs between two runs.
local function launches(r)
  local list = {}
  for _, e in ipairs(r.events) do
    if e[1] == "launch" then
      local words = e[9]:gsub("%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x", function(word)
        local value = ("<I8"):unpack((word:gsub("%x%x", function(h)
          return string.char(tonumber(h, 16))
        end)))
        local is_texture = value >> 48 == 0x7fff or value >> 40 == 0x6c6178 -- of a recording
        if value >> 40 ~= 0 and value >> 48 == 0 or is_texture then return " address " end
      end)
      list[#list + 1] = table.concat({ e[3], e[4], e[5], e[6], words }, " ")
    end
  end
  return list
end

local function reads(r)
  local list = {}
  for _, e in ipairs(r.events) do
    if e[1] == "read" then list[#list + 1] = e[#e] end
  end
  return list
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

local function compare_pieces(what, n, piece)
  local same, worst = 0, 0
  for i = 1, n do
    local got, right = piece(i)
    local rel = got == right and 0 or difference(got, right)
    if got == right then same = same + 1 end
    worst = math.max(worst, rel or math.huge)
    if not rel or rel > options.rel then
      fail("%s: piece %d (%d bytes) is another%s", what, i, #got,
        rel and (": by %.3g of its largest value"):format(rel) or "")
    end
  end
  return ("%d of %d pieces to the bit, worst %.2g"):format(same, n, worst)
end

local function compare_recordings(name, gpu, virtual)
  local a, b = launches(gpu), launches(virtual)
  local equal = 0
  for i = 1, math.max(#a, #b) do
    if a[i] == b[i] then
      equal = equal + 1
    elseif i - equal < 3 then
      fail("%s: launch %d is\n  %s and\n  %s", name, i, a[i] or "none", b[i] or "none")
    end
  end
  local x, y = reads(gpu), reads(virtual)
  if #x ~= #y then fail("%s: %d pieces were copied out, and %d", name, #x, #y) end
  local pieces = compare_pieces(name .. ", GPU beside virtual GPU", math.min(#x, #y), function(i)
    return gpu:blob(x[i]), virtual:blob(y[i])
  end)
  print(("%-10s %d of %d launches the same; %s"):format("", equal, #b, pieces))
end

local function replayed(name, where, r, replay)
  local m, why = replay()
  if not m then return fail("%s on %s: %s", name, where, why) end
  if m.status ~= "ok" then return fail("%s on %s: %s: %s", name, where, m.status, m.message) end
  print(("%-10s replayed on %s: %s; %.1f us"):format("", where,
    compare_pieces(name .. ", replayed on " .. where, #m.reads, function(i)
      return m.reads[i].bytes, r:blob(m.reads[i].name)
    end), m.ns / 1000))
end

--------------------------------------------------------------------------------------------------
-- A program

local function trace(path, args)
  local rec = options.folder .. "/trace.rec"
  os.remove(rec)
  local status, said = sh(("GILUA_INJECT_TRACE=1 %s record --inject -o %s -- %s %s"):format(
    GILUA, quoted(rec), quoted(path), args))
  local seen, list = {}, {}
  for call in said:gmatch "the program calls (%S+ %S+)" do
    if not seen[call] then list[#list + 1] = call end
    seen[call] = (seen[call] or 0) + 1
  end
  for i, call in ipairs(list) do list[i] = ("%s x %d"):format(call, seen[call]) end
  print(("calls (status %s): %s"):format(status, table.concat(list, ", ")))
  print((said:gsub("gilua: the program calls [^\n]*\n", "")))
end

local function record_command(path, args, rec)
  return ("%s record --inject --quiet -o %s -- %s %s"):format(GILUA, quoted(rec),
    quoted(path), args)
end

-- Its time alone and recorded; the recording.
local function both_times(name, path, args, what)
  local alone, printed = timed(options.times, function() return quoted(path) .. " " .. args end)
  if not alone then return fail("%s alone: %s", name, printed) end
  local rec = ("%s/%s.%s.rec"):format(options.folder, name, what)
  local recorded, also = timed(options.times, function()
    os.remove(rec)
    return record_command(path, args, rec)
  end)
  if not recorded then return fail("%s recorded: %s", name, also) end
  if printed ~= also then fail("%s prints another thing: %s and\n%s", name, printed, also) end
  local none = timed(options.times, function()
    return ("%s record --inject --quiet -o %s.none -- true"):format(GILUA, rec)
  end)
  local r = gi.recording.open(rec)
  local ratio = (recorded - none) / alone
  print(("%-10s %s: alone %.3f s, recorded %.3f s (of which gilua's start %.3f): %.2f times; %s")
    :format(name, what, alone, recorded, none, ratio, gi.recording.line(r)))
  if what == options.large and ratio > options.most then
    fail("%s, %s: recording takes %.2f times", name, what, ratio)
  end
  return r
end

local function one(name)
  local args, path = arguments(name, options.size) or "", build(name, "static")
  if not path then return end
  if options.trace then trace(path, args) end
  local gpu <close> = both_times(name, path, args, options.size)
  if not gpu then return end
  local shared = build(name, "shared")
  local rec = ("%s/%s.virtual.rec"):format(options.folder, name)
  os.remove(rec)
  local status, said = sh(("%s record --quiet -o %s -- %s %s"):format(GILUA, quoted(rec),
    quoted(shared), args))
  if status ~= 0 then return fail("%s on the virtual GPU: %s", name, said) end
  do
    local virtual <close> = gi.recording.open(rec)
    compare_recordings(name, gpu, virtual)
    local count = kinds(gpu)
    print(("%-10s %d memory, %d variable, %d write, %d set, %d copy, %d read"):format("",
      count.memory or 0, count.variable or 0, count.write or 0, count.set or 0, count.copy or 0,
      count.read or 0))
  end
  replayed(name, "the virtual GPU", gpu, function() return gpu:replay {} end)
  if has_gpu then
    local device <close> = gi.device "cuda"
    local replay, why = device:replay(gpu.file)
    if not replay then return fail("%s: %s", name, why) end
    replayed(name, "the GPU", gpu, function()
      return replay:run { timeout_s = 20, bytes = true }
    end)
    replay:close()
  end
  local large = options.large ~= "" and arguments(name, options.large)
  if large then
    local r <close> = both_times(name, path, large, options.large)
    return r
  end
end

if sh "command -v nvcc" ~= 0 then
  print "inject: there is no nvcc on this machine"
  os.exit(1)
end
sh("mkdir -p " .. quoted(options.folder))
if options.folder:sub(1, 1) ~= "/" then
  options.folder = lfs.currentdir() .. "/" .. options.folder
end
print(("%s; %d runs of each; nvcc -gencode arch=compute_%d"):format(
  has_gpu and gpus[1].name or "no GPU", options.times, compute))
for name in options.programs:gmatch "[^,]+" do
  local ok, why = pcall(one, name)
  if not ok then fail("%s: %s", name, why) end
end
print(failed == 0 and "all as it must be" or failed .. " FAILED")
os.exit(failed == 0 and 0 or 1)
