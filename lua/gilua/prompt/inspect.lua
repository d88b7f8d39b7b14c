--- inspect: prints values for people.
--
-- Tables are sorted and cut at a depth; an array has type, shape and range; a measurement is one
-- line. An object can print itself by `__inspect` in its metatable: function(self, options) ->
-- text. Also draws pictures of numbers in a terminal, two pixels a character.

local attempt = require "gilua.base.attempt"
local core = require "gilua.core"
local fitness = require "gilua.search.fitness"
local host = require "gilua.base.host"
local printable = require "gilua.base.printable"
local progress = require "gilua.report.progress"
local settings = require "gilua.base.settings"

local M = {}

local DEFAULTS = {
  width = 80,     -- columns
  depth = 3,      -- levels of tables that are shown
  items = 40,     -- entries of one table, or elements of one array
  colour = false, -- escape sequences
  utf8 = false,   -- characters beyond ASCII
}

-- --- the terminal ------------------------------------------------------------------------------

local COLOURS = { red = 31, green = 32, yellow = 33, blue = 34, cyan = 36, dim = 2, bold = 1 }

---@param options table with `colour`
---@param colour string
---@param text string
---@return string
function M.paint(options, colour, text)
  if not options.colour then return text end
  return ("\27[%dm%s\27[0m"):format(COLOURS[colour], text)
end

--- What this terminal can show: its width, and whether it takes colours and UTF-8.
---@return { width: integer, colour: boolean, utf8: boolean }
function M.terminal()
  local set = os.getenv("LC_ALL") or os.getenv("LC_CTYPE") or os.getenv("LANG") or ""
  if os.getenv("LC_ALL") == "" then set = os.getenv("LC_CTYPE") or os.getenv("LANG") or "" end
  local plain = (os.getenv("NO_COLOR") or "") ~= ""
  return { width = host.width(), colour = host.takes_escapes(1) and not plain,
           utf8 = set:lower():gsub("%-", ""):find("utf8", 1, true) ~= nil }
end

--- A string without escape sequences.
---@param text string
---@return string
function M.plain(text)
  return (text:gsub("\27%[[%d;]*m", ""))
end

--- How many columns a text takes: UTF-8 characters, escape sequences not counted.
---@param text string
---@return integer
function M.columns(text)
  text = M.plain(text)
  return utf8.len(text) or #text
end

--- The metatable of a class whose objects print themselves: show(self, options) -> text.
---@param name string
---@param methods table
---@param show fun(self: table, options: table): string
---@return table
function M.class(name, methods, show)
  return {
    __name = "gilua." .. name, __index = methods, __inspect = show,
    __tostring = function(self) return show(self, DEFAULTS) end,
  }
end

-- --- numbers -----------------------------------------------------------------------------------

---@param x number
---@return string
function M.number(x)
  if math.type(x) == "integer" then return tostring(x) end
  if x ~= x then return "nan" end
  if x == math.huge or x == -math.huge then return x > 0 and "inf" or "-inf" end
  return ("%.7g"):format(x)
end

--- Nanoseconds in the unit that suits them.
---@param ns number
---@return string
function M.time(ns)
  for _, unit in ipairs { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } } do
    if ns >= unit[1] then return ("%.4g %s"):format(ns / unit[1], unit[2]) end
  end
  return ("%.4g ns"):format(ns)
end

