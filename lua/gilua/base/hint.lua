--- hint: suggests a name when Lua does not find one (`attempt to call a nil value (method
-- 'mutnat')`). It compares the name with the functions, methods and fields in gilua's own files. It
-- works only after an error, so it covers every object and costs none of them time.

local nearest = require "gilua.base.nearest"

local M = {}

local OURS = debug.getinfo(1, "S").source:match "^@(.*)base/hint%.lua$"

-- What defines a name for others, at the beginning of a line: methods, and what follows a dot.
local DEFINITIONS = {
  method = { "\nfunction [%w_]+:(%a[%w_]*)%(" },
  field = { "\nfunction [%w_]+%.(%a[%w_]*)%(", "\n%-%-%-@field (%a[%w_]*)" },
}

local function add_defined(found, path)
  local file <close> = io.open(path, "rb")
  local text = "\n" .. (file and file:read "a" or "")
  for kind, patterns in pairs(DEFINITIONS) do
    for _, pattern in ipairs(patterns) do
      for name in text:gmatch(pattern) do found[kind][name] = true end
    end
  end
end

local function add_files(found, folder)
  local lfs = require "lfs" -- here: a plain Lua may have none
  for name in lfs.dir(folder) do
    local path = folder .. name
    if name:find "%.lua$" then
      add_defined(found, path)
    elseif not name:find "^%." and lfs.attributes(path, "mode") == "directory" then
      add_files(found, path .. "/")
    end
  end
end

local function all_names()
  local found, core, gi = { method = {}, field = {} }, package.loaded["gilua.core"],
    package.loaded.gilua
  for name in pairs(core and core.docs or {}) do
    local sign, last = name:match "([.:]?)([^.:]*)$"
    found[sign == ":" and "method" or "field"][last] = true
  end
  for name in pairs(gi and gi.modules or {}) do found.field[name] = true end
  add_files(found, OURS)
  return found
end

local names

local function known()
  if not names then
    local ok, found = pcall(all_names)
    names = ok and found or { method = {}, field = {} }
  end
  return names
end

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function meant_by(name, kind)
  local sets = known()
  if sets.method[name] or sets.field[name] then return nil end
  return nearest(name, sorted(sets[kind]))
    or nearest(name, sorted(sets[kind == "method" and "field" or "method"]))
end

local MISSED = "a nil value %((%a+) '(%a[%w_]*)'%)"

--- A message, with what was meant where a name in it is a misspelt one of gilua's.
---@param message string
---@return string
function M.add(message)
  local kind, name = message:match(MISSED)
  if kind ~= "method" and kind ~= "field" or message:find("did you mean", 1, true) then
    return message
  end
  local meant = meant_by(name, kind)
  if not meant then return message end
  return (message:gsub(MISSED, ("%%0; did you mean '%s'?"):format(meant), 1))
end

return M
