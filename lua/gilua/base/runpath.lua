--- runpath: absolute paths as a run's results tell them: "{run}/../small.cu" begins at the run's
--- folder. So results name no home and no user, and hold where run and problem are moved together.
--- What is no absolute path stays as it is, both ways.

local lfs = require "lfs"

local M = {}

local RUN = "{run}/"

local function parts_of(path)
  if path:sub(1, 1) ~= "/" then path = (lfs.currentdir() or "") .. "/" .. path end
  local parts = {}
  for part in path:gmatch "[^/]+" do
    if part == ".." then parts[#parts] = nil
    elseif part ~= "." then parts[#parts + 1] = part end
  end
  return parts
end

--- As results tell it.
---@param path string
---@param dir string the run's folder
---@return string
function M.told(path, dir)
  if path:sub(1, 1) ~= "/" then return path end
  local to, from, same, words = parts_of(path), parts_of(dir), 0, {}
  while to[same + 1] and to[same + 1] == from[same + 1] do same = same + 1 end
  for i = 1, #from - same do words[i] = ".." end
  table.move(to, same + 1, #to, #words + 1, words)
  return RUN .. table.concat(words, "/")
end

--- What results mean by it.
---@param path string
---@param dir string the run's folder
---@return string
function M.meant(path, dir)
  if path:sub(1, #RUN) ~= RUN then return path end
  return "/" .. table.concat(parts_of(dir .. "/" .. path:sub(#RUN + 1)), "/")
end

--- The same of a compiler's option that names a folder, -I.
---@param f fun(path: string, dir: string): string M.told or M.meant
---@param options string[]
---@param dir string
---@return string[]
function M.options(f, options, dir)
  local list = {}
  for i, option in ipairs(options) do
    local folder = option:match "^%-I(.+)$"
    list[i] = folder and "-I" .. f(folder, dir) or option
  end
  return list
end

return M
