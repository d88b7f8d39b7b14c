-- applied: what `gilua evolve` promises of whole programs, held against the programs: each is
-- evolved, the winner put into its file by `gilua apply --in-place`, launch and all, both are built
-- with nvcc and run.
--
--   gilua --device cuda tests/gpu/applied.lua FOLDER[,FOLDER…] [--population 60]
--     [--generations 8 | --minutes N] [--runs 5] [--seconds 450] [--within 0.05]
--
-- A problem that `gilua new` made smaller, for the virtual GPU, gets the program's size on a GPU:
-- what fits into the second-level cache gains otherwise than what does not.
--
-- FOLDER holds programs, NAME.cu each, with NAME_*.cu where one is in several files, and headers
-- of all; tests/gpu/launches has twelve that launch in as many forms. Each prints what it computed.
-- The copy that is built times one launch, where it is asked to: the only one, or the statement
-- before `// timed`. It runs 100 times, with an event before and behind each, all queued while the
-- GPU is busy, as gilua measures (docs/device.md); the median counts. Before and after run in turn,
-- --runs times. A line `// new: --kernel NAME` gives `gilua new` more words.
--
-- A row for each program: what evolve promises, what the program gained, the microseconds of both,
-- whether it prints the same, but for numbers that may differ by 1e-4 of their size, and if the
-- launch was written or MARKED. A kernel that wants a launch which nobody writes stays as it was.
-- Without a GPU nothing is timed.
-- Ends with status 1 where a program that was changed prints something else, does not build, or
-- gains less than promised by more than --within, and where none was changed. No program is begun
-- after --seconds.

local core = require "gilua.core"
local gi = require "gilua"
local json = require "gilua.base.json"
local lfs = require "lfs"
local textfile = require "gilua.base.textfile"

local options = gi.cli {
  doc = "What evolve promises of whole programs, held against these.",
  positional = { { name = "folder", doc = "of programs; several with commas between" } },
  { name = "population", default = 60, min = 2, doc = "of evolve" },
  { name = "generations", default = 8, min = 1, doc = "of evolve" },
  { name = "minutes", type = "number", min = 0.1, doc = "of each search, in place of generations" },
  { name = "runs", default = 5, min = 1, doc = "of both programs, in turn" },
  { name = "seconds", default = 450, min = 1, doc = "after which none is begun" },
  { name = "within", default = 0.05, min = 0.0, doc = "a gain may miss the promise by this" },
  { name = "out", default = "out/applied", doc = "folder for copies and runs" },
}

local gilua = os.getenv "GILUA" or io.popen("readlink -f /proc/$PPID/exe"):read "l"
local is_gpu = options.device ~= "emu"
local began = core.system.seconds()

local TIMER = [[
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
__global__ void applied_wait(long long clocks) {
    for (long long first = clock64(); clock64() - first < clocks;) { }
}
template <class F> void applied_time(F launch) {
    const int n = 100;
    cudaEvent_t from[n], to[n];
    float us[n];
    for (int i = 0; i < n; i++) { cudaEventCreate(&from[i]); cudaEventCreate(&to[i]); }
    cudaDeviceSynchronize();
    applied_wait<<<1, 1>>>(6000000);
    for (int i = 0; i < n; i++) {
        cudaEventRecord(from[i]);
        launch();
        cudaEventRecord(to[i]);
    }
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) { cudaEventElapsedTime(&us[i], from[i], to[i]); us[i] *= 1000; }
    std::sort(us, us + n);
    fprintf(stderr, "median %.3f us\n", us[n / 2]);
}
#define APPLIED_TIMED(...) do { __VA_ARGS__; \
    if (getenv("APPLIED_TIMED")) applied_time([&] { __VA_ARGS__; }); } while (0)
#line 1
]]

-- Runs a command in a folder; what it printed, and whether its status is 0.
local function shell(folder, text)
  local pipe = io.popen(("cd %s && { %s ; } 2>&1"):format(gi.shell.word(folder), text))
  local said = pipe:read "a"
  return said, (pipe:close())