--- A line broken between words where it is wider than `width`; what follows is indented.
---@param text string
---@param width integer
---@param indent string
---@return string
function M.wrap(text, width, indent)
  local lines, line = {}, ""
  for space, word in text:gmatch("(%s*)(%S+)") do
    if line ~= "" and M.columns(line .. space .. word) > width then
      lines[#lines + 1] = line
      line = indent .. word
    else
      line = line .. space .. word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

-- --- measurements ------------------------------------------------------------------------------

local function is_measurement(t)
  return type(rawget(t, "status")) == "string" and type(rawget(t, "ticks")) == "number"
    and type(rawget(t, "max_error")) == "number"
end

local function first_line(text)
  return tostring(text):match("^%s*([^\n]*)")
end

local function answers(m)
  if not m.n or m.n == 0 then return "" end
  local wrong = math.floor((m.wrong or 0) * m.n + 0.5)
  local unset = math.floor((m.unset or 0) * m.n + 0.5)
  local text = ("  %s of %s wrong"):format(progress.grouped(wrong), progress.grouped(m.n))
  return unset > 0 and text .. (", %s never written"):format(progress.grouped(unset)) or text
end

--- One line about a measurement.
---@param m table
---@param options? table
---@return string
function M.measurement(m, options)
  local o = settings.fill("gilua.inspect.measurement", options, DEFAULTS)
  if m.status ~= "ok" then
    return M.paint(o, "red", m.status) .. ": " .. first_line(m.message or "")
  end
  local cost = m.baseline_ns and M.time(m.ns) or progress.grouped(m.ticks) .. " ticks"
  local ratio = m.speedup and (" (%.3fx)"):format(m.speedup) or ""
  local right = fitness.right(m)
  return ("%s  %s%s  largest error %.3g%s"):format(
    M.paint(o, right and "green" or "red", right and "ok" or "wrong answers"), cost, ratio,
    m.max_error, answers(m))
end

-- --- strings and functions ---------------------------------------------------------------------

local ESCAPES = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r", ["\0"] = "\\0", ["\\"] = "\\\\",
                  ['"'] = '\\"', ["\27"] = "\\27" }

local function quoted(text, longest)
  local cut = #text > longest
  if cut then text = text:sub(1, longest) end
  text = text:gsub('[%c"\\]', function(c) return ESCAPES[c] or ("\\%d"):format(c:byte()) end)
  return '"' .. text .. (cut and '"..' or '"')
end

local DIFF = { ["+"] = "green", ["-"] = "red", ["@"] = "cyan" }

--- A unified diff in colours.
---@param text string
---@param options table with `colour`
---@return string
function M.diff(text, options)
  if not options.colour then return text end
  return (text:gsub("[^\n]+", function(line)
    local colour = line:find("^%-%-%- ") and "bold" or line:find("^%+%+%+ ") and "bold"
      or DIFF[line:sub(1, 1)]
    return colour and M.paint(options, colour, line)
  end))
end

-- A string alone on the prompt: source code and tables as they stand.
local function whole_string(text, o)
  if not text:find("\n", 1, true) or text:find("%z") then return quoted(text, 2000) end
  text = printable.text(text):gsub("\n$", "")
  if text:find("^%-%-%- [^\n]*\n%+%+%+ ") then return M.diff(text, o) end
  return text
end

local names_of_functions -- C functions: their name in core.docs

local function add_names(prefix, t)
  for key, value in pairs(t) do
    if type(value) == "function" and core.docs[prefix .. key] then
      names_of_functions[value] = prefix .. key
    end
  end
end

--- The registration row of a C function.
---@param f function
---@return { usage: string, doc: string }?
function M.row_of(f)
  if not names_of_functions then
    names_of_functions = {}
    for room, functions in pairs(core) do
      if type(functions) == "table" then add_names(room .. ".", functions) end
    end
    for class, value in pairs(debug.getregistry()) do
      local name = type(class) == "string" and class:match("^gilua%.(%w+)$")
      local methods = name and type(value) == "table" and M.methods(value)
      if methods then add_names((name == "farm" and "workers" or name) .. ":", methods) end
    end
  end
  return core.docs[names_of_functions[f]]
end

--- The methods that a metatable gives: its __index, or what a C function there looks them up in.
---@param meta table
---@return table?
function M.methods(meta)
  local index = rawget(meta, "__index")
  if type(index) == "function" and debug.getinfo(index, "S").what == "C" then
    local _, value = debug.getupvalue(index, 1)
    index = value
  end
  return type(index) == "table" and index or nil
end

