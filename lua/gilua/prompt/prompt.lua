--- prompt: evaluates the lines that a person types; src/host/repl.c calls it.
--
--   session:add(line)          "more" | "run" | "nothing" | "end", and the text for the history
--   session:run()              runs what was added; prints its values or the error
--   session:cancel()           forgets the lines of an unfinished chunk
--   session:finish()           the input has ended
--   session:complete(before)   the Tab key's effect on the text before the cursor
--
-- Chunks are plain Lua with two exceptions. A `local` at the outermost level is a global here,
-- since a local would end with its line. A line that begins with a colon is a command of the prompt
-- (:trace). `_` is the last value printed. completion.lua serves the Tab key, manual.lua `help`.

local printable = require "gilua.base.printable"
local completion = require "gilua.prompt.completion"
local ends = require "gilua.base.ends"
local hint = require "gilua.base.hint"
local inspect = require "gilua.prompt.inspect"
local manual = require "gilua.prompt.manual"
local names = require "gilua.prompt.names"

local M = {}

---@class gilua.session
---@field history_path string? where the host keeps the history
local Session = {}
Session.__index = Session

local CHUNK = "=prompt"

-- --- reading chunks ----------------------------------------------------------------------------

local function is_unfinished(message)
  return message:find("<eof>$") ~= nil
end

--- Compiles what was typed: as an expression, else with outermost locals made globals, else as it
--- stands.
---@param text string
---@return function? chunk
---@return string? message
---@return boolean? unfinished more lines could make it whole
function M.compile(text)
  local chunk, as_expression = load("return " .. text, CHUNK, "t")
  if chunk then return chunk end
  local dropped, n = text:gsub("^%s*local%s+", "")
  if n > 0 then
    chunk = load(dropped, CHUNK, "t")
    if chunk then return chunk end
  end
  local message
  chunk, message = load(text, CHUNK, "t")
  if chunk then return chunk end
  return nil, message, is_unfinished(message) or is_unfinished(as_expression)
end

--- What the history keeps: one entry, where lines can be joined without changing their meaning.
---@param lines string[]
---@return string ...
function M.entries(lines)
  local text = table.concat(lines, "\n")
  if #lines > 1 and (text:find("--", 1, true) or text:find("%[=*%[") or text:find("\\\n")) then
    return table.unpack(lines)
  end
  return (text:gsub("%s*\n%s*", " "))
end

local LEAVE = { exit = true, quit = true, ["exit()"] = true, ["quit()"] = true }

local function wants_to_leave(line)
  local word = line:match("^%s*(.-)%s*$")
  return LEAVE[word] and _G[word:match("%a+")] == nil
end

