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

-- Does a token stand in a call that asks a kernel for something?
local function is_asked(code, i)
  for _, call in ipairs(code.calls) do
    local name = call.first <= i and i <= call.last and code_of.called(code, call.f)
    if name and ASKS[name] then return true end
  end
end

-- The tokens of a kernel's name that are harmless: of its declarations and definitions, of launches
-- that are understood, of calls that ask for something, of variables of that name where those are
-- known.
local function harmless(code, kernel)
  local known, hidden = {}, {}
  for _, site in ipairs(launchsites.own(code)) do
    if site.kernel == kernel and site.grid then known[site.given or site.name] = true end
  end
  for _, d in ipairs(code_of.declarations(code)) do
    if d.name == kernel then
      known[d.token] = true
      hidden[#hidden + 1] = not d["function"] and d or nil
    end
  end
  return function(i)
    for _, d in ipairs(hidden) do
      if d.scope_first <= i and i <= d.scope_last then return true end
    end
    return known[i] or is_asked(code, i)
  end
end

local function read(code, kernel, base, found)
  local t, file, is_harmless = code.t, code.name, harmless(code, kernel)
  for i in csource.directives(t) do read(code_of.inside(code, i), kernel, t:line(i), found) end
  local i = t:find(1, kernel)
  while i do
    local first = statement_start(t, i)
    local declares = t:find(first, "__global__")
    declares = declares and declares < i
    local close = declares and t[i + 1] == "(" and t:match(i + 1)
    local is_prototype = close and file and t[close + 1] == ";"
    local is_member = t[i - 1] == "." or t[i - 1] == "->"
    local is_function = t[i + 1] == "(" -- of the host, by the same name: no launch has that form
    if is_prototype or not (declares or is_member or is_function or is_harmless(i)) then
      local text = t:text(first, math.min(i + 6, #t)):gsub("%s+", " ")
      local place = ("line %d%s"):format(base or t:line(i), file and " of " .. file or "")
      found[#found + 1] = { place = place, text = text:sub(1, MOST_SHOWN),
        prototype = is_prototype or nil }
    end
    i = t:find(i + 1, kernel)
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
