--- gilua: genetic improvement of CUDA kernels. `local gi = require "gilua"`.
--
-- The C rooms (gilua.core) appear under short names; every other field is the module of that name
-- in lua/gilua, loaded when it is first used: gi.evolve is require "gilua.evolve".

local core = require "gilua.core"

---@class gilua
local gi = {
  home = core.home, -- the folder that holds lua/, kernels/ and data/
  options = core.options, -- what was given before the script: device seed out jobs quiet
  version = core.system.version(),
  grammar = core.grammar,
  nifti = core.nifti,
  image = core.image,
  library = core.library.open,
  rng = core.rng.new,
}

--- A table of functions that can itself be called.
local function callable(functions, call)
  return setmetatable(functions, { __call = function(_, ...) return call(...) end })
end

gi.array = callable({
  from = core.array.from,
  frombytes = core.array.frombytes,
  compare = core.array.compare,
}, core.array.new)

gi.compile = callable({
  batch = core.compile.batch,
  info = core.compile.info,
}, core.compile.compile)

--- Opens a device: "emu", the virtual GPU.
---@param name? string default "emu"
---@param options? { model: string|table } what emu stands for: a file of lua/gilua/gpu or a table
---@return userdata? device
---@return string? message
---@return string? code
function gi.device(name, options)
  local model = options and options.model or "h200"
  if type(model) == "string" then
    local found, table_or_message = pcall(require, "gilua.gpu." .. model)
    if not found then
      error(("no GPU model '%s' in lua/gilua/gpu: %s"):format(model, table_or_message), 2)
    end
    model = table_or_message
  end
  return core.device.open(name or "emu", model)
end

--- Raises a sentence for a person: it is printed without a traceback, and the exit code is 1.
---@param format string
function gi.fail(format, ...)
  local message = select("#", ...) > 0 and format:format(...) or format
  error(setmetatable({ message = message }, { __tostring = function(e) return e.message end }), 0)
end

--- Prints usage and one sentence for a function ("array.compare"), or the list of all of them.
---@param name? string
function gi.help(name)
  local names = {}
  for known, row in pairs(core.docs) do
    if name == nil or known == name or known:match("[.:](.*)$") == name then
      names[#names + 1] = known
      if name then print(row.usage .. "\n  " .. row.doc) end
    end
  end
  table.sort(names)
  if name == nil then print(table.concat(names, "\n")) end
  if #names == 0 then print(("nothing is called '%s'; gi.help() lists the names"):format(name)) end
end

return setmetatable(gi, {
  __index = function(self, name)
    local module = "gilua." .. tostring(name)
    if type(name) ~= "string" or not package.searchpath(module, package.path) then return nil end
    local value = require(module)
    rawset(self, name, value)
    return value
  end,
})
