-- base64: bytes as text (RFC 4648, section 4), for the data: addresses of pages.

local M = {}

local LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function letter(n) return LETTERS:sub(n + 1, n + 1) end

-- One to three bytes as four letters, what is missing as "=".
local function four(bytes)
  local a, b, c = bytes:byte(1, 3)
  local n = a << 16 | (b or 0) << 8 | (c or 0)
  return letter(n >> 18) .. letter(n >> 12 & 63) .. (b and letter(n >> 6 & 63) or "=")
    .. (c and letter(n & 63) or "=")
end

---@param bytes string
---@return string text
function M.encode(bytes)
  return (bytes:gsub("..?.?", four))
end

return M
