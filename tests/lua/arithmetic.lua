-- arithmetic: a stranger's expressions, in C and in Lua's syntax: computed, never run, soon.
-- The seed may be given: ./gilua tests/lua/arithmetic.lua 7

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local scratch = require "scratch"

local SEED = math.tointeger(tonumber(arg and arg[1])) or 1
local TEXTS = 4000

local NAMES = { n = 7, m = -3, x = 2.5, size_x = 1000, kind = "float", math = math }

local function in_table(text)
  return gi.expression.value(text, NAMES, "here")
end

local function in_c(text, code)
  return gi.hostcode.read(code or "int n = 7; const int m = -3; float x = 2.5f;"):value(text)
end

tap.case("a table's expressions, as they are documented", function()
  for text, want in pairs { ["n * 4"] = 28, ["size_x // 2 + 1"] = 501, ["math.max(n, 16)"] = 16,
      ["m // 2"] = -2, ["m % 2"] = 1, ["2 ** 3 ** 2"] = 512.0, ["-2 ^ 2"] = -4.0, ["n / 2"] = 3.5,
      ["n > 4 and 2 or 1"] = 2, ["n ~= 7 or x == 2.5"] = true, ["not (n < m) && n != 3"] = true,
      ["1 | 6 & 3 ~ 8"] = 11, ["n & 1 == 1"] = true, ["1 << 2 + 1"] = 8, ["~n"] = -8,
      ['kind == "float"'] = true, ["math.floor(x) * math.pi // 1"] = 6.0, ["0x10 + 1e2"] = 116.0,
      ["(n % 32 == 0) == False"] = true, ["math.ceil(n / 2)"] = 4, ["n--1"] = false,
      ["false and nothing.is[here](1)"] = false } do
    local ok, value = pcall(in_table, text)
    tap.is(ok and value, want, text)
  end
end)

tap.case("C's rules", function()
  for text, want in pairs { ["-7 / 2"] = -3, ["-7 % 2"] = -1, ["7 / -2"] = -3, ["-8 / 2"] = -4,
      ["1 << 3 + 1"] = 16, ["n & 1 == 1"] = 1, ["6 ^ 3"] = 5, ["!n + !0"] = 1, ["~0"] = -1,
      ["n > 3 && m < 0 || 1 / 0"] = 1, ["0 && f(1, 2)"] = 0, ["n == 7 ? m > 0 ? 1 : 2 : 3"] = 2,
      ["n ? x * 2 : y[3]"] = 5, ["-16 >> 2"] = -4, ["010 + 0x10"] = 24,
      ["ceil(n / 2.0) / 3"] = 4 / 3,
      ["(n + 2) / (m - 1)"] = -2, ["min(n, 3) + std::max(2.5, 1)"] = 5.5, ["pow(2, 10)"] = 1024,
      ["log2(8.0f) + fabsf(m)"] = 6, ["(int)x + (float)1 / 2"] = 2.5, ["true + false"] = 1,
      ["1 / 0"] = "none", ["1 % 0"] = "none", ["1 << 64"] = "none", ["x % 2"] = "none",
      ["n++"] = "none", ["n = 3"] = "none", ["1, 2"] = "none", ["&n"] = "none", [""] = "none" } do
    local value = in_c(text)
    tap.is(value == nil and "none" or value, want, text)
  end
end)

tap.case("whole numbers divide towards zero, as in C", function()
  local divided, truncated = gi.arithmetic.divided, gi.arithmetic.truncated
  local function pair(a, b) return table.concat({ divided(a, b) }, " ") end
  tap.is(pair(7, 2) .. ", " .. pair(-7, 2) .. ", " .. pair(7, -2) .. ", " .. pair(-7, -2),
    "3 1, -3 -1, -3 1, 3 -1", "of both signs")
  tap.is(pair(math.mininteger, -1), math.mininteger .. " 0", "the least of all")
  tap.is(pair(1, 0), "", "nothing by 0")
  tap.is(truncated(-2.5), -2, "what is behind the point goes")
  tap.is(truncated(2.5), 2, "of either sign")
  tap.is(truncated(1e300), nil, "not what no integer holds")
  tap.is(truncated(0 / 0), nil, "nor what is no number")
end)

