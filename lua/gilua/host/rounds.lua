-- rounds: launches within a loop, `for (int i = 1; i <= n; i++) kernel<<<i, 16>>>(x, i);`. What the
-- loop counts with has another value in each round; one of them stands for all: the first, or the
-- last where the grid is made of it, which is then the whole one.

local callers = require "gilua.host.callers"
local csource = require "gilua.source.csource"

local M = {}

local MOST_LOOPS = 6 -- in each other
local LESS = csource.set "< !=" -- conditions of which the bound is not reached

---@class HostRound
---@field name string what the loop counts with
---@field first string its value in the first round
---@field last string and in the last

-- A loop's counter by the brackets of its head; nil where it is not of that kind.
local function round_of(t, open, close)
  local one, two = t:find(open, ";"), nil
  if one and one < close then two = t:find(one + 1, ";") end
  local equals = two and two < close and t:find(open, "=")
  if not equals or equals > one or t:kind(equals - 1) ~= "name" then return nil end
  local name, first = t[equals - 1], t:text(equals + 1, one - 1)
  local compared = t[one + 1] == name and t[one + 2] or ""
  local bound = two > one + 3 and t:text(one + 3, two - 1)
  local last = first
  if bound and LESS[compared] then last = ("%s - 1"):format(bound)
  elseif bound and compared == "<=" then last = bound end
  return { name = name, first = first, last = last }
end

-- The `(` of the loop that the bracket at a token closes the head of; nil where it is another's.
local function loop_head(t, close)
  local open = t[close] == ")" and t:match(close)
  return open and t[open - 1] == "for" and open or nil
end

-- By tokens of a file and the place of a `;` or `}`: the loops around the statement before it.
local passed = setmetatable({}, { __mode = "k" })

-- All loops that a token is in. What stands before the first `;` or `}` on the way is walked once
-- for all launches behind it.
local function all_around(t, i, first)
  local known, list, end_of, own = passed[t] or {}, {}, nil, 0
  local k, is_own = i - 1, true -- is what is before the token of its statement?
  while k > first and not known[k] do
    local word, begins, before = t[k], nil, k
    if word == "{" then
      begins, is_own = loop_head(t, k - 1), true
      before = begins or k
    elseif word == ")" or word == "}" or word == "]" then
      begins = is_own and loop_head(t, k) or nil
      before = t:match(k) or k
    end
    if word == ";" or word == "}" then
      is_own = false
      if not end_of then end_of, own = k, #list end
    end
    list[#list + 1] = begins and round_of(t, begins, t:match(begins))
    k = before - 1
  end
  local rest = k > first and known[k] or {}
  table.move(rest, 1, #rest, #list + 1, list)
  if end_of then known[end_of] = table.move(list, own + 1, #list, 1, {}) end
  passed[t] = known
  return list
end

--- The loops that a token is in, the innermost first.
---@param t userdata tokens
---@param i integer
---@param first integer where the function begins that it is in
---@return HostRound[]
function M.around(t, i, first)
  local list = all_around(t, i, first)
  return table.move(list, 1, math.min(#list, MOST_LOOPS), 1, {})
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
