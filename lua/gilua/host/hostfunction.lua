-- hostfunction: functions of host code that only compute: `int divUp(int a, int b) { return (a + b
-- - 1) / b; }`. What they do is a list of steps: values that get a name, conditions, what is
-- returned. A function that does anything else is none of these (gilua.hostvalue computes them).

local M = {}

local MOST_STEPS = 24 -- of a function
local MOST_BEFORE = 5 -- words of a type and the name that gets a value

---@class HostStep one of these
---@field name? string gets the value of text
---@field text? string an expression; without a name it is what is returned
---@field condition? string
---@field yes? HostStep[] where it holds
---@field no? HostStep[] where it does not

local block

-- The step at a token, and the token behind it; nil where it is none.
local function step_at(t, i, last, left)
  if t[i] == "if" and t[i + 1] == "(" and t:match(i + 1) then
    local close = t:match(i + 1)
    local step = { condition = t:text(i + 2, close - 1) }
    local yes, behind = block(t, close + 1, last, left)
    step.yes = yes
    if yes and t[behind] == "else" then step.no, behind = block(t, behind + 1, last, left) end
    return yes and step, behind
  end
  local stop = t:find(i, ";")
  if not stop or stop > last then return nil end
  if t[i] == "return" then return { text = t:text(i + 1, stop - 1) }, stop + 1 end
  local k = i
  while t:kind(k) == "name" and k < i + MOST_BEFORE do k = k + 1 end
  if k == i or t[k] ~= "=" then return nil end
  return { name = t[k - 1], text = t:text(k + 1, stop - 1) }, stop + 1
end

-- The steps from a token to another; nil where something there is none.
local function steps_in(t, i, last, left)
  local list = {}
  while i <= last do
    left.steps = left.steps - 1
    local step, behind = step_at(t, i, last, left)
    if not step or left.steps < 0 then return nil end
    list[#list + 1], i = step, behind
  end
  return list
end

-- What stands behind a condition: a step, or several in braces; and the token behind.
function block(t, i, last, left)
  local close = t[i] == "{" and t:match(i)
  if close then return steps_in(t, i + 1, close - 1, left), close + 1 end
  local step, behind = step_at(t, i, last, left)
  return step and { step }, behind
end

-- Whether every way through steps returns something.
local function returns(steps)
  local last = steps[#steps]
  if not last then return false end
  if last.condition then return returns(last.yes) and last.no ~= nil and returns(last.no) end
  return last.name == nil
end

--- The steps of a function; nil where it does more than compute.
---@param one HostFunction
---@return HostStep[]?
function M.steps(one)
  if one.steps == nil then
    local list = steps_in(one.t, one.first + 1, one.last - 1, { steps = MOST_STEPS })
    one.steps = list and returns(list) and list or false
  end
  return one.steps or nil
end

--- The function of a name that only computes; nil where there is none, or several do.
---@param host HostCode
---@param name string
---@return HostFunction?
function M.of(host, name)
  local list = host.bodies[name]
  if not list or #list > 1 or host.definitions[name] then return nil end
  return M.steps(list[1]) and list[1] or nil
end

--- What steps return; nil where that cannot be known.
---@param steps HostStep[]
---@param given table<string, any> names that have a value in the function
---@param value fun(text: string, given: table<string, any>): number?
---@param truth fun(a: any): boolean?
---@return boolean returned whether anything was
---@return number?
function M.run(steps, given, value, truth)
  for _, step in ipairs(steps) do
    if step.condition then
      local holds = truth(value(step.condition, given))
      if holds == nil then return true, nil end
      local returned, result = M.run(holds and step.yes or step.no or {}, given, value, truth)
      if returned then return true, result end
    elseif step.name then
      given[step.name] = value(step.text, given) or false
    else
      return true, value(step.text, given)
    end
  end
  return false, nil
end

return M
