-- csv: what is written reads back as it was.
package.path = "tests/lua/?.lua;" .. package.path
local csv = require "gilua.base.csv"
local json = require "gilua.base.json"
local tap = require "tap"

-- A reader of RFC 4180 as simple as can be: the fields of a text's first line, and what follows.
local function read(text)
  local fields, i = {}, 1
  repeat
    local field, rest
    if text:sub(i, i) == '"' then
      local stop = i + 1
      while true do
        stop = assert(text:find('"', stop, true))
        if text:sub(stop + 1, stop + 1) ~= '"' then break end
        stop = stop + 2
      end
      field, rest = text:sub(i + 1, stop - 1):gsub('""', '"'), stop + 1
    else
      field, rest = text:match("^([^,\n]*)()", i)
    end
    fields[#fields + 1] = field
    i = rest + 1
  until text:sub(rest, rest) == "\n"
  return fields, text:sub(i)
end

tap.case("texts are quoted where they have to be", function()
  tap.is(csv.line { "plain", "a b", 'say "x"', "1,5", "two\nlines", "cr\r" },
    'plain,a b,"say ""x""","1,5","two\nlines","cr\r"\n', "as RFC 4180 has it")
  tap.is(csv.line({ nil, "b", nil }, 3), ",b,\n", "what there is not is empty")
  tap.is(csv.row({ b = 1, a = true }, { "a", "b", "c" }), "true,1,\n", "by name")
end)

tap.case("any text comes back", function()
  local seed = os.time()
  tap.note("seed " .. seed)
  math.randomseed(seed)
  local bad = 0
  for _ = 1, 2000 do
    local values, n = {}, math.random(1, 5)
    for i = 1, n do
      local bytes = {}
      for k = 1, math.random(0, 6) do
        local pool = ',"\n\r a;'
        local at = math.random(#pool)
        bytes[k] = pool:sub(at, at)
      end
      values[i] = table.concat(bytes)
    end
    local fields, rest = read(csv.line(values))
    if rest ~= "" or #fields ~= n then bad = bad + 1 end
    for i = 1, n do bad = bad + (fields[i] == values[i] and 0 or 1) end
  end
  tap.is(bad, 0, "2000 random lines")
end)

tap.case("numbers are the shortest that read back equal", function()
  tap.is(csv.line { 1, 0.1, -2.5e-300, 1 / 3, 2 ^ 53, 100.0 },
    "1,0.1,-2.5e-300,0.3333333333333333,9007199254740992,100\n", "numbers")
  tap.is(csv.line { math.huge, -math.huge, 0 / 0 }, "Inf,-Inf,NaN\n", "and what is none")
end)

-- A machine may have no locale with a comma: Lua's format is asked to write one.
tap.case("the point is one in any locale", function()
  local format = string.format
  local tonumber_there = tonumber
  string.format = function(...) -- luacheck: ignore 122
    return (format(...):gsub("%.(%d)", ",%1"))
  end
  _G.tonumber = function(x)
    return tonumber_there(type(x) == "string" and x:gsub(",", ".") or x)
  end
  local text, other = csv.line { 1.5, 2.5e-7 }, json.number(1.5)
  string.format, _G.tonumber = format, tonumber_there -- luacheck: ignore 122
  tap.is(text, "1.5,2.5e-07\n", "in a table")
  tap.is(other, "1.5", "in JSON")
end)

tap.done()
