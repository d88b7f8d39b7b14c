-- textureguess: what is in a texture object that a kernel takes, and how it is read: from the
-- functions that read it (tex2D<float4>(…)) and the host's cudaTextureDesc. Its size is a guess:
-- whatever it is, no read is outside of it.

local csource = require "gilua.source.csource"
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

-- A fetch at a token, and the token behind its `(`; nil where there is none.
local function fetch_at(t, i)
  local d, kind = t[i]:match "^tex([123])D(%a*)$"
  if not d then return nil end
  local angle = t[i + 1] == "<" and csource.angle_end(t, i + 1)
  local open = angle and angle + 1 or i + 1
  if t[open] ~= "(" then return nil end
  local type = angle and t:text(i + 2, angle - 1) or nil
  return { d = tonumber(d), kind = kind, type = type }, open + 1
end

-- The brackets of a function's parameters and the first token of its body.
local function function_of(t, name)
  local i = t:find(1, name, "(")
  while i do
    local close = t:match(i + 1)
    if close and t[close + 1] == "{" then return i + 1, close + 1 end
    i = t:find(i + 1, name, "(")
  end
end

-- The name of a parameter that is given a name in a call, where the call is one.
local function passed_on(t, open, name)
  local close = t:match(open)
  for k, given in ipairs(close and csource.parts(t, open + 1, close - 1) or {}) do
    local head = given == name and function_of(t, t[open - 1])
    if head then
      local own <close> = csource.tokens(csource.parts(t, head + 1, t:match(head) - 1)[k] or "")
      return own[#own]
    end
  end
end

-- How a function fetches from its parameter of a name, or one that it gives it to.
local function fetch_of(t, kernel, name, depth)
  local _, brace = function_of(t, kernel)
  for i = brace or 1, brace and t:match(brace) or 0 do
    local fetch, at = nil, nil
    if t:kind(i) == "name" then fetch, at = fetch_at(t, i) end
    if fetch and t[at] == name then return fetch end
    local own = depth < MOST_CALLS and t[i] == "(" and t:kind(i - 1) == "name"
      and passed_on(t, i, name)
    local found = own and fetch_of(t, t[i - 1], own, depth + 1)
    if found then return found end
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
  local source <close> = csource.tokens(read.sliced.source)
  local fetch = fetch_of(source, read.kernel, p.name, 1)
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
