-- csource: reads lists, template arguments, directives and #include lines from the tokens of CUDA
-- source (gi.grammar.tokens), without a parser. Every step is bounded, whatever the text is.

local core = require "gilua.core"
local settings = require "gilua.base.settings"

local M = {}

local MOST_WORDS = 200 -- of a list of template arguments

local set = settings.set
M.set = set

local NOT_IN_TEMPLATES = set "; { } ) ] && || ="
local BEHIND_TEMPLATES = set "( :: { , >" -- what makes `a < b > …` no comparison

M.tokens = core.grammar.tokens

--- The token that closes the `<` of a template's arguments: `>`, or a `>>` that closes another with
--- it. nil where none does.
---@param t userdata tokens
---@param i integer of the `<`
---@param is_head? boolean of `template <…>`, whose parameters have defaults
---@return integer?
function M.angle_end(t, i, is_head)
  local depth, k = 0, i
  while k <= i + MOST_WORDS do
    local word = t[k]
    local is_default = is_head and word == "="
    if not word or NOT_IN_TEMPLATES[word] and not is_default then return nil end
    if word == "<" then depth = depth + 1
    elseif word:find "^>+$" then depth = depth - #word end
    if depth <= 0 then return k end
    k = (t:match(k) or k) + 1
  end
end

--- The token behind i, or behind what begins with it: brackets, arguments of a template.
---@param t userdata tokens
---@param i integer
---@return integer
function M.past(t, i)
  local close = t:match(i)
  if close then return math.max(close, i) + 1 end
  if t[i] == "<" and t:kind(i - 1) == "name" then
    local angle = M.angle_end(t, i)
    if angle and (not t[angle + 1] or BEHIND_TEMPLATES[t[angle + 1]]) then return angle + 1 end
  end
  return i + 1
end

--- The first token of `a.b[i]->name` that ends at one.
---@param t userdata tokens
---@param i integer
---@return integer
function M.chain_start(t, i)
  while (t[i - 1] == "." or t[i - 1] == "->") and i > 2 do
    i = i - 2
    local open = t:match(i)
    while open and open < i do -- p[i].x, f(a).x
      i = open - 1
      open = t:match(i)
    end
  end
  return i
end

