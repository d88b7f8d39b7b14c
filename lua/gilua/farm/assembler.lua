--- assembler: selects the compiler options that the assembler needs, which turns PTX into machine
--- code.

local M = {}

-- What follows these goes to ptxas alone.
local TOLD = { "^%-%-ptxas%-options=(.*)", "^%-Xptxas=(.*)", "^%-%-Xptxas=(.*)" }

local function told(option)
  for _, pattern in ipairs(TOLD) do
    local word = option:match(pattern)
    if word then return word end
  end
  return nil
end

--- The options that decide of PTX.
---@param options string[]
---@return string[]
function M.without(options)
  local list = {}
  for _, option in ipairs(options) do
    if not told(option) then list[#list + 1] = option end
  end
  return list
end

--- The options that decide of what becomes of PTX, as nvJitLink takes them.
---@param options? string[]
---@return string[]
function M.options(options)
  local list = {}
  for _, option in ipairs(options or {}) do
    local word, most = told(option), option:match "^%-%-?maxrregcount=(.*)"
    if word then list[#list + 1] = "-Xptxas=" .. word end
    if most then list[#list + 1] = "-maxrregcount=" .. most end
  end
  return list
end

return M
