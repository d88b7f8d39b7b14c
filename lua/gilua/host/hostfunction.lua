-- hostfunction: functions of host code that only compute: `int divUp(int a, int b) { return (a + b
-- - 1) / b; }`. It has values that get a name, conditions and what is returned, and does nothing
-- else. gilua.hostvalue computes its value.

local M = {}

local MOST_STATEMENTS = 24 -- of a function

-- What a declaration begins with, as a tree; nil where it begins with nothing, or with several.
local function begun(d)
  local init = d.init
  if init and init.kind == "list" then return #init.items == 1 and init.items[1] or nil end
  return init
end

-- Does a statement only compute? left: how many there may be.
local function computes(s, left)
  local tree = s.tree
  left.n = left.n - 1
  if left.n < 0 then return false end
  for _, inner in ipairs(s.kind == "block" and s.body or {}) do
    if not computes(inner, left) then return false end
  end
  for _, d in ipairs(s.declared or {}) do
    if not begun(d) then return false end
  end
  if s.kind == "if" then
    return s.condition and not s.init and computes(s.body, left)
      and (not s.otherwise or computes(s.otherwise, left))
  end
  return s.kind == "block" or s.kind == "declaration" or s.kind == "return" and tree ~= nil
    or s.kind == "expression" and tree ~= nil and tree.op == "=" and tree.a.kind == "name"
end

-- Does every way through a statement return something?
local function returns(s)
  if not s or s.kind == "return" then return s ~= nil end
  if s.kind == "block" then return returns(s.body[#s.body]) end
  return s.kind == "if" and returns(s.body) and returns(s.otherwise)
end

--- Returns the function of a name that only computes, with its `statement`; nil if there is none,
--- or several.
---@param name string
---@return HostFunction?
function M.of(host, name)
  local list = host.bodies[name]
  if not list or #list > 1 or host.definitions[name] then return nil end
  local one = list[1]
  if one.statement == nil then
    local s = one.code.s:body(one.node)
    one.statement = s and returns(s) and computes(s, { n = MOST_STATEMENTS + 1 }) and s or false
  end
  return one.statement and one or nil
end

--- What a statement returns; nil where that cannot be known.
---@param s table
---@param given table<string, any> names that have a value in the function
---@param value fun(tree: table): any
---@param truth fun(a: any): boolean?
---@return boolean returned whether anything was
---@return any
function M.run(s, given, value, truth)
  local list = s.kind == "block" and s.body or {}
  if s.kind == "return" then return true, value(s.tree) end
  if s.kind == "expression" then given[s.tree.a.text] = value(s.tree.b) or false end
  for _, d in ipairs(s.declared or {}) do given[d.name] = value(begun(d)) or false end
  if s.kind == "if" then
    local holds = truth(value(s.condition))
    if holds == nil then return true, nil end
    list = { holds and s.body or s.otherwise }
  end
  for _, inner in ipairs(list) do
    local returned, result = M.run(inner, given, value, truth)
    if returned then return true, result end
  end
  return false, nil
end

return M
