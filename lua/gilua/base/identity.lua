--- identity: a short key of this gilua and of the files of a problem. Two answers that depend on
--- them can be compared when the keys are equal.

local core = require "gilua.core"
local fingerprint = require "gilua.base.fingerprint"

local M = {}

--- gilua itself: the program, and the library that it runs.
---@return string
function M.program()
  local parts = { fingerprint.of(core.system.program()) }
  for _, file in ipairs(fingerprint.files(core.home .. "/lua/gilua", function(name, mode)
    return mode == "file" and not name:find "%.lua$"
  end)) do parts[#parts + 1] = file.fingerprint end
  return core.system.hash128(table.concat(parts, "\n"))
end

-- What is built of a problem's files, or was found out of them.
local function is_made(name, mode)
  return mode == "file" and name:find "%.so$" or mode == "directory" and ("/" .. name):find "/out$"
end

--- Whatever lies in a problem's folder, but for what was made of it.
---@param dir string
---@return { name: string, path: string, fingerprint: string }[]
function M.files(dir)
  return fingerprint.files(dir, is_made)
end

--- All of them in one.
---@param dir string
---@param except? table<string, boolean> names in the folder of files that do not count
---@return string
function M.problem(dir, except)
  local lines = {}
  for _, file in ipairs(M.files(dir)) do
    if not (except and except[file.name]) then
      lines[#lines + 1] = file.name .. "\0" .. file.fingerprint
    end
  end
  return core.system.hash128(table.concat(lines, "\0"))
end

return M
