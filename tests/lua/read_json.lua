-- read_json: a strict reader of JSON for the tests. Takes the text, gives the value (null: the
-- string "null" in angle brackets, so that it can be told from a missing key); raises where the
-- text is not JSON.

local NULL = "<null>"
local UNESCAPE = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r",
  t = "\t" }
local WORDS = { ["true"] = true, ["false"] = false, null = NULL }

local value_at

local function skip(text, i)
  return text:find("[^ \n\r\t]", i) or #text + 1
end

local function fail(text, i)
  error(("not JSON at byte %d: %s"):format(i, text:sub(i, i + 20)), 0)
end

local function string_at(text, i)
  local parts = {}
  i = i + 1
  while true do
    local plain, stop = text:match('^([^%c"\\]*)()', i)
    parts[#parts + 1] = plain
    local char = text:sub(stop, stop)
    if char == '"' then return table.concat(parts), stop + 1 end
    if char ~= "\\" then fail(text, stop) end
    local hex = text:match("^u(%x%x%x%x)", stop + 1)
    local escape = UNESCAPE[text:sub(stop + 1, stop + 1)]
    if not hex and not escape then fail(text, stop) end
    parts[#parts + 1] = hex and utf8.char(tonumber(hex, 16)) or escape
    i = stop + (hex and 6 or 2)
  end
end

-- The members of an array or object, whose closing bracket is `close`.
local function members(text, i, close, one)
  i = skip(text, i + 1)
  if text:sub(i, i) == close then return i + 1 end
  while true do
    i = skip(text, one(i))
    local char = text:sub(i, i)
    if char == close then return i + 1 end
    if char ~= "," then fail(text, i) end
    i = skip(text, i + 1)
  end
end

local function array_at(text, i)
  local list = {}
  return list, members(text, i, "]", function(at)
    local rest
    list[#list + 1], rest = value_at(text, at)
    return rest
  end)
end

local function object_at(text, i)
  local object = {}
  return object, members(text, i, "}", function(at)
    if text:sub(at, at) ~= '"' then fail(text, at) end
    local key, rest = string_at(text, at)
    rest = skip(text, rest)
    if text:sub(rest, rest) ~= ":" then fail(text, rest) end
    object[key], rest = value_at(text, skip(text, rest + 1))
    return rest
  end)
end

function value_at(text, i)
  local char = text:sub(i, i)
  if char == '"' then return string_at(text, i) end
  if char == "[" then return array_at(text, i) end
  if char == "{" then return object_at(text, i) end
  local word, rest = text:match("^(%l+)()", i)
  if word and WORDS[word] ~= nil then return WORDS[word], rest end
  local number
  number, rest = text:match("^(-?%d+%.?%d*[eE]?[+-]?%d*)()", i)
  if not tonumber(number) then fail(text, i) end
  return tonumber(number), rest
end

return function(text)
  local value, rest = value_at(text, skip(text, 1))
  if skip(text, rest) <= #text then fail(text, rest) end
  return value
end
