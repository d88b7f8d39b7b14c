-- lists: questions about all elements of a list.
--
--   lists.any(loops, function(loop) return loop.barrier end)      does one of them wait?
--   lists.none(all, function(access) return access.write end)     is each of them no store?

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

return M
