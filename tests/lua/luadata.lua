-- luadata: data as Lua text, and back; problem.lua of a stranger's words is data.
-- The seed and the number of random texts may be given: ./gilua tests/lua/luadata.lua 7 1000000

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local luadata = require "gilua.base.luadata"

local SEED = math.tointeger(tonumber(arg and arg[1])) or 1
local TEXTS = math.tointeger(tonumber(arg and arg[2])) or 4000

-- What Lua itself makes of a text, where nothing can be called.
local function run(text)
  local chunk, why = load(text, "=text", "t", {})
  if not chunk then return nil, why end
  local ok, value = pcall(chunk)
  if ok then return value end
  return nil, value
end

tap.case("written", function()
  tap.is(luadata.text { "a", 1, -2.5, true }, '{ "a", 1, -2.5, true }', "a list")
  tap.is(luadata.text({ b = 1, a = {}, c = 2.0 }, { "c" }), "{ c = 2.0, a = {}, b = 1 }", "order")
  tap.is(luadata.text { ["end"] = 1, ["a b"] = 2 }, '{ ["a b"] = 2, ["end"] = 1 }', "keys")
  tap.is(luadata.quote 'a"\\\n\0\27[1mß', [["a\"\\\n\000\027[1mß"]], "one line, seen as it is")
  tap.is(luadata.quote "\xff\xc3", [["\255\195"]], "what is no UTF-8")
  tap.is(luadata.quote "a\u{202E}b\u{9b}", [["a\226\128\174b\194\155"]], "what turns the writing")
  tap.is(luadata.remark "TILE *\r\n\t 2\0--[[ \27[2J", "TILE * 2 --[[ [2J", "a remark")
  tap.ok(#luadata.remark(("ä"):rep(9999)) < 700 and utf8.len(luadata.remark(("ä"):rep(9999))),
    "a long one is cut")
end)

tap.case("read", function()
  tap.is(luadata.text(luadata.read "--x\nreturn -- [[\n { a = { 1, }, ['x'] = 2 }"), "nil", "'x'")
  local t = luadata.read
    '\n-- return os.exit()\rreturn { a = {1, 0x10, -1e-05, 2. }, ["b"] = false }'
  tap.is(luadata.text(t), "{ a = { 1, 16, -1e-05, 2.0 }, b = false }", "constants")
  for _, text in ipairs { "", "return", "{}", "return x", "return f()", "return {} os.exit()",
      "return { os.exit(42) }", "return ('x')", "return 1 + 1", "return { [1] = 2 }",
      "return --[[ ]] 1", "return [[x]]", 'return "a', 'return "a\nb"',
      'return "\\x41"', 'return "\\999"', "return {1",
      "return { a = 1, a = 2 }", "return { 1 2 }", "return { function() end }", "return - 1",
      "return " .. ("{"):rep(99999), "return 1x", "return 1..2", "return { true = 1 }",
      "return nil", "return #{}", "return 1 -- x\nos.exit()", "goto x", "return \"a\" .. \"b\"" } do
    local value, why = luadata.read(text)
    tap.ok(value == nil and type(why) == "string", "refused: " .. text:sub(1, 40):gsub("\n", " "))
  end
end)

tap.case("same", function()
  tap.ok(luadata.same({ 1, { a = "x" } }, { 1, { a = "x" } }), "by what they hold")
  tap.ok(not luadata.same({ 1 }, { 1.0 }), "an integer is no float")
  tap.ok(not luadata.same({ 1 }, { 1, 2 }) and not luadata.same({ a = 1 }, {}), "more, less")
end)

--------------------------------------------------------------------------------------------------
-- Random words

local WORDS = { "\n", "\r", "\0", "\\", '"', "'", "]]", "[[", "--", "--[[", "]]--", "\\\n",
  "\27[2J", "\xff", "ä", "\u{2028}", "\u{202E}", "os.exit(42)", "error()", ",", "}", "{",
  "(", ")", "=", "end", "name", "TILE * 2", "\\x41", "\\z", "\\u{41}", "\\065",
  "${IFS}", "`id`", "%s", "%d", "GUESS",
  " ", ";", "\t", "\v", "\f", ("x"):rep(700), "=[==[", "]==]", "function", "1e999", "0x", "#" }

