-- readers: the targets that are Lua's: readers of what strangers may give, and a run's folder.
--
--   gilua tests/fuzz/readers.lua                         their names
--   gilua tests/fuzz/readers.lua TARGET SECONDS SEED     for so long, in a folder of its own
--   gilua tests/fuzz/readers.lua TARGET FILE             one input, a finding say
--
-- Seconds are the processor's for this process; what it starts is not counted.
-- What is read is a value or a refusal, one sentence without a traceback. The input at work lies
-- in TARGET.input; what ends the process, or takes a processor for longer than LIMIT_S, leaves it.

local here = arg[0]:match "^(.*/)" or "./"
package.path = ("%s?.lua;%s../lua/?.lua;"):format(here, here) .. package.path
local change = require "change"
local core = require "gilua.core"
local elf = require "gilua.base.elf"
local ends = require "gilua.base.ends"
local gi = require "gilua"
local kerneltable = require "gilua.problem.kerneltable"
local luadata = require "gilua.base.luadata"
local tuningcache = require "gilua.report.tuningcache"
local wire = require "gilua.base.wire"

local LIMIT_S = 20

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- What must not be ends the process, with the input where it is.
local function found(format, ...)
  error("FOUND: " .. format:format(...), 0)
end

-- A value, or a refusal in one sentence.
local function refused_or_not(f, ...)
  local ok, why = pcall(f, ...)
  if ok then return true, why end
  local text = tostring(why)
  -- A refusal that stopped a run on its way (gi.evolve.run) has that one's status.
  local refused = ends.is_refusal(why) or type(why) == "table" and why.status ~= nil
  if not refused then found("an error of Lua's: %s", text) end
  if text == "" or text:find "lua/gilua/[%w_/]+%.lua:%d" then found("no sentence: %s", text) end
end

-- What a reader returns is a value, or nil and a message.
local function value_or_why(value, why)
  if value == nil and why == nil then return nil end
  if value == nil and (type(why) ~= "string" or why == "") then found "refused without a word" end
  return value
end

local TARGETS = {}

--------------------------------------------------------------------------------------------------
-- Texts

TARGETS.json = {
  seeds = { [[{"a": [1, -2.5e3, true, null, "x\u00e9\n\ud83d\ude00"], "b": {"c": {}}, "d": []}]],
    "[[[[[1]]]], 0.1, \"\\\"\"]" },
  try = function(text)
    local value = value_or_why(gi.json.decode(text))
    if value == nil then return end
    local once = gi.json.encode(gi.json.decode(gi.json.encode(value))) -- null for what is infinite
    local again = gi.json.encode(gi.json.decode(once))
    if utf8.len(text) and again ~= once then found("not the same again: %s", once) end
  end,
}

TARGETS.luadata = {
  seeds = { "return { 1, -2.5, true, x = 'y', ['a b'] = [[z]], { \"\\65\\x41\\u{41}\\z  b\" } }\n",
    "-- a remark\nreturn 0x1p-3" },
  try = function(text)
    local value = value_or_why(luadata.read(text))
    if type(value) ~= "table" or next(value) == nil then return end
    local ok, again = pcall(luadata.text, value)
    if ok and not luadata.same(luadata.read("return " .. again), value) then
      found("not the same again: %s", again)
    end
  end,
}

TARGETS.wire = {
  seeds = { wire.encode { 1, 2.5, "x", { a = { b = true } }, ("long"):rep(70) },
    wire.encode { op = "run", 1 << 40, -1, false } },
  try = function(text)
    local ok, value = pcall(wire.decode, text)
    if not ok and not tostring(value):find "a broken message" then found("%s", tostring(value)) end
    if ok then wire.decode(wire.encode(value)) end
  end,
}

--------------------------------------------------------------------------------------------------
-- Problems and caches

local TABLE = [[
return { name = "scale", source = "kernel.cu", kernel = "k", size = { 1000 },
  args = { { name = "out", type = "float *", fill = 0, output = true },
    { name = "x", type = "const float *", size = "size_x * 4", fill = { 0, 1 } },
    { name = "by", type = "float", value = 3.0 }, { name = "n", type = "int", value = "size_x" } },
  tune_params = { block_size_x = { 32, 64, 128 }, FAST = { false, true } },
  restrictions = { "block_size_x <= 64 or FAST == 0" }, grid = { "size_x / block_size_x + 1" },
  tolerance = { max_error = 1e-4 } }
]]

TARGETS.kerneltable = {
  seeds = { TABLE },
  begin = function() write("kernel.cu", "__global__ void k(float *out, const float *x, float by,"
    .. " int n) { out[threadIdx.x] = x[threadIdx.x] * by; }\n") end,
  try = function(text)
    local t = luadata.read(text)
    if type(t) == "table" then refused_or_not(kerneltable.definition, t, ".") end
  end,
}

local WORLD = { device = "GPU", kernel = "k", size = { 64, 32 }, parameters = { "block", "fast" },
  values = { block = { 32, 64 }, fast = { false, true } },
  defaults = { block = 32, fast = false }, seed = 1, files = "abc", clock_ghz = 2 }
