-- scratch: files and problem folders of a test's own.

local tap = require "tap"

local M = {}

---@param path string
---@param text string
function M.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

--- A problem folder that goes when the case ends.
---@param source string of the kernel
---@param text string what its problem.lua returns
---@return string folder
function M.problem(source, text)
  local folder = tap.folder()
  M.write(folder .. "/kernel.cu", source)
  M.write(folder .. "/problem.lua", "return " .. text)
  return folder
end

--- The sentence that a function raises for a person; nil where it raises none, or a Lua error.
---@param f fun()
---@return string?
function M.sentence(f, ...)
  local ok, why = pcall(f, ...)
  if ok then return nil end
  if type(why) ~= "table" then return "a Lua error: " .. tostring(why) end
  return why.message
end

return M
