-- judge: mutation testing of our own sources: is each of their one-line changes (mutate.lua)
-- noticed by a test?
--
-- All work is done in a copy of the tree. A first run without a change must pass; it takes the
-- tests' times and notes which functions of the Lua files each test calls. A mutant is then given
-- to the tests that call its function, the shortest first, until one fails: killed. One that all
-- pass has survived: a test is missing, or the change is equivalent (explained.lua says why).
--
-- Limits: calls within a worker's box are not noted. Of C files all tests that covers.lua names are
-- run, and a change that does not compile is not counted.

local core = require "gilua.core"
local gi = require "gilua"
local mutate = require "mutate"
local shell = require "gilua.base.shell"

local M = {}

local SLOWER, AT_LEAST_S = 5, 20 -- how much longer than before a test may take with a mutant

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

local function language_of(file)
  return file:find "%.c$" and "c" or file:find "%.lua$" and "lua"
    or gi.fail("%s is neither a Lua file nor a C file: name one of those", file)
end

-- What a file notes in: an expression that gives a function of a line.
local function note_of(file, noted)
  return ("setmetatable({}, { __call = function(t, n) if t[n] then return end t[n] = true "
    .. "local f = io.open(%q, \"a\") if f then f:write(%q, n, \"\\n\") f:close() end end })")
    :format(noted, file .. ":")
end

-- Runs a command in the copy; whether it ended well within so many seconds.
local function works(judge, command, seconds)
  return (os.execute(("cd %s && timeout -k 5 %d sh -c %s >%s 2>&1"):format(
    shell.quoted(judge.folder), math.ceil(seconds), shell.quoted(command),
    shell.quoted(judge.folder .. "/said")))) == true
end

-- Builds a test's program with the sources as they are now; whether that was possible.
local function is_built(judge, test)
  return not judge.build or works(judge, judge.build(test), 600)
end

-- The tests that covers.lua names for a file, as sets of patterns.
local function candidates(covers, file)
  local list = {}
  for _, row in ipairs(covers) do
    if file:find("^" .. row.file .. "$") then
      for test in row.tests:gmatch "%S+" do list[#list + 1] = test end
    end
  end
  if #list == 0 then gi.fail("no test is known for %s: add a row to covers.lua", file) end
  return list
end

local function lines_of(path)
  local set, file = {}, io.open(path)
  for line in file and file:lines() or function() end do set[line] = true end
  if file then file:close() end
  os.remove(path)
  return set
end

-- One run of a test without a change: { name, seconds, calls (FILE:LINE of functions) }.
local function first_run(judge, test)
  if not is_built(judge, test) then gi.fail("%s cannot be built:\n%s", test, judge:said()) end
  local start = core.system.seconds()
  if not works(judge, judge.command(test), 600) then
    gi.fail("%s fails without a mutant: mend it first\n%s", test, judge:said())
  end
  return { name = test, seconds = core.system.seconds() - start, calls = lines_of(judge.noted) }
end

-- The first run of all tests of some files; keeps them by file, the shortest first.
local function take_tests(judge, files)
  local known, texts = {}, {}
  for _, file in ipairs(files) do
    local language = language_of(file)
    texts[file] = read(judge.folder .. "/" .. file)
    if language == "lua" then
      write(judge.folder .. "/" .. file,
        mutate.noting(texts[file], note_of(file, judge.noted)))
    end
  end
  for _, file in ipairs(files) do
    judge.tests[file] = {}
    for i, test in ipairs(candidates(judge.covers, file)) do
      known[test] = known[test] or first_run(judge, test)
      judge.tests[file][i] = known[test]
    end
    table.sort(judge.tests[file], function(a, b) return a.seconds < b.seconds end)
  end
  for file, text in pairs(texts) do write(judge.folder .. "/" .. file, text) end
  return texts
end

--- The text of a place's line, without the blanks around.
---@param text string
---@param place Place
---@return string
function M.line(text, place)
  local n = 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    n = n + 1
    if n == place.line then return line:match "^%s*(.-)%s*$" end
  end
end

local function is_explained(judge, file, line, what)
  for _, one in ipairs(judge.explained) do
    if one.file == file and one.line == line and one.what == what then return true end
  end
  return false
end

-- Returns the test that fails with the mutant that is in the copy, or nil and how many passed;
-- returns "" for a mutant that does not compile.
local function killer(judge, file, place)
  local n = 0
  for _, test in ipairs(judge.tests[file]) do
    if language_of(file) == "c" or test.calls[file .. ":" .. place.within] then
      if not is_built(judge, test.name) then return "" end
      if not works(judge, judge.command(test.name), SLOWER * test.seconds + AT_LEAST_S) then
        return test.name
      end
      n = n + 1
    end
  end
  return nil, n
end

-- Judges one mutant: returns a column of the table and the words for it; nil for one that does not
-- compile.
local function judge_one(judge, file, text, place, change)
  local line = M.line(text, place)
  if is_explained(judge, file, line, change.what) then
    return "explained", "equivalent, as explained"
  end
  local mutant = mutate.apply(text, place, change)
  if language_of(file) == "lua" and not load(mutant) then return nil end
  write(judge.folder .. "/" .. file, mutant)
  local test, passed = killer(judge, file, place)
  if test == "" then return nil end
  if test then return "killed", "killed by " .. test end
  return "survived", ("SURVIVED %d tests: %s"):format(passed, line)
end

local function judge_file(judge, file, text)
  local row, n = { file = file, killed = 0, explained = 0, survived = 0 }, 0
  for place, change in mutate.draws(text, language_of(file), gi.rng(judge.seed)) do
    local verdict, words = judge_one(judge, file, text, place, change)
    if verdict then
      row[verdict], n = row[verdict] + 1, n + 1
      judge.say(("%s:%d: %s: %s"):format(file, place.line, change.what, words))
    end
    if n == judge.count then break end
  end
  write(judge.folder .. "/" .. file, text)
  return row
end

local FORMAT = "%-40s %8s %8s %10s %9s"

local function say_table(judge, rows)
  judge.say("")
  judge.say(FORMAT:format("file", "mutants", "killed", "explained", "survived"))
  for _, r in ipairs(rows) do
    judge.say(FORMAT:format(r.file, r.killed + r.explained + r.survived, r.killed, r.explained,
      r.survived))
  end
end

--- Judges files in a copy of the tree, and says what became of each mutant.
---@param options table folder: the copy; files; covers: { file (pattern), tests (words) } rows;
--- explained; count: mutants of a file; seed; command(test), build(test)?: shell commands in the
--- copy; say(line)
---@return table[] rows { file, killed, explained, survived }
function M.run(options)
  local judge = { tests = {}, noted = options.folder .. "/noted" }
  for key, value in pairs(options) do judge[key] = value end
  function judge:said() return read(self.folder .. "/said") end
  local texts, rows = take_tests(judge, options.files), {}
  for i, file in ipairs(options.files) do rows[i] = judge_file(judge, file, texts[file]) end
  say_table(judge, rows)
  return rows
end

return M
