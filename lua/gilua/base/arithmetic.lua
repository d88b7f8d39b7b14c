-- arithmetic: C's numbers and operators. An operator returns nil when an operand is not a number.
-- gilua.host.hostvalue (host code) and gilua.problem.expression (problem tables) compute with it.

local M = {}

---@return boolean
function M.whole(a, b)
  return math.type(a) == "integer" and (b == nil or math.type(b) == "integer")
end

--- A number without what is behind its point, as C makes a whole one of it: towards zero. Nil where
--- no integer holds it.
---@param x number
---@return integer?
function M.truncated(x)
  return math.tointeger(x) or math.tointeger((x < 0 and math.ceil or math.floor)(x))
end

--- a / b of whole numbers, and what is left, as in C: towards zero, where Lua goes down. Nil where
--- b is 0.
---@param a integer
---@param b integer
---@return integer? quotient
---@return integer? remainder
function M.divided(a, b)
  if b == 0 then return nil end
  local rest = math.fmod(a, b)
  return (a - rest) // b, rest
end

--- An operator of numbers: nil where an operand is none.
---@param apply fun(a: number, b: number): any
---@return fun(a: any, b: any): any
function M.of_numbers(apply)
  return function(a, b)
    if math.type(a) and math.type(b) then return apply(a, b) end
  end
end

--- An operator of whole numbers: nil where an operand is none.
---@param apply fun(a: integer, b: integer): any
---@return fun(a: any, b: any): any
function M.of_whole(apply)
  return function(a, b)
    if M.whole(a) and M.whole(b) then return apply(a, b) end
  end
end

return M
