--- wire: Lua values as bytes, for messages between the host and its workers: nil, booleans,
-- numbers, strings and tables of them (without metatables). decode(encode(v)) is v. Equal values
-- have equal bytes, so the bytes can serve as a key. Arrays travel beside the bytes
-- (core.array.share), which hold their places in a list. src/bind/wire.c does the work.

local core = require "gilua.core"

local M = {}

---@param value any
---@param arrays? table arrays met are appended to it, each once; without it they are refused
---@return string
function M.encode(value, arrays)
  return core.wire.encode(value, arrays)
end

--- Raises "a broken message" for bytes that encode did not write.
---@param bytes string
---@param arrays? table what encode filled
---@return any
function M.decode(bytes, arrays)
  return core.wire.decode(bytes, arrays)
end

return M
