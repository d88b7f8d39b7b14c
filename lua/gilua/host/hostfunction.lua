-- hostfunction: functions of host code that only compute: `int divUp(int a, int b) { return (a + b
-- - 1) / b; }`. What they do is a list of steps: values that get a name, conditions, what is
-- returned. A function that does anything else is none of these (gilua.hostvalue computes them).

local code_of = require "gilua.host.code"

local M = {}

local MOST_STEPS = 24 -- of a function

---@class HostStep one of these
---@field name? string gets the value of text
---@field text? string an expression; without a name it is what is returned
---@field condition? string
---@field yes? HostStep[] where it holds
---@field no? HostStep[] where it does not

local add_all

-- Adds what a statement does to a list; false where it does more than compute.
local function add(list, code, s, left)
  local tree = s.tree
  left.steps = left.steps - 1
  if left.steps < 0 then return false end
  if s.kind == "block" then return add_all(list, code, s.body, left) end
  if s.kind == "if" and s.condition and not s.init then
    local step = { condition = code_of.text(code, s.condition), yes = {},
      no = s.otherwise and {} }
    list[#list + 1] = step
    return add(step.yes, code, s.body, left)
      and (not s.otherwise or add(step.no, code, s.otherwise, left))
  elseif s.kind == "return" and tree then
    list[#list + 1] = { text = code_of.text(code, tree) }
    return true
  elseif s.kind == "expression" and tree and tree.op == "=" and tree.a.kind == "name" then
    list[#list + 1] = { name = tree.a.text, text = code_of.text(code, tree.b) }
    return true
  elseif s.kind ~= "declaration" then return false end
  for _, d in ipairs(s.declared) do
    local value = code_of.value(code, d)
    if not value then return false end
    list[#list + 1] = { name = d.name, text = value }
  end
  return true
end

function add_all(list, code, statements, left)
  for _, s in ipairs(statements) do
    if not add(list, code, s, left) then return false end
  end
  return true
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
    local body, list = one.code.s:body(one.node), {}
    local computes = body and add(list, one.code, body, { steps = MOST_STEPS + 1 })
    one.steps = computes and returns(list) and list or false
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
