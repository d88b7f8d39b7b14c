-- textureguess: what is in a texture object that a kernel takes, and how it is read: from the
-- functions that read it (tex2D<float4>(…)) and the host's cudaTextureDesc. Its size is a guess:
-- whatever it is, no read is outside of it.

local code_of = require "gilua.host.code"
local fail = require "gilua.base.fail"
local signature = require "gilua.new.signature"

local M = {}

local NAMES = { uchar = "unsigned char", uint8_t = "unsigned char", int8_t = "signed char",
  ushort = "unsigned short", uint16_t = "unsigned short", int16_t = "short",
  unsigned = "unsigned int", uint = "unsigned int", uint32_t = "unsigned int", int32_t = "int" }
local SIDES = { { "size_x" }, { 256, 256 }, { 32, 32, 32 } } -- with fewer dimensions of threads
local LAYERS = 4
local MOST_TYPES = 8 -- that stand for each other
local MOST_CALLS = 6 -- of functions in functions

--- Is a parameter a texture object?
---@param p table of gilua.signature
---@return boolean
function M.is_texture(p)
  return not p.pointer and (p.text:find("cudaTextureObject_t", 1, true)
    or p.text:find "%f[%w]CUtexObject%f[%W]") ~= nil
end

---@class TextureFetch
---@field d integer dimensions
---@field kind string what follows them in the function's name: "", "fetch", "Layered", "Lod" …
---@field type? string

-- The names that a parameter has in a function: those that are declared as it, too.
local function names_of(code, one, name)
  local names = { [name] = true }
  for _, d in ipairs(code_of.declarations(code)) do
    local is_inside = d.token > one.open and d.token < one.close
    if is_inside and d.init and names[d.init.text or ""] then names[d.name] = true end
  end
  return names
end

local fetch_of

-- How a call fetches from a parameter that has some names, or what it is given to does.
local function fetched(code, call, names, depth)
  local name, template = code_of.called(code, call.f)
  local d, kind = (name or ""):match "^tex([123])D(%a*)$"
  for k, arg in ipairs(code_of.texts(code, call.args)) do
    local is_texture = names[arg] -- what it is cast to is no other
    if d and k == 1 and is_texture then
      return { d = tonumber(d), kind = kind, type = template[1] }
    end
    local found = name and is_texture and not d and fetch_of(code, name, k, depth + 1)
    if found then return found end
  end
end

-- How a function fetches from its parameter: of a name, or of a place among them.
function fetch_of(code, kernel, param, depth)
  for _, one in ipairs(depth <= MOST_CALLS and code.s:functions() or {}) do
    local name = one.params[param] and one.params[param].name or param
    if one.name == kernel and type(name) == "string" then
      local names = names_of(code, one, name)
      for _, call in ipairs(code.calls) do
        local is_inside = call.first > one.open and call.last < one.close
        local found = is_inside and fetched(code, call, names, depth)
        if found then return found end
      end
    end
  end
end

-- Element type and channels of what a fetch gives.
local function element_of(host, text)
  for _ = 1, MOST_TYPES do
    local type, channels = signature.named(text)
    if type then return type, channels end
    text = NAMES[text] or host.types[text] or host.definitions[text]
    if not text then return nil end
  end
end

local function size_of(shape, d)
  if #shape.size < d then return SIDES[d] end
  local list = {}
  for k = 1, d do list[k] = "size_" .. ("xyz"):sub(k, k) end
  return list
end

-- The host's cudaTextureDesc, as far as one can be read.
local function described(texture, host, type)
  local said = host.definitions
  local is_float = type:find "^f" ~= nil
  if said.filterMode == "cudaFilterModeLinear" and is_float then texture.filter = "linear" end
  if said.normalizedCoords == "1" or said.normalizedCoords == "true" then
    texture.coords = "normalized"
  end
  if said.readMode == "cudaReadModeNormalizedFloat" and is_float then
    texture.read = "normalized"
    return "u8"
  end
  return type
end

--- Of a texture argument: its element type, its count as an expression, and `texture` of its row.
---@param read Reading
---@param shape LaunchShape
---@param p table of gilua.signature
---@return string type
---@return string count
---@return table texture
function M.of(read, shape, p)
  local fetch = fetch_of(code_of.of(read.sliced.source), read.kernel, p.name, 1)
  local type, channels = element_of(read.host, fetch and fetch.type or "float")
  if not fetch or not type or channels == 3 then
    fail("kernel %s takes a texture (%s), and how it is read cannot be told: write its row of "
      .. "problem.lua by hand (docs/own-kernels.md)", read.kernel, p.name)
  end
  local texture = { size = size_of(shape, fetch.d) }
  local count = table.concat(texture.size, " * ")
  if channels > 1 then texture.channels, count = channels, count .. " * " .. channels end
  if fetch.kind:find "^Layered" then texture.layers, count = LAYERS, count .. " * " .. LAYERS end
  if fetch.kind == "fetch" then texture.kind, texture.size = "linear", nil
  else type = described(texture, read.host, type) end
  return type, count, texture
end

return M
