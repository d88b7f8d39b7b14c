--- Lua values as bytes, for messages between the host and its workers: nil, booleans, numbers,
-- strings and tables of them. decode(encode(v)) is v; equal values have equal bytes, so that the
-- bytes can serve as a key.

local M = {}

--- The keys of a table in an order of their own: numbers first, then by text.
local function sorted_keys(t)
  local keys = {}
  for k in pairs(t) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b)
    local ta, tb = type(a), type(b)
    if ta ~= tb then return ta < tb end
    if ta == "boolean" then return not a and b end
    return a < b
  end)
  return keys
end

local function put(out, v)
  local t = math.type(v) or type(v)
  if t == "nil" then
    out[#out + 1] = "n"
  elseif t == "boolean" then
    out[#out + 1] = v and "t" or "f"
  elseif t == "integer" then
    out[#out + 1] = string.pack("<c1i8", "i", v)
  elseif t == "float" then
    out[#out + 1] = string.pack("<c1d", "d", v)
  elseif t == "string" then
    out[#out + 1] = string.pack("<c1s8", "s", v)
  elseif t == "table" then
    out[#out + 1] = "{"
    for _, k in ipairs(sorted_keys(v)) do
      put(out, k)
      put(out, v[k])
    end
    out[#out + 1] = "}"
  else
    error("a " .. t .. " cannot be sent to a worker", 0)
  end
end

---@return string
function M.encode(v)
  local out = {}
  put(out, v)
  return table.concat(out)
end

local function get(bytes, at)
  local kind = bytes:sub(at, at)
  at = at + 1
  if kind == "n" then return nil, at end
  if kind == "t" or kind == "f" then return kind == "t", at end
  if kind == "i" then return string.unpack("<i8", bytes, at) end
  if kind == "d" then return string.unpack("<d", bytes, at) end
  if kind == "s" then return string.unpack("<s8", bytes, at) end
  if kind ~= "{" then error("a broken message", 0) end
  local t = {}
  while bytes:sub(at, at) ~= "}" do
    local k, v
    k, at = get(bytes, at)
    v, at = get(bytes, at)
    t[k] = v
  end
  return t, at + 1
end

---@param bytes string
function M.decode(bytes)
  return (get(bytes, 1))
end

return M