local function parameters(f)
  local names, info = {}, debug.getinfo(f, "u")
  for i = 1, info.nparams do names[i] = debug.getlocal(f, i) end
  if info.isvararg then names[#names + 1] = "..." end
  return table.concat(names, ", ")
end

local function function_text(f)
  local row = M.row_of(f)
  if row then return "function " .. row.usage end
  local info = debug.getinfo(f, "S")
  if info.what == "C" then return tostring(f) end
  return ("function(%s) %s:%d"):format(parameters(f), info.short_src, info.linedefined)
end

-- --- arrays ------------------------------------------------------------------------------------

local function array_text(a, o)
  local fine, dtype = pcall(a.dtype, a)
  if not fine then return tostring(a) end -- a closed one
  local low, high = a:range()
  local range = low and ("from %s to %s"):format(M.number(low), M.number(high)) or "nothing but NaN"
  local head = ("%s array %s, %s: "):format(dtype, table.concat({ a:shape() }, "x"), range)
  local parts, used = {}, #head
  for i = 1, #a do
    local text = M.number(a[i])
    used = used + #text + 2
    if used > o.width - 5 and i > 4 or i > o.items then
      parts[#parts + 1] = "..."
      break
    end
    parts[i] = text
  end
  return head .. table.concat(parts, ", ")
end

local function class_of(value)
  local meta = debug.getmetatable(value)
  return type(meta) == "table" and meta.__name or nil
end

-- --- tables ------------------------------------------------------------------------------------

local RANK = { number = 1, string = 2, boolean = 3 }

local function before(a, b)
  local type_a, type_b = RANK[type(a)] or 4, RANK[type(b)] or 4
  if type_a ~= type_b then return type_a < type_b end
  if type_a <= 2 then return a < b end
  return tostring(a) < tostring(b)
end

-- The keys after the list part, in order.
local function other_keys(t, n)
  local keys = {}
  for key in next, t do
    local listed = math.type(key) == "integer" and key >= 1 and key <= n
    if not listed then keys[#keys + 1] = key end
  end
  table.sort(keys, before)
  return keys
end

local RESERVED = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat
return then true until while]]):gmatch("%a+") do RESERVED[word] = true end

local function key_text(key, show)
  if type(key) == "string" and key:find("^[%a_][%w_]*$") and not RESERVED[key] then return key end
  return "[" .. show(key) .. "]"
end

-- On one line where that fits.
local function braced(parts, indent, o)
  local length = indent + 4
  for _, part in ipairs(parts) do
    length = length + M.columns(part) + 2
    if part:find("\n", 1, true) then length = math.huge end
  end
  if length <= o.width then return "{ " .. table.concat(parts, ", ") .. " }" end
  local pad = (" "):rep(indent + 2)
  return "{\n" .. pad .. table.concat(parts, ",\n" .. pad) .. "\n" .. (" "):rep(indent) .. "}"
end

local render -- of one value inside others