local CACHE = [[
{ "device_name": "GPU", "kernel_name": "k", "problem_size": [ 64, 32 ],
"tune_params_keys": [ "fast", "block" ], "tune_params": { "fast": [ 0, 1 ], "block": [ 32 ] },
"objective": [ "time" ],
"cache": {
"0,32": {"fast": 0, "block": 32, "time": 0.25, "times": [0.5, 0.0], "GFLOP/s": NaN},
"1,32": {"fast": 1, "block": 32, "__error__": "CompilationFailedConfig", "compile_time": 9.5},]]

TARGETS.tuningcache = {
  seeds = { CACHE, (CACHE:gsub(",$", "}\n}")) },
  try = function(text)
    write("cache.json", text)
    local ok, cache = refused_or_not(tuningcache.open, "cache.json", WORLD)
    if not ok then return end
    for _, fast in ipairs { false, true } do cache:find { block = 32, fast = fast } end
    cache:write()
    cache:close()
  end,
}

TARGETS.hostcode = {
  seeds = { read(gi.home .. "/tests/own/structs.cu"), read(gi.home .. "/tests/own/many.cu"),
    read(gi.home .. "/tests/programs/matmul.cu") },
  try = function(text)
    local host = gi.hostcode.read(text)
    for _, word in ipairs { "n", "x", "in", "out", "saxpy", "struct" } do
      host:fields(word)
      host:value(word)
      host:allocation(word)
      host:launch(word)
    end
    host:constants()
  end,
}

TARGETS.elf = {
  seeds = {},
  begin = function(target) target.seeds = { read "/bin/true", read("/bin/true"):sub(1, 2000) } end,
  try = function(text)
    write("program", text)
    elf.read "program"
  end,
}

--------------------------------------------------------------------------------------------------
-- A run's folder: any of its files changed, most often the archive

local past = require "gilua.command.past"
local QUESTIONS = {
  { past.log, "run" }, { past.show, "run", "3" }, { past.show, "run", "7", "--source" },
  { past.export, "run", "--jsonl" }, { past.export, "run", "--out", "table.csv" },
  { past.rescore, "run", "formula.lua" }, { require "gilua.command.replay", "run", "--quiet" },
  { require("gilua.command.rundiff").run, "run", "whole" },
  { require "gilua.command.merge", "merged.sqlite", "run", "whole" },
  { require("gilua.command.winner").apply, "run" },
}
local RUN = { "--side", "20", "--population", "5", "--generations", "2", "--jobs", "1", "--quiet" }

local function program(...)
  local status = core.system.run { argv = { ... } }
  if status ~= 0 then error(table.concat({ ... }, " ") .. ": failed", 0) end
end

local FILES = { "archive.sqlite", "archive.sqlite", "archive.sqlite", "result.json",
  "problem.kept/grammar.bnf" }

-- A file's name, a zero byte, what it is to hold.
local function seeds_of_run()
  local seeds = {}
  for _, name in ipairs(FILES) do seeds[#seeds + 1] = name .. "\0" .. read("whole/" .. name) end
  return seeds
end

-- A run that did not come to its end goes on; as a process, which has workers.
local function resume()
  program("/bin/sh", "-c", [["$0" resume run >resume.txt 2>&1; [ $? -le 2 ]
    ]], core.system.program())
  local said = read "resume.txt"
  if said:find "lua/gilua/[%w_/]+%.lua:%d" then found("no sentence: %s", said) end
end

local function ask(question)
  arg = table.move(question, 2, #question, 1, { [0] = "gilua" }) -- luacheck: globals arg
  refused_or_not(question[1])
end

TARGETS.run = {
  seeds = {},
  begin = function(target)
    program(core.system.program(), gi.home .. "/experiments/quickstart.lua", "--out", "whole",
      table.unpack(RUN))
    write("formula.lua", "return function(own, baseline) return own.ticks / baseline.ticks end\n")
    local archive <close> = gi.archive.open "whole/archive.sqlite"
    archive:add "UPDATE run SET ended = NULL"
    archive:flush()
    archive.db:execute "PRAGMA wal_checkpoint(TRUNCATE)"
    target.seeds = seeds_of_run()
    io.output "said.txt"
  end,
  change = function(rng, seeds)
    local name, text = rng:pick(seeds):match "^(%Z+)%z(.*)$"
    return name .. "\0" .. change.one_of(rng, { text })
  end,
  try = function(input, rng)
    local name, text = input:match "^(%Z+)%z(.*)$"
    program("/bin/rm", "-rf", "run", "merged.sqlite", "table.csv")
    program("/bin/cp", "-r", "whole", "run")
    write("run/" .. name, text)
    io.output():seek("set", 0)
    if not rng or rng:int(1, 8) == 1 then resume() end
    for _, question in ipairs(rng and { rng:pick(QUESTIONS) } or QUESTIONS) do ask(question) end
  end,
}

--------------------------------------------------------------------------------------------------

local name, seconds, seed = arg[1], arg[2], math.tointeger(tonumber(arg[3]))
local target = TARGETS[name]
if not target then
  print(table.concat(gi.settings.keys(TARGETS), "\n"))
  os.exit(name == nil)
end
if target.begin then target.begin(target) end
if not seed then
  target.try(read(seconds))
  io.stdout:write(name, ": ", seconds, " did no harm\n")
  return
end

-- Seconds of a processor so far, of programs that a target has run, too (utime, stime, cutime and
-- cstime of proc(5), in hundredths).
local function used_s()
  local words = {}
  for word in gi.textfile.read "/proc/self/stat":match "%) (.*)":gmatch "%S+" do
    words[#words + 1] = word
  end
  return (words[12] + words[13] + words[14] + words[15]) / 100
end

local rng, n, most_s = gi.rng(seed), 0, used_s() + tonumber(seconds)
local input = name .. ".input"
while used_s() < most_s do
  local text = (target.change or change.one_of)(rng, target.seeds)
  write(input, text)
  local began = os.clock()
  target.try(text, rng)
  if os.clock() - began > LIMIT_S then found("%.0f seconds", os.clock() - began) end
  n = n + 1
end
os.remove(input)
io.stdout:write(("%s: %d inputs of %d seeds in %.0f s, seed %d: nothing found\n"):format(name, n,
  #target.seeds, used_s(), seed))
