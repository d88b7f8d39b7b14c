-- mutate: the one-line changes of a source text, in Lua or C, that mutation testing tries.
--
-- A change turns a comparison or moves it by one, exchanges `and` and `or`, drops a `not`, turns a
-- true or false (or a returned nil), moves a whole number by one, or takes an early return out.
-- Strings, comments and lines of the preprocessor stay as they are. The model is the usual one:
-- DeMillo, Lipton, Sayward, "Hints on Test Data Selection" (1978).

local M = {}

---@class Place a token that can be changed
---@field line integer
---@field first integer offset of its first byte
---@field last integer
---@field within integer line of the function around it; 0: none (in C always 0)
---@field changes { what: string, new: string, last: integer? }[]

local OPERATORS = { "...", "<<=", ">>=", "<=", ">=", "==", "~=", "!=", "&&", "||", "<<", ">>", "->",
  "//", "..", "::", "++", "--", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "%=" }

-- The comments and long strings of a language, as patterns that are tried at a place.
local PASSED = {
  lua = { "^%-%-%[(=*)%[.-%]%1%]", "^%-%-[^\n]*", "^%[(=*)%[.-%]%1%]" },
  c = { "^/%*.-%*/", "^//[^\n]*" },
}

local function begins_line(text, at)
  repeat at = at - 1 until not text:find("^[ \t]", at)
  return at == 0 or text:sub(at, at) == "\n"
end

-- Where a comment, a line of the preprocessor or a string at a place ends; a string's text besides.
local function passed_until(text, at, language)
  for _, pattern in ipairs(PASSED[language]) do
    local _, last = text:find(pattern, at)
    if last then return last end
  end
  if language == "c" and text:find("^#", at) and begins_line(text, at) then
    local last = at - 1
    repeat last = text:find("\n", last + 1, true) or #text + 1
    until text:sub(last - 1, last - 1) ~= "\\"
    return last - 1
  end
  local quote = text:match("^[\"']", at)
  if not quote then return nil end
  local last = at + 1
  while last < #text and text:sub(last, last) ~= quote do
    last = last + (text:sub(last, last) == "\\" and 2 or 1)
  end
  return last, text:sub(at, last)
end

