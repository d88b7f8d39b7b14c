-- change: changed copies of texts, for the targets in Lua; driver.c has the same for those in C.
-- What comes depends on the rng alone.

local M = {}

local BYTES = { "\0", "\1", "\127", "\128", "\255", " ", "\n", "\"", "(", ")", "{", "}", "[", "]",
  "-", ",", ":", "\\", "0", "e" }
local DIGITS = { "0", "-1", "2147483648", "4294967295", "1e999", "nan", "0x", "", "0.0001",
  "9223372036854775807", "999999999999999999999", "1000000000" }
local NUMBERS = { "\0\0\0\0", "\255\255\255\255", "\255\255\255\127", "\0\0\0\128", "\0\1\0\0",
  "\255\255\255\255\255\255\255\127", "\0\0\0\0\0\0\0\128", "\0\0", "\255\255", "\1\0\0\0" }

-- The bytes from `from` to `to` become others.
local function put(text, from, to, bytes)
  return text:sub(1, from - 1) .. bytes .. text:sub(to + 1)
end

local CHANGES = {}

function CHANGES.bit(rng, text)
  local at = rng:int(1, #text)
  return put(text, at, at, string.char(text:byte(at) ~ 1 << rng:int(0, 7)))
end

function CHANGES.byte(rng, text)
  local at = rng:int(1, #text)
  return put(text, at, at, rng:pick(BYTES))
end

function CHANGES.number(rng, text)
  local at, bytes = rng:int(1, #text), rng:pick(NUMBERS)
  return put(text, at, at + #bytes - 1, bytes)
end

function CHANGES.digits(rng, text)
  local from, to = text:find("%d+", rng:int(1, #text))
  return from and put(text, from, to, rng:pick(DIGITS)) or text
end

function CHANGES.splice(rng, text, others)
  local other = rng:int(0, 1) == 0 and text or rng:pick(others)
  local most = rng:int(1, 200)
  local from, at = rng:int(1, #other + 1), rng:int(1, #text + 1)
  local gone = rng:int(0, 1) * rng:int(0, most)
  return put(text, at, at + gone - 1, other:sub(from, from + rng:int(0, most)))
end

function CHANGES.cut(rng, text)
  local from = rng:int(1, #text)
  return put(text, from, rng:int(1, 8) == 1 and #text or from + rng:int(0, 60), "")
end

function CHANGES.again(rng, text)
  local at = rng:int(1, #text)
  return put(text, at, at - 1, text:sub(at, at + rng:int(0, 3)):rep(rng:int(1, 400)))
end

local KINDS = { "bit", "bit", "byte", "byte", "number", "digits", "splice", "splice", "cut",
  "again" }

--- A changed copy of one of some texts.
---@param rng table
---@param texts string[]
---@return string
function M.one_of(rng, texts)
  local text = rng:pick(texts)
  for _ = 1, rng:int(1, rng:int(0, 1) == 0 and 3 or 10) do
    if #text > 0 then text = CHANGES[rng:pick(KINDS)](rng, text, texts) end
  end
  return text
end

return M
