-- world: all that results depend on besides genome and case, as an archive keeps it (JSON), and the
-- differences of two worlds in words.

local json = require "gilua.base.json"
local settings = require "gilua.base.settings"

local M = {}

-- Fields that say nothing to people but that they differ.
local WORDS = {
  program = "gilua is another build", flush_l2 = "the L2 cache is emptied where it was not, or not",
  energy = "energy is measured where it was not, or not",
}

local TITLES = { gilua = "gilua", nvrtc = "NVRTC", llvm = "LLVM", device = "the device",
  target = "the target", driver = "the driver", clock = "the clock", problem = "the problem" }

local function decoded(description)
  local world = json.decode(description)
  return type(world) == "table" and world or {}
end

local function all_keys(a, b)
  local both = {}
  for key in pairs(a) do both[key] = true end
  for key in pairs(b) do both[key] = true end
  return settings.keys(both)
end

local function of_files(list, before, now)
  for _, name in ipairs(all_keys(before, now)) do
    if before[name] ~= now[name] then
      local how = before[name] == nil and "is new" or now[name] == nil and "is gone"
        or "has changed"
      list[#list + 1] = ("%s %s"):format(name, how)
    end
  end
end

local function shown(value)
  return value == nil and "none" or tostring(value)
end

--- How a world differs from an earlier one: a clause for each file and field, files first.
---@param before string description
---@param now string
---@return string[]
function M.differences(before, now)
  local a, b, list = decoded(before), decoded(now), {}
  of_files(list, type(a.files) == "table" and a.files or {},
    type(b.files) == "table" and b.files or {})
  for _, name in ipairs(all_keys(a, b)) do
    if name ~= "files" and a[name] ~= b[name] then
      list[#list + 1] = WORDS[name] or ("%s is %s and was %s"):format(TITLES[name] or name,
        shown(b[name]), shown(a[name]))
    end
  end
  return list
end

local MOST_NAMED = 3

--- The same as words of a sentence: the first few, and how many there are.
---@param before string
---@param now string
---@return string?
function M.difference(before, now)
  local list = M.differences(before, now)
  if #list == 0 then return nil end
  local more = #list - MOST_NAMED
  local text = table.concat(list, ", ", 1, math.min(#list, MOST_NAMED))
  return more > 0 and ("%s and %d more"):format(text, more) or text
end

return M
