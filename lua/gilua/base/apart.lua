--- apart: does several independent pieces of work; a failure of one does not keep the others from
--- being done.

--- Does all of them, in their order; the first failure is raised when the last one is through.
---@param works (fun(...))[]
---@param ... any for each of them
local function apart(works, ...)
  local first
  for i = 1, #works do
    local done, why = pcall(works[i], ...)
    if not done then first = first or { why } end
  end
  if first then error(first[1], 0) end
end

return apart
