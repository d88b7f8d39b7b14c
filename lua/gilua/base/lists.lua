-- lists: questions about all elements of a list, and lists made of others.
--
--   lists.any(loops, function(loop) return loop.barrier end)      does one of them wait?
--   lists.none(all, function(access) return access.write end)     is each of them no store?
--   lists.filter(names, function(name) return is_there[name] end)  those for which it holds
--   lists.map(loops, function(loop) return loop.line end)          what becomes of each

local M = {}

--- Does a question hold for an element of a list?
---@param list any[]
---@param holds fun(one: any): any
---@return boolean
function M.any(list, holds)
  for _, one in ipairs(list) do
    if holds(one) then return true end
  end
  return false
end

--- Does it hold for no element?
---@param list any[]
---@param holds fun(one: any): any
---@return boolean
function M.none(list, holds) return not M.any(list, holds) end

--- The elements for which it holds, in their order.
---@param list any[]
---@param holds fun(one: any): any
---@return any[]
function M.filter(list, holds)
  local kept = {}
  for _, one in ipairs(list) do
    if holds(one) then kept[#kept + 1] = one end
  end
  return kept
end

--- What becomes of each element.
---@param list any[]
---@param become fun(one: any): any
---@return any[]
function M.map(list, become)
  local new = {}
  for i, one in ipairs(list) do new[i] = become(one) end
  return new
end

return M
