-- rounds: launches within a loop, `for (int i = 1; i <= n; i++) kernel<<<i, 16>>>(x, i);`. What the
-- loop counts with has another value in each round; one of them stands for all: the first, or the
-- last where the grid is made of it, which is then the whole one.

local callers = require "gilua.host.callers"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"

local M = {}

local MOST_LOOPS = 6 -- in each other
local LESS = csource.set "< !=" -- conditions that exclude the bound

---@class HostRound
---@field name string what the loop counts with
---@field first string its value in the first round
---@field last string and in the last

-- What a loop counts with; nil where it is not of that kind.
local function round_of(code, loop)
  local t, test = code.t, loop.test
  local equals = t:find(loop.init.first, "=")
  if not equals or equals > loop.init.last or t:kind(equals - 1) ~= "name" then return nil end
  local name = t[equals - 1]
  local first = csource.parts(t, equals + 1, loop.init.last - 1)[1]
  if not first then return nil end
  local is_compared = test.kind == "binary" and t[test.first] == name
    and test.token == test.first + 1
  local compared = is_compared and t[test.token] or ""
  local last, bound = first, is_compared and t:text(test.token + 1, test.last)
  if LESS[compared] then last = ("%s - 1"):format(bound)
  elseif compared == "<=" then last = bound end
  return { name = name, first = first, last = last }
end

--- Reads the loops of a text.
function M.read(code)
  code.loops = code.s:find "for ($init; $test; $step) $body"
  table.move(code.s:find "for ($init; $test;) $body", 1, #code.t, #code.loops + 1, code.loops)
  code_of.nested(code_of.in_order(code.loops))
end

--- The loops that a token is in, the innermost first.
---@param i integer
---@return HostRound[]
function M.around(code, i)
  local list, loop = {}, code_of.around(code.loops, i)
  while loop and #list < MOST_LOOPS do
    list[#list + 1] = round_of(code, loop)
    loop = loop.outer
  end
  return list
end

local function is_in(text, name)
  return text and text:find("%f[%w_]" .. name .. "%f[^%w_]") ~= nil
end

local FIELDS = { "grid", "block", "shared" }

--- Puts a round's value in place of what a launch's loops count with.
---@param launch HostLaunch whose texts are changed; `told` keeps the arguments as they were
---@param rounds HostRound[]
function M.settle(launch, rounds)
  for _, round in ipairs(rounds) do
    local which = is_in(launch.grid, round.name) and "last" or "first"
    local given = { [round.name] = callers.bracketed(round[which]) }
    for _, field in ipairs(FIELDS) do
      launch[field] = launch[field] and callers.replaced(launch[field], given)
    end
    for k, text in ipairs(launch.args) do
      if is_in(text, round.name) then
        launch.told[k] = launch.told[k]
          or ("%s, in the %s round of the loop that launches"):format(text, which)
        launch.args[k] = callers.replaced(text, given)
      end
    end
  end
end

return M
