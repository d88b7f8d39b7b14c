-- shrink: takes runs of pieces out of a text, long ones first, as long as it keeps what matters.

local M = {}

local function without(pieces, from, to)
  return table.concat(pieces, "", 1, from - 1) .. table.concat(pieces, "", to + 1)
end

local function shrunk(text, pattern, keeps)
  local pieces = {}
  for piece in text:gmatch(pattern) do pieces[#pieces + 1] = piece end
  assert(table.concat(pieces) == text, "pieces are left out")
  local run = #pieces
  while run >= 1 do
    local at = 1
    while at <= #pieces do
      if keeps(without(pieces, at, math.min(at + run - 1, #pieces))) then
        table.move(pieces, at + run, #pieces + run, at)
      else
        at = at + run
      end
    end
    run = run // 2
  end
  return table.concat(pieces)
end

--- What is left of a text.
---@param text string
---@param patterns string[] of pieces, the long ones first; pieces are all of the text
---@param keeps fun(less: string): boolean
---@return string
function M.text(text, patterns, keeps)
  for _, pattern in ipairs(patterns) do text = shrunk(text, pattern, keeps) end
  return text
end

return M