--- What stands between commas from one token to another: the first token and the last of each.
---@param t userdata tokens
---@param from integer
---@param to integer
---@return { [1]: integer, [2]: integer }[]
function M.ranges(t, from, to)
  local list, begun, i = {}, from, from
  while i <= to do
    if t[i] == "," then
      list[#list + 1], begun = { begun, i - 1 }, i + 1
    end
    i = M.past(t, i)
  end
  if from <= to then list[#list + 1] = { begun, to } end
  return list
end

--- Likewise, as texts.
---@param t userdata tokens
---@param from integer
---@param to integer
---@return string[]
function M.parts(t, from, to)
  local list = M.ranges(t, from, to)
  for i, range in ipairs(list) do list[i] = t:text(range[1], range[2]) end
  return list
end

--- Parts of a text at commas outside brackets and arguments of templates.
---@param text string
---@return string[]
function M.split(text)
  local t <close> = M.tokens(text)
  return M.parts(t, 1, #t)
end

local LONG_VALUES = 10000 -- characters between the braces
local NUMBERS = set "bool char short int long float double half __half signed unsigned size_t "
for _, bits in ipairs { 8, 16, 32, 64 } do
  NUMBERS[("int%d_t"):format(bits)], NUMBERS[("uint%d_t"):format(bits)] = true, true
end

-- The first token of the dimensions `[9][2]` before the `{` at token i; nil where there are none.
local function dimensions(t, i)
  local close, open = t[i - 1] == "=" and i - 2 or i - 1, nil
  while t[close] == "]" do
    open = t:match(close)
    close = open - 1
  end
  return open
end

-- Is the `{` at token i what an array begins with whose elements no type depends on? A word in
-- capitals may be a macro for any other. And whether its elements are numbers.
local function begins_array(t, open)
  local is_number = false
  for k = open - 2, math.max(1, open - MOST_WORDS), -1 do
    local word = t[k]
    if word == ";" or word == "}" or t:kind(k) == "directive" then return true, is_number end
    if word == "constexpr" or word == "," or not word:find "[%l*:<>%d]" then return false end
    is_number = is_number or NUMBERS[word] or false
  end
  return open - 2 < MOST_WORDS, is_number
end

-- How often a text has a word. Ctrl-C is heard between two, as it is not within one pattern.
local function count(text, word)
  local n, at = 0, text:find(word, 1, true)
  while at do n, at = n + 1, text:find(word, at + 1, true) end
  return n
end

--- The newlines of a text.
---@param text string
---@return string
function M.newlines(text)
  return ("\n"):rep(count(text, "\n"))
end

-- How many elements a list of numbers alone has; nil where braces or comments are in it.
local function elements(values)
  if values:find "[{/]" then return nil end
  return count(values, ",") + (values:find "[^%s,]%s*$" and 1 or 0)
end

-- What stands in the place of values, and of the length that they give an array.
local function mark_of(text)
  local mark = "values"
  while text:find("/*" .. mark, 1, true) do mark = mark .. "_" end
  return "/*" .. mark .. " %d*/"
end

-- What an array of length `[]` would have between these, from the `{` at token i to its `}`; "" for
-- one that says it; nil where its values must stay.
local function length_of(t, i, close, values)
  local open = dimensions(t, i)
  if not open then return nil end
  local is_array, is_number = begins_array(t, open)
  if not is_array or (t:word(i) or math.huge) < close then return nil end
  if t[open + 1] ~= "]" then return "" end
  local n = is_number and t[open + 2] ~= "[" and elements(values)
  return n and ("%d"):format(n)
end

local function leave_out_values(text)
  local t <close>, parts, at, mark = M.tokens(text), {}, 1, mark_of(text)
  local values = { mark = mark }
  local i = t:find(1, "{")
  while i do
    local close = t:match(i)
    local first, last = t:first(i), close and t:first(close)
    if close and last - first > LONG_VALUES then
      local list = text:sub(first + 1, last - 1)
      local length = length_of(t, i, close, list)
      if length then
        local n = #values + 1
        local here, open = mark:format(n), t:first(dimensions(t, i))
        values[n] = list
        if length ~= "" then
          parts[#parts + 1] = text:sub(at, open) .. here .. length
          at = open + 1
        end
        parts[#parts + 1] = text:sub(at, first) .. here .. M.newlines(list)
        at, i = last, close
      end
    end
    i = t:find(i + 1, "{")
  end
  return table.concat(parts) .. text:sub(at), values
end

local latest = {} -- the text that was asked of last: many ask again

--- A text without the many numbers that its arrays begin with, on lines as before: it declares the
--- same, and is read and compiled sooner. `with_values` makes the text again.
---@param text string
---@return string short
---@return table values what is left out, for `with_values`
function M.without_values(text)
  if #text < LONG_VALUES then return text, {} end
  if latest.text ~= text then
    latest = { text = text }
    latest.short, latest.values = leave_out_values(text)
  end
  return latest.short, latest.values
end

--- Puts values back into what is left of a text without them.
---@param short string
---@param values? table of `without_values`
---@return string
function M.with_values(short, values)
  for n, list in ipairs(values or {}) do
    local here = values.mark:format(n)
    local parts, at = {}, 1
    local first, last = short:find(here, 1, true)
    while first do
      parts[#parts + 1] = short:sub(at, first - 1)
      local length = short:match("^%d+()%]", last + 1)
      if not length then parts[#parts + 1] = list end
      at = length or last + 1 + count(list, "\n")
      first, last = short:find(here, at, true)
    end
    short = table.concat(parts) .. short:sub(at)
  end
  return short
end

--- The directives of a text: their token, first word and the rest of their words.
---@param t userdata tokens
---@return fun(): integer?, string?, userdata?
function M.directives(t)
  local i = 0
  return function()
    i = t:directive(i + 1)
    if not i then return nil end
    local words = t:inside(i)
    return i, words[1] or "", words
  end
end

--- What a directive's words define: a macro's name, its parameters, and the first word of its body.
---@param d userdata words of a directive
---@return string? name nil: it defines none
---@return string[]? params nil of one that is used as a name alone
---@return integer? from
function M.defined(d)
  if d[1] ~= "define" or not d[2] then return nil end
  local close = d[3] == "(" and d:first(3) == d:last(2) + 1 and d:match(3)
  if not close then return d[2], nil, 3 end
  return d[2], M.parts(d, 4, close - 1), close + 1
end

--- The file that an #include names, as it is spelled there; nil where it names none.
---@param directive string
---@return string?
function M.included(directive)
  return directive:match '^#%s*include%s*[<"]([^>"\n]+)[>"]'
end

--- The files that a text includes, in order, as they are spelled there.
---@param text string
---@return string[]
function M.includes(text)
  local t <close>, list = M.tokens(text), {}
  for i in M.directives(t) do list[#list + 1] = M.included(t[i]) end
  return list
end

return M