local function random_text(rng)
  local list = {}
  for i = 1, rng:int(0, 8) do
    list[i] = rng:int(4) == 1 and string.char(rng:int(0, 255)) or WORDS[rng:int(#WORDS)]
  end
  return table.concat(list)
end

local NUMBERS = { 0, -1, 1, math.maxinteger, math.mininteger, 0.0, -0.5, 1e300, 5e-324, math.huge,
  -math.huge, 0.1, 1 / 3, 2.0 ^ 53, 1e15, 100.0 }

local function random_value(rng, depth)
  local kind = rng:int(depth > 3 and 4 or 6)
  if kind <= 2 then return random_text(rng) end
  if kind == 3 then return NUMBERS[rng:int(#NUMBERS)] end
  if kind == 4 then return rng:int(2) == 1 end
  local t = {}
  for i = 1, rng:int(0, 4) do
    t[kind == 5 and i or random_text(rng)] = random_value(rng, depth + 1)
  end
  return t
end

-- A draft of which every word is a stranger's.
local function random_draft(rng)
  local function word() return random_text(rng) end
  local shape = { size = { rng:int(1000) }, block = { 64, 1, 1 }, rows = {}, flat = {},
    each = { rng:int(2) }, link = {}, fixed_block = rng:int(2) == 1 and word() or nil }
  local args = {}
  for i = 1, rng:int(0, 3) do
    args[i] = { name = word(), type = word(), notes = { word(), word() }, count = word(),
      fill = luadata.text(random_value(rng, 3)), role = word() }
  end
  local constants = {}
  for i = 1, rng:int(0, 2) do
    constants[i] = { name = word() .. i, type = word(), notes = { word() }, count = word(),
      fill = luadata.text(random_value(rng, 3)) }
  end
  return { folder = word(), shape = shape, args = args, constants = constants, size_note = word(),
    reading = { kernel = word(), path = "x" .. word():gsub("/", ""), absolute_path = word(),
      template = { word(), word() }, sliced = { source = "c", options = { word() } },
      body = gi.grammar.tokens "",
      compiler = { include = { word() }, defines = { word() } } } }
end

-- What is wrong with what is written of a value, as `return VALUE -- REMARK`.
local function trouble(value, note)
  local text = ("return %s -- %s"):format(luadata.text(value), luadata.remark(note))
  if text:find "[\n\r]" then return "more than a line" end
  local said, why = luadata.read(text)
  if not luadata.same(said, value) then return why or "another value is read" end
  said, why = run(text .. "\n")
  if not luadata.same(said, value) then return why or "Lua reads another value" end
end

local function draft_trouble(draft)
  local text = gi.problemtext.of(draft, 0.5, draft.folder) -- reads it back itself
  if select(2, text:gsub("\n", "")) > 40 or text:find "\r" then return "lines of a stranger's" end
  local said, why = run(text)
  if not said then return why end
  local read = draft.reading
  if said.kernel ~= read.kernel or said.include[1] ~= read.compiler.include[1] then
    return "it says something else"
  end
end

tap.case("random words are data", function()
  tap.note(("seed %d, %d texts"):format(SEED, TEXTS))
  local rng = gi.rng(SEED)
  for i = 1, TEXTS do
    local value, note = random_value(rng, 1), random_text(rng)
    local why = trouble(value, note)
    if why then
      return tap.ok(false, ("text %d: %s\n%s"):format(i, why, luadata.text(value)))
    end
    if i % 10 == 0 then
      local ok, found = pcall(draft_trouble, random_draft(rng))
      if not ok or found then return tap.ok(false, ("draft %d: %s"):format(i, found)) end
    end
    -- cut anywhere, or with a byte changed: read as data or refused, as Lua would
    local text = "return " .. luadata.text(value)
    local at = rng:int(#text)
    local torn = text:sub(1, at - 1) .. random_text(rng) .. text:sub(at + rng:int(0, 2))
    local said = luadata.read(torn)
    if said ~= nil and not luadata.same(said, (run(torn))) then
      return tap.ok(false, ("text %d: Lua reads something else\n%s"):format(i, torn))
    end
  end
  tap.ok(true, "all of them")
end)

tap.done()