local function word_at(text, at)
  local word = text:match("^[%a_][%w_]*", at) or text:match("^%d[%w_.]*", at)
  if word then return word end
  for _, operator in ipairs(OPERATORS) do
    if text:sub(at, at + #operator - 1) == operator then return operator end
  end
  return text:sub(at, at)
end

--- The words of a text: { text, first, last, line }.
---@param text string
---@param language "lua"|"c"
function M.words(text, language)
  local list, at, line = {}, 1, 1
  while at <= #text do
    local last, word = passed_until(text, at, language)
    local blank = not last and text:match("^%s+", at)
    if blank then last = at + #blank - 1 end
    if not last then
      word = word_at(text, at)
      last = at + #word - 1
    end
    if word then list[#list + 1] = { text = word, first = at, last = last, line = line } end
    for _ in text:sub(at, last):gmatch "\n" do line = line + 1 end
    at = last + 1
  end
  return list
end

local OPENS = { ["function"] = true, ["if"] = true, ["do"] = true, ["repeat"] = true }

-- Of each word of a text in Lua: the line of the innermost function around it.
local function functions_around(words)
  local around, open, within = {}, {}, { 0 }
  for i, w in ipairs(words) do
    if OPENS[w.text] then
      open[#open + 1] = w.text
      if w.text == "function" then within[#within + 1] = w.line end
    end
    around[i] = within[#within]
    if w.text == "end" or w.text == "until" then
      if table.remove(open) == "function" then table.remove(within) end
    end
  end
  return around
end

local TURNED = {
  ["<"] = { "<=", ">=" }, ["<="] = { "<", ">" }, [">"] = { ">=", "<=" }, [">="] = { ">", "<" },
  ["~="] = { "==" }, ["!="] = { "==" }, ["and"] = { "or" }, ["or"] = { "and" },
  ["&&"] = { "||" }, ["||"] = { "&&" }, ["true"] = { "false" }, ["false"] = { "true" },
}
local EQUAL = { lua = "~=", c = "!=" }
local NOT = { lua = "not", c = "!" }

local function is_attribute(words, i) -- local file <close>
  local name, at = words[i + 1], words[i].text == "<" and i + 2 or i
  if words[i].text == ">" then name = words[i - 1] end
  return name and (name.text == "close" or name.text == "const") and words[at].text == ">"
end

-- How many words before the end of the line a `return` or a `continue` ends; nil where it is no
-- early one: behind `then`, `else` or `)`, with its end in the same line.
local function early_end(words, i, language)
  local before, k = words[i - 1], i
  while words[k].text ~= ";" and words[k + 1] and words[k + 1].line == words[i].line do
    k = k + 1
  end
  if not before then return nil end
  if language == "c" then
    return words[k].text == ";" and (before.text == ")" or before.text == "else") and k or nil
  end
  if before.text ~= "then" and before.text ~= "else" then return nil end
  if words[k].text == "end" and before.line == words[i].line then k = k - 1 end
  return words[k + 1] and (words[k + 1].text == "end" or words[k + 1].text:find "^else") and k
end

local function changes_of(words, i, language)
  local w, list = words[i], {}
  local function to(new, what, last)
    list[#list + 1] = { new = new, last = last, what = what or ("becomes `%s`"):format(new) }
  end
  for _, new in ipairs(not is_attribute(words, i) and TURNED[w.text] or {}) do to(new) end
  if w.text == "==" then to(EQUAL[language]) end
  if w.text == NOT[language] then to("", "is dropped") end
  if w.text == "nil" and words[i - 1].text == "return" then to "true" end
  local number = math.tointeger(tonumber(w.text))
  if number then
    to(("%d"):format(number + 1))
    if number > 0 then to(("%d"):format(number - 1)) end
  end
  local is_jump = w.text == "return" or language == "c" and w.text == "continue"
  local last = is_jump and early_end(words, i, language)
  if last then to(language == "c" and ";" or "", "is taken out", words[last].last) end
  return list
end

--- All places of a text, in their order.
---@param text string
---@param language "lua"|"c"
---@return Place[]
function M.places(text, language)
  local words, list = M.words(text, language), {}
  local around = language == "lua" and functions_around(words) or {}
  local seen, line = {}, 0 -- how often each word stood in the line so far
  for i, w in ipairs(words) do
    if w.line ~= line then seen, line = {}, w.line end
    seen[w.text] = (seen[w.text] or 0) + 1
    local changes, n = changes_of(words, i, language), seen[w.text]
    for _, c in ipairs(changes) do
      c.what = ("`%s`%s %s"):format(w.text, n > 1 and (" (number %d)"):format(n) or "", c.what)
    end
    if changes[1] then
      list[#list + 1] = { line = w.line, first = w.first, last = w.last, changes = changes,
        within = around[i] or 0 }
    end
  end
  return list
end

--- The text with one change.
---@param text string
---@param place Place
---@param change table of place.changes
---@return string
function M.apply(text, place, change)
  return text:sub(1, place.first - 1) .. change.new .. text:sub((change.last or place.last) + 1)
end

local function shuffled(list, rng)
  for i = #list, 2, -1 do
    local k = rng:int(i)
    list[i], list[k] = list[k], list[i]
  end
  return list
end

--- Draws the changes of a text, each once, evenly over its places: every place comes once before
--- one comes again with its next change.
---@param text string
---@param language "lua"|"c"
---@param rng table
---@return fun(): Place?, table? the next one
function M.draws(text, language, rng)
  local places = shuffled(M.places(text, language), rng)
  local at, round, some = 0, 1, false
  return function()
    repeat
      at = at + 1
      if at > #places then
        if not some then return nil end
        at, round, some = 1, round + 1, false
      end
      local change = places[at].changes[round]
      some = some or change ~= nil
      if change then return places[at], change end
    until false
  end
end

--- A text in Lua whose functions note that they are called: `note` is the first statement, an
--- expression that gives a function of a line. Lines stay where they are.
---@param text string
---@param note string
---@return string
function M.noting(text, note)
  local pieces, at, words = {}, 1, M.words(text, "lua")
  local i = 1
  while words[i] do
    if words[i].text == "function" then
      local line = words[i].line
      while words[i].text ~= ")" do i = i + 1 end
      pieces[#pieces + 1] = text:sub(at, words[i].last) .. (" NOTED(%d)"):format(line)
      at = words[i].last + 1
    end
    i = i + 1
  end
  return ("local NOTED = %s NOTED(0) %s"):format(note, table.concat(pieces) .. text:sub(at))
end

return M
