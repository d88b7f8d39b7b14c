--- runpath: absolute paths in a run's results, written relative to the run's folder:
--- "{run}/../small.cu". Results then name no home and no user, and stay valid when the run and the
--- problem are moved together. A relative path stays as typed. In a problem.lua that `gilua new`
--- writes, the source's path is relative to the problem's folder.

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

-- The words of an absolute path from a folder on.
local function from(path, dir)
  local to, start, same, words = parts_of(path), parts_of(dir), 0, {}
  while to[same + 1] and to[same + 1] == start[same + 1] do same = same + 1 end
  for i = 1, #start - same do words[i] = ".." end
  table.move(to, same + 1, #to, #words + 1, words)
  return table.concat(words, "/")
end

--- As results tell it.
---@param path string
---@param dir string the run's folder
---@return string
function M.told(path, dir)
  return path:sub(1, 1) == "/" and RUN .. from(path, dir) or path
end

local function is_same(one, other)
  local a, b = lfs.attributes(one), lfs.attributes(other)
  return a and b and a.dev == b.dev and a.ino == b.ino
end

--- Paths as a problem.lua tells them: from its folder on, unless a link on the way leads elsewhere.
---@param paths string[] absolute
---@param dir string the problem's folder
---@return string[]
function M.from_problem(paths, dir)
  local list = {}
  for i, path in ipairs(paths) do
    local text = from(path, dir)
    if text == "" then text = "." end
    list[i] = is_same(dir .. "/" .. text, path) and text or path
  end
  return list
end

local function each(list, dir)
  local paths = {}
  for i, path in ipairs(list) do
    local is_relative = type(path) == "string" and path:sub(1, 1) ~= "/"
    paths[i] = is_relative and "/" .. table.concat(parts_of(dir .. "/" .. path), "/") or path
  end
  return paths
end

local function copy(t)
  local own = setmetatable({}, getmetatable(t))
  for name, value in pairs(t) do own[name] = value end
  return own
end

--- A problem's table with the places that it tells as absolute paths.
---@param t table checked: include, made_from
---@param dir string the problem's folder
---@return table
function M.of_problem(t, dir)
  local made, own = t.made_from, copy(t)
  own.include = t.include and each(t.include, dir)
  if made then
    own.made_from = copy(made)
    own.made_from.path = each({ made.path }, dir)[1]
    own.made_from.paths = made.paths and each(made.paths, dir)
  end
  return own
end

--- What results mean by it. A relative path was typed where the run was begun.
---@param path string
---@param dir string the run's folder
---@param begun? string folder where the run was begun; a path that is not there is left as it is
---@return string
function M.meant(path, dir, begun)
  if path:sub(1, #RUN) ~= RUN then
    local there = begun and path:sub(1, 1) ~= "/" and begun .. "/" .. path
    return there and lfs.attributes(there) and there or path
  end
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