end

local function last_line(text) return text:match "([^\n]*)\n*$" end

-- A program's text in which its launch is timed; nil where it has not just one.
local function timed(text)
  local new, n = text:gsub("\n([ \t]*)([^\n]-);([ \t]*// timed)", "\n%1APPLIED_TIMED(%2);%3")
  if n == 0 then
    new, n = text:gsub("\n([ \t]*)([%w_]+<<<[^;\n]*>>>%b());", "\n%1APPLIED_TIMED(%2);")
  end
  return n == 1 and TIMER .. new or nil
end

local BUILD = is_gpu and "nvcc -O3 -arch=sm_90 -std=c++17"
  or "nvcc -std=c++17 -cudart shared -gencode arch=compute_90,code=compute_90"

-- The files of a program in a folder, by name: its own and headers.
local function files_of(folder, name)
  local files = {}
  for file in lfs.dir(folder) do
    local is_own = file == name .. ".cu" or file:sub(1, #name + 1) == name .. "_"
      and file:find "%.cu$"
    if is_own or file:find "%.h$" or file:find "%.cuh$" then
      files[file] = textfile.read(folder .. "/" .. file, "a program")
    end
  end
  return files
end

local function write_files(folder, files)
  assert(textfile.make_folder(folder))
  for file, text in pairs(files) do textfile.write(folder .. "/" .. file, text) end
end

-- The files of a program with its launch timed; nil where it has not just one.
local function timed_files(files)
  local list, n = {}, 0
  for file, text in pairs(files) do
    local new = file:find "%.cu$" and timed(text)
    list[file], n = new or text, n + (new and 1 or 0)
  end
  return n == 1 and list or nil
end

-- Builds both versions at once; nil and why.
local function build(folder, before, after)
  for name, files in pairs { ["before.d"] = before, ["after.d"] = after } do
    local copies = timed_files(files)
    if not copies then return nil, name .. ": not one launch in a statement" end
    write_files(folder .. "/" .. name, copies)
  end
  local one = BUILD .. " -o %s %s.d/*.cu & %s=$!"
  local said, built = shell(folder, one:format("before", "before", "a") .. "; "
    .. one:format("after", "after", "b") .. "; wait $a && wait $b")
  return built, last_line(said)
end

local function run(folder, name)
  return shell(folder, (is_gpu and "./%s" or gilua .. " run --quiet -- ./%s"):format(name))
end

-- Are two texts the same, but for numbers that are nearly so?
local function same(a, b)
  local one, two = a:gmatch "%S+", b:gmatch "%S+"
  repeat
    local x, y = one(), two()
    local m, n = tonumber(x or ""), tonumber(y or "")
    local is_near = m and n and math.abs(m - n) <= 1e-4 * math.max(1, math.abs(m), math.abs(n))
    if x ~= y and not is_near then return false end
  until not x
  return true
end

-- How many times as fast the program's launch is: medians of runs in turn; nil off a GPU.
local function gained(folder)
  local us = { before = {}, after = {} }
  for i = 1, is_gpu and 2 * options.runs or 0 do
    local name = i % 2 == 1 and "before" or "after"
    local said = shell(folder, "APPLIED_TIMED=1 ./" .. name)
    table.insert(us[name], tonumber(said:match "median ([%d.]+) us"))
  end
  if math.min(#us.before, #us.after) < options.runs or not is_gpu then return nil end
  for _, list in pairs(us) do table.sort(list) end
  local middle = options.runs // 2 + 1
  local before, after = us.before[middle], us.after[middle]
  return before / after, before, after
end

local function result_of(folder)
  return json.decode(textfile.read(folder .. "/run/result.json", "the result"))
end

local judged = 0 -- programs

local kept = 0 -- those whose gain is the promise, but for --within

local marked = 0 -- programs that stay as they were, for their launch is a person's to write

-- The times that a promise was made of.
local function promised_us(result)
  local from, to = result.baseline.ns, result.best.ns
  return from and to and (" (%.2f -> %.2f us)"):format(from / 1e3, to / 1e3) or ""
end

-- Puts the winner into the program's files; nil, and why not where that is a fault.
local function apply(command, row)
  local said, fine = command "apply run --in-place --quiet"
  if fine then return "written" end
  local mark = "MARKED: " .. last_line(said)
  if said:find "wants another launch" or said:find "that a launch is changed" then
    marked = marked + 1
    row(mark)
    return nil
  end
  said, fine = command "apply run --in-place --quiet --anyway"
  if fine then return mark end
  row("apply: " .. last_line(said))
  return nil, true
end

-- Evolves a program that is in a folder; false where it found nothing, which it says.
local function evolved(name, text, command, row)
  local said, fine = command(("new %s.cu problem %s"):format(name,
    text:match "\n// new: ([^\n]*)" or ""))
  if not fine then return row("new: " .. last_line(said)) end
  local length = options.minutes and "minutes " .. options.minutes
    or "generations " .. options.generations
  said, fine = command(("evolve problem --device %s --population %d --%s --seed %d --quiet "
    .. "--out run"):format(options.device, options.population, length, options.seed))
  if fine then return true end
  said = last_line(said)
  row("evolve: " .. (said ~= "" and said or "found nothing better"))
end

-- One program; why it does not keep what was promised, or nil.
local function try(from, name)
  local folder, files = ("%s/%s"):format(options.out, name), files_of(from, name)
  os.execute("rm -rf " .. gi.shell.word(folder))
  write_files(folder, files)
  local function command(words) return shell(folder, gilua .. " " .. words) end
  local function row(what) print(("%-14s %s"):format(name, what)) end
  if not evolved(name, files[name .. ".cu"], command, row) then return end
  local result = result_of(folder)
  local mark, is_fault = apply(command, row)
  if not mark then return is_fault and "apply: " .. name or nil end
  local built, why = build(folder, files, files_of(folder, name))
  if not built then
    row("nvcc: " .. why)
    return "build: " .. name
  end
  local is_same = same(run(folder, "before"), run(folder, "after"))
  local gain, before, after = gained(folder)
  local misses = gain and gain / result.speedup < 1 - options.within
  local keeps = gain and math.abs(gain / result.speedup - 1) <= options.within
  row(("promised %6.3fx%s, got %s, %s, launch %s  %s"):format(result.speedup, promised_us(result),
    gain and ("%6.3fx (%.2f -> %.2f us)%s"):format(gain, before, after,
      misses and " MISSED" or keeps and "" or " MORE")
      or "no time", is_same and "prints the same" or "PRINTS SOMETHING ELSE", mark,
    result.best.genome))
  judged, kept = judged + 1, kept + (keeps and 1 or 0)
  if not is_same then return "output: " .. name end
  return misses and mark == "written" and "gain: " .. name or nil
end

-- The programs of a folder, by name: none that is a part of another.
local function names_in(folder)
  local names, list = {}, {}
  for file in lfs.dir(folder) do names[file:match "^(.*)%.cu$" or ""] = true end
  for name in pairs(names) do
    local whole = name:match "^(.*)_%w+$"
    if name ~= "" and not names[whole] then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

local faults = {}
for folder in options.folder:gmatch "[^,]+" do
  for _, name in ipairs(names_in(folder)) do
    if core.system.seconds() - began > options.seconds then
      print(name .. ": not begun, for the time is over")
    else
      faults[#faults + 1] = try(folder, name)
      io.stdout:flush()
    end
  end
end
if judged == 0 then faults[#faults + 1] = "no program was changed and run" end
local gains = is_gpu and ("%d gain what was promised within %g %%, "):format(kept,
  100 * options.within) or ""
print(("%d changed, %s%d MARKED for their launch: %s"):format(judged, gains, marked,
  #faults == 0 and "all keep what was promised" or table.concat(faults, "; ")))
os.exit(#faults == 0, true)