---@param line string
---@return string what "more" | "run" | "nothing" | "end"
---@return string ... entries for the history
function Session:add(line)
  local lines = self.lines
  if #lines == 0 then
    if not line:find("%S") then return "nothing" end
    if line:find("^%s*:") then return self:command(line) end
    if wants_to_leave(line) then return "end", line end
  end
  lines[#lines + 1] = line
  local chunk, message, unfinished = M.compile(table.concat(lines, "\n"))
  if unfinished then return "more" end
  self.chunk, self.lines, self.single = chunk, {}, #lines == 1
  if chunk then return "run", M.entries(lines) end
  self:failed { message = message, trace = message }
  return "nothing", M.entries(lines)
end

--- Forgets the lines of a chunk that is not finished.
function Session:cancel()
  self.lines = {}
end

--- The end of input, which may come too early.
function Session:finish()
  if #self.lines == 0 then return end
  local _, message = M.compile(table.concat(self.lines, "\n"))
  self:failed { message = message, trace = message }
end

-- --- running -----------------------------------------------------------------------------------

-- The traceback as far as it is the user's business: not the prompt's own frames.
local function trace_of(message)
  local text = debug.traceback(tostring(message), 3)
  text = text:gsub("\n[^\n]*gilua/prompt/[%w_]+%.lua:.*", "")
  return (text:gsub("in upvalue 'chunk'", "in the prompt"))
end

-- An error object with a __tostring is a sentence for a person.
local function caught(e)
  local text = type(e) == "string" and hint.add(e) or nil
  if not text then
    local meta = debug.getmetatable(e)
    text = type(meta) == "table" and meta.__tostring and tostring(e)
      or ("an error object that is a %s value"):format(type(e))
  end
  return { message = text, trace = trace_of(text), sentence = type(e) ~= "string" }
end

--- One line about an error: without its traceback, without the prompt's own place.
---@param message string
---@param single? boolean the chunk was one line
---@return string line
---@return boolean more there is more to say than the line does
function M.error_line(message, single)
  local text = message:gsub("\n%s*stack traceback:.*", "")
  if ends.is_interruption(text) then return "interrupted", false end
  local line = text:match("^%s*([^\n]*)")
  if single then line = line:gsub("^prompt:1: ", "") end
  return line, #text > #line + 12
end

function Session:failed(problem)
  local line, more = M.error_line(printable.text(problem.message), self.single)
  self.trace = problem.trace and printable.text(problem.trace)
  io.stdout:flush()
  local rest = more and "  (:trace shows the rest)" or ""
  if not more and not self.told and not problem.sentence and line ~= "interrupted" then
    rest = "  (:trace shows where)"
    self.told = true
  end
  if rest ~= "" then rest = inspect.paint(self.terminal, "dim", rest) end
  io.stderr:write(inspect.paint(self.terminal, line == "interrupted" and "yellow" or "red", line),
    rest, "\n")
end

local function print_values(self, values)
  if values.n == 0 then return end
  local texts, long = {}, false
  for i = 1, values.n do
    texts[i] = self:render(values[i])
    long = long or texts[i]:find("\n", 1, true)
  end
  _G._ = values[1]
  print(table.concat(texts, long and "\n" or "\t"))
end

--- A value as the prompt prints it.
---@param value any
---@return string
function Session:render(value)
  return inspect.render(value, { width = self.terminal.width, colour = self.terminal.colour,
                                 utf8 = self.terminal.utf8 })
end

--- Runs the chunk that `add` found whole.
function Session:run()
  local chunk = self.chunk
  self.chunk = nil
  self.terminal = inspect.terminal() -- it may have got another size
  local fine, problem = xpcall(function() print_values(self, table.pack(chunk())) end, caught)
  if not fine then self:failed(problem) end
end

-- --- words to the prompt -----------------------------------------------------------------------

local COMMANDS = {}

function COMMANDS.trace(self)
  print(self.trace or "nothing has gone wrong yet")
end

function COMMANDS.help()
  print(manual.help())
end

function Session:command(line)
  local name = line:match("^%s*:%s*(%a*)%s*$")
  local command = COMMANDS[name]
  if command then
    command(self)
  else
    io.stderr:write((":%s is no word to the prompt; there are :trace and :help\n"):format(
      line:match(":%s*(.-)%s*$")))
  end
  return "nothing", line
end

function Session:complete(before) -- luacheck: ignore self
  return completion.complete(before)
end

-- --- opening -----------------------------------------------------------------------------------

--- Where the history is kept, by the XDG rules; nil where there is no home.
---@return string?
function M.history_path()
  local state = os.getenv("XDG_STATE_HOME")
  if not state or state:sub(1, 1) ~= "/" then
    local home = os.getenv("HOME")
    if not home or home:sub(1, 1) ~= "/" then return nil end
    state = home .. "/.local/state"
  end
  return state .. "/gilua/history"
end

--- Begins a session: gi and help become globals, unless they are taken.
---@param editing? boolean has the host a line editor? nil: not even a terminal, nobody is greeted
---@return gilua.session
function M.open(editing)
  local gi = require "gilua"
  if _G.gi == nil then _G.gi = gi end
  if _G.help == nil then _G.help = manual.object end
  if editing then
    print('help explains, Tab completes, Ctrl-D ends; p = gi.problem "kernels/niftyreg" begins')
  elseif editing == false then
    print("help explains, Ctrl-D ends; gilua was built without libedit: no line editing, no Tab")
  end
  return setmetatable({ lines = {}, terminal = inspect.terminal(),
                        history_path = editing and M.history_path() or nil }, Session)
end

M.Session = Session

-- --- what else scripts find here ---------------------------------------------------------------

--- Usage and explanation of a function: of C by its registration row, of Lua by the comment above.
---@param f function
---@param name? string what it is called there: "gi.farm"
---@return string?
function M.explain(f, name) return manual.explain(f, name) end

--- Everything that help knows by name, sorted.
---@return string[]
function M.names() return manual.names() end

--- What `help`, `help "name"` and `help(value)` say.
---@param what? any
---@return string
function M.help(what) return manual.help(what) end

--- What stands at the end of a line: "code", "comment", or "string" with the place where its text
--- begins, the quote that would end it, and the name it is given to (`f` in f "text).
---@param text string
---@return string kind
---@return integer? start
---@return string? closing
---@return string? caller
function M.context(text) return completion.context(text) end

--- The fields of a value by name, through __index tables; nothing of the user's is called.
---@param value any
---@return table<string, any>
function M.fields(value) return names.fields(value) end

--- What Tab does to the text before the cursor.
---@param before string
---@return integer remove characters to take away before the cursor
---@return string insert
---@return string list what to show below, "" for nothing
function M.complete(before) return completion.complete(before) end

return M
