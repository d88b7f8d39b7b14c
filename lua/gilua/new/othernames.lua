-- othernames: where the host's code names a kernel otherwise than in a declaration or a launch that
-- is understood (gilua.launchsites). By a pointer, a template's argument or a macro it may be
-- launched from there, with a grid and arguments that no reader of launches sees.

local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local launchsites = require "gilua.host.launchsites"

local M = {}

local MOST_SHOWN = 60 -- characters of a statement
-- Calls of CUDA that take a kernel and do not launch it.
local ASKS = csource.set("cudaFuncGetAttributes cudaFuncSetAttribute cudaFuncSetCacheConfig "
  .. "cudaFuncSetSharedMemConfig cudaOccupancyMaxActiveBlocksPerMultiprocessor "
  .. "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cudaOccupancyMaxPotentialBlockSize "
  .. "cudaOccupancyMaxPotentialBlockSizeVariableSMem cudaOccupancyAvailableDynamicSMemPerBlock")

-- The first token of the statement that a token is in.
local function statement_start(t, i)
  while i > 1 and not (t[i - 1] == ";" or t[i - 1] == "{" or t[i - 1] == "}"
    or t:kind(i - 1) == "directive") do
    i = i - 1
  end
  return i
end

-- The call whose arguments hold a token: the name before the ( around it.
local function call_around(t, i, first)
  local depth = 0
  for k = i - 1, first, -1 do
    if t[k] == ")" then depth = depth + 1
    elseif t[k] == "(" and depth == 0 and t:kind(k - 1) == "name" then return t[k - 1]
    elseif t[k] == "(" then depth = math.max(0, depth - 1) end
  end
end

-- Is a name at a token that of a declaration or definition: `__global__ void name(`?
local function is_declared(t, i, first)
  local open = t[i + 1] == "(" and i + 1
  if t[i + 1] == "<" then open = (csource.angle_end(t, i + 1) or i) + 1 end
  for k = i - 1, first, -1 do
    if t[k] == "__global__" then return open and t[open] == "(" and open end
  end
end

local function is_launch(t, i)
  local behind = t[i + 1] == "<" and csource.angle_end(t, i + 1) or i
  return t[behind + 1] == "<<<"
end

-- The tokens that name what is launched by a call.
local function called(code, kernel)
  local names = {}
  for _, site in ipairs(launchsites.own(code)) do
    if not site.open and site.kernel == kernel and site.grid then names[site.name] = true end
  end
  return names
end

local function read(code, kernel, base, found)
  local t, file, is_called = code.t, code.name, called(code, kernel)
  for i = 1, #t do
    if t:kind(i) == "directive" then
      read(code_of.inside(code, i), kernel, t:line(i), found)
    elseif t[i] == kernel and t:kind(i) == "name" and t[i - 1] ~= "." and t[i - 1] ~= "->" then
      local first = statement_start(t, i)
      local open = is_declared(t, i, first)
      local close = open and t:match(open)
      local is_prototype = close and file and t[close + 1] == ";"
      local asks = ASKS[call_around(t, i, first) or ""]
      if is_prototype or not open and not asks and not is_called[i] and not is_launch(t, i) then
        local place = ("line %d%s"):format(base or t:line(i), file and " of " .. file or "")
        local text = t:text(first, math.min(i + 6, #t)):gsub("%s+", " ")
        found[#found + 1] = { place = place, text = text:sub(1, MOST_SHOWN),
          prototype = is_prototype or nil }
      end
    end
  end
end

---@class OtherName
---@field place string "line 12", or "line 12 of name.h"
---@field text string what stands there
---@field prototype? boolean a header's: other files may launch the kernel

--- Where a kernel is named otherwise.
---@param host HostCode
---@param kernel string
---@return OtherName[]
function M.of(host, kernel)
  local found = {}
  for _, file in ipairs(host.files) do read(file, kernel, nil, found) end
  return found
end

return M