local function table_text(t, o, indent, level, above)
  if next(t) == nil then return "{}" end
  if above[t] then return "<the table around it>" end
  local n = rawlen(t)
  local keys = other_keys(t, n)
  if level > o.depth then
    return n > 0 and #keys == 0 and ("{ %d values }"):format(n) or "{ ... }"
  end
  above[t] = true
  local parts = {}
  for i = 1, math.min(n, o.items) do
    parts[i] = render(rawget(t, i), o, indent + 2, level + 1, above)
  end
  for i = 1, math.min(#keys, o.items) do
    local name = key_text(keys[i], function(k) return render(k, o, 0, o.depth + 1, above) end)
    parts[#parts + 1] = name .. " = " .. render(rawget(t, keys[i]), o, indent + 2, level + 1, above)
  end
  above[t] = nil
  local more = math.max(0, n - o.items) + math.max(0, #keys - o.items)
  if more > 0 then parts[#parts + 1] = ("... %d more"):format(more) end
  return braced(parts, indent, o)
end

local function object_text(value, meta, o)
  if meta.__inspect then return meta.__inspect(value, o) end
  if meta.__name == "gilua.array" then return array_text(value, o) end
  if meta.__tostring then
    local text = tostring(value)
    return #text > 2000 and text:sub(1, 2000) .. "..." or text
  end
end

function render(value, o, indent, level, above)
  local kind = type(value)
  if kind == "string" then return quoted(value, 200) end
  if kind == "number" then return M.number(value) end
  if kind == "function" then return level == 1 and function_text(value) or "function" end
  if kind ~= "table" and kind ~= "userdata" then return tostring(value) end
  local meta = debug.getmetatable(value)
  local text = type(meta) == "table" and object_text(value, meta, o)
  if text then
    return level > 1 and text:find("\n", 1, true) and first_line(M.plain(text)) .. " ..." or text
  end
  if kind == "userdata" then return (class_of(value) or "userdata") end
  if is_measurement(value) then
    local case = level == 1 and rawget(value, "case")
    return M.measurement(value, o) .. (case and "  on " .. tostring(case) or "")
  end
  -- an object without a text of its own: its fields, but not theirs
  if type(meta) == "table" and meta.__index then level = math.max(level, o.depth) end
  return table_text(value, o, indent, level, above)
end

--- A value as text, without a newline at its end. An object whose own text fails is named with the
--- reason.
---@param value any
---@param options? { width?: integer, depth?: integer, items?: integer, colour?: boolean }
---@return string
function M.render(value, options)
  local o = settings.fill("gilua.inspect.render", options, DEFAULTS)
  if type(value) == "string" then return whole_string(value, o) end
  local fine, text = attempt(render, value, o, 0, 1, {})
  if fine and type(text) == "string" then return text end
  return ("<%s that cannot be shown: %s>"):format(type(value), first_line(text))
end

-- --- columns and pictures ----------------------------------------------------------------------

--- Words in columns, as many as fit.
---@param words string[]
---@param width integer
---@return string
function M.in_columns(words, width)
  local widest = 1
  for _, word in ipairs(words) do widest = math.max(widest, M.columns(word) + 2) end
  local across = math.max(1, width // widest)
  local down = (#words + across - 1) // across
  local lines = {}
  for row = 1, down do
    local cells = {}
    for i = row, #words, down do
      cells[#cells + 1] = words[i] .. (" "):rep(widest - M.columns(words[i]))
    end
    lines[row] = table.concat(cells):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

local function pixel(rows, x, y)
  return rows[y] and rows[y][x]
end

-- The nearest of the 216 colours that every terminal with colours has: levels 0 95 135 175 215 255.
local function colour(ground, c)
  local code = 16
  for i, weight in ipairs { 36, 6, 1 } do
    local v = c[i]
    code = code + weight * (v < 48 and 0 or v < 115 and 1 or (v - 35) // 40)
  end
  return ("%d;5;%d"):format(ground, code)
end

-- Two pixels one above the other; neither: the terminal's own background.
local function half_blocks(upper, lower)
  if not upper and not lower then return " " end
  if not lower then return ("\27[%sm\u{2580}\27[0m"):format(colour(38, upper)) end
  if not upper then return ("\27[%sm\u{2584}\27[0m"):format(colour(38, lower)) end
  return ("\27[%s;%sm\u{2580}\27[0m"):format(colour(38, upper), colour(48, lower))
end

--- A picture for a terminal. rows[y][x] is { r, g, b, letter } or false; letters, one a pixel, are
--- shown where there are no colours.
---@param rows table
---@param width integer
---@param options { colour?: boolean, utf8?: boolean }
---@return string
function M.picture(rows, width, options)
  local lines, blocks = {}, options.colour and options.utf8
  for y = 1, #rows, blocks and 2 or 1 do
    local cells = {}
    for x = 1, width do
      local upper = pixel(rows, x, y)
      cells[x] = blocks and half_blocks(upper, pixel(rows, x, y + 1)) or upper and upper[4] or " "
    end
    lines[#lines + 1] = table.concat(cells):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

return M