tap.case("nothing runs, and what has no end ends", function()
  local begun = os.clock()
  local many, deep = ("1 + "):rep(200000) .. "1", ("("):rep(100000) .. "1" .. (")"):rep(100000)
  for _, text in ipairs { "(function() while true do end end)()", "os.exit(42)", "math.random()",
      "('x'):rep(1 << 40)", "string.rep('x', 1e9)", "load('os.exit(42)')()", "_G",
      "_ENV.os.exit(1)",
      "{}", "n.x.y", "size_x(1)", "math.max()", "math.max(nil, {})", "math.fmod(1, 0)",
      "kind + 1", "#kind", "kind .. kind", "n; os.exit(42)", "n --[[", "]]", "\0", "'",
      "math", "math.max", "goto x", "...", "return 1", deep, ("-"):rep(9999) .. "1",
      ("- "):rep(9999) .. "1", "" } do
    local shown = text:sub(1, 30)
    tap.has(scratch.sentence(in_table, text), "here: '", "in a table: " .. shown)
    tap.is(in_c(text), nil, "in host code: " .. shown)
    tap.is(in_c("n", "int n = " .. text .. ";\n"), nil, "as a value there: " .. shown)
  end
  tap.is(in_table(many), 200001, "a sum without brackets is as long as it likes")
  tap.is(in_c(many), nil, "but in host code")
  for _, text in ipairs { "1 // 0", "1 < true", ("2 ^ "):rep(9999) .. "1" } do -- C takes these
    tap.has(scratch.sentence(in_table, text), "here: '", "in a table: " .. text:sub(1, 30))
  end
  local lines = {}
  for i = 1, 3000 do lines[i] = ("int v%d = p.v%d + 1;"):format(i, i - 1) end
  in_c("v3000", table.concat(lines, "\n"))
  tap.is(in_c("F(1)", "#define F(x) G(x) + G(x)\n#define G(x) F(x) + F(x)\n"), nil,
    "macros in turn")
  tap.ok(os.clock() - begun < 20, "soon")
end)

--------------------------------------------------------------------------------------------------
-- Against Lua

local WORDS = { "n", "m", "x", "size_x", "1", "2", "3.5", "0", "(", ")", "+", "-", "*", "/", "//",
  "%", "^", "<", ">", "<=", ">=", "==", "~=", "and", "or", "not", "&", "|", "~", "<<", ">>", "true",
  "math.max(n, 2)", "math.floor(x)", "false" }

local function random_text(rng)
  local list = {}
  for i = 1, rng:int(1, 9) do list[i] = WORDS[rng:int(#WORDS)] end
  return table.concat(list, " ")
end

-- What grows from operands and operators is an expression more often than words alone.
local function random_expression(rng, depth)
  if depth > 3 or rng:int(3) == 1 then return WORDS[rng:int(8)] end
  if rng:int(8) == 1 then
    return ({ "not ", "- ", "~ " })[rng:int(3)] .. random_expression(rng, depth + 1)
  end
  local text = random_expression(rng, depth + 1) .. " " .. WORDS[rng:int(11, 31)] .. " "
    .. random_expression(rng, depth + 1)
  return rng:int(3) == 1 and "(" .. text .. ")" or text
end

local function in_lua(text)
  local chunk = load("return " .. text, "=text", "t", NAMES)
  if not chunk then return "none" end
  local ok, value = pcall(chunk)
  if not ok or value == nil then return "none" end
  return value
end

tap.case("random expressions have Lua's value", function()
  tap.note("seed " .. SEED)
  local rng, valued = gi.rng(SEED), 0
  for i = 1, TEXTS do
    local text = i % 2 == 0 and random_text(rng) or random_expression(rng, 1)
    local want, ok, got = in_lua(text), pcall(in_table, text)
    if not ok then got = type(got) == "table" and "none" or tostring(got) end
    local same = want == got and math.type(want) == math.type(got) or want ~= want and got ~= got
    if not same then
      return tap.ok(false, ("%s: Lua says %s, not %s"):format(text, tostring(want), tostring(got)))
    end
    if want ~= "none" then valued = valued + 1 end
  end
  tap.ok(valued > TEXTS / 4, valued .. " of them have one")
end)

tap.done()
