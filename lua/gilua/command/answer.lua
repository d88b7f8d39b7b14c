-- answer: a command's output: text for a person as the command goes on, or, with --json, one JSON
-- object on standard output at its end, whatever happens. A failure is a sentence on standard error
-- in both cases; with --json it is also the object's `error`.

local ends = require "gilua.base.ends"
local events = require "gilua.base.events"
local host = require "gilua.base.host"
local json = require "gilua.base.json"
local printable = require "gilua.base.printable"
local trace = require "gilua.base.trace"

local M = {}

--- The option, for a command's list.
M.JSON = { name = "json", default = false, doc = "print one JSON object in place of text" }

--- A line for a person. What tells events has its text on standard error.
---@param o table options of the command
---@param format string
function M.say(o, format, ...)
  if not (o.quiet or o.json and not events.on()) then
    printable.print(select("#", ...) > 0 and format:format(...) or format)
  end
end

--- What stopped a command, as a refusal: what is none keeps its traceback. Ctrl-C is no fault and
--- has none.
---@param problem any
---@return table
function M.refusal(problem)
  if type(problem) == "table" and problem.status then return problem end
  local text, status = tostring(problem), ends.STATUS.world
  if ends.is_interruption(problem) or text == "interrupted" then
    text, status = "interrupted", ends.STATUS.interrupted
  elseif type(problem) == "string" then
    text = trace.text(problem, 2)
  end
  return select(2, pcall(ends.with, status, "%s", text))
end

local function print_object(value)
  if events.on() then return events.tell("result", value.pairs) end
  printable.write(json.encode(value) .. "\n", host.is_terminal())
end

--- Does a command's work: work(o) returns the object that --json prints and, where that tells of a
--- failure, an exit status and a sentence.
---@param o table options of the command
---@param work fun(o: table): table?, integer?, string?
---@return integer? status
function M.given(o, work)
  local ok, value, status, sentence = xpcall(work, M.refusal, o)
  if not ok then
    if o.json and not events.on() then
      print_object(json.object { { "error", (tostring(value):match "^[^\n]*") },
        { "status", value.status } })
    end
    error(value, 0)
  end
  if o.json then print_object(value) end
  if sentence then ends.with(status, "%s", sentence) end
  return status
end

--- Takes what stands behind `--` off the command line.
---@return string[]? words; nil where there is no `--`
function M.behind_dashes()
  for i, word in ipairs(arg) do
    if word == "--" then
      local words = table.move(arg, i + 1, #arg, 1, {})
      for k = #arg, i, -1 do arg[k] = nil end -- luacheck: globals arg
      return words
    end
  end
end

return M
