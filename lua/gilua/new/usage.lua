-- usage: how a name stands in a kernel's body: read or written, as an index, in pairs. From the
-- words alone: what is done with it under another name is not seen, so what is passed on may be
-- anything.

local csource = require "gilua.source.csource"

local M = {}

local MOST_WORDS = 40 -- of an expression

local CHANGES = csource.set "+= -= *= /= %= &= |= ^= <<= >>= ++ --"

-- Does the name at a token stand where it is declared, as a pointer: `float *x;`?
local function is_declared(body, i)
  local after = body[i + 1]
  return body[i - 1] == "*" and body:kind(i - 2) == "name" and (after == ";" or after == ",")
end

-- The places of a name: not those where it is a member of something, as in threadIdx.x; of a
-- member's also these, and those without what it is a member of, as its functions have it.
local function places(body, name, is_member)
  local i = 0
  return function()
    repeat
      i = body:find(i + 1, name)
      local is_other = i and not is_member and (body[i - 1] == "." or body[i - 1] == "->")
    until not i or not is_other and not (is_member and is_declared(body, i))
    return i
  end
end

-- Behind the `[index]` and `.member` at a token, and whether there is an index. Only an element has
-- members: a pointer has none.
local function past_members(body, k, is_element)
  while true do
    if body[k] == "[" and body:match(k) then
      k, is_element = body:match(k) + 1, true
    elseif is_element and body[k] == "." and body:kind(k + 1) == "name" then
      k = k + 2
    else
      return k, is_element
    end
  end
end

-- The tokens before and behind an element whose name is at a token, with the parentheses that are
-- only around it; nil where it is no element but the pointer itself.
local function around(body, i)
  local from = csource.chain_start(body, i) - 1
  local behind, is_element = past_members(body, i + 1, false)
  if not is_element and body[from] == "*" then from, is_element = from - 1, true end
  while body[from] == "(" and body:match(from) == behind and body:kind(from - 1) ~= "name" do
    from, behind = from - 1, past_members(body, behind + 1, is_element)
  end
  return is_element and from, behind
end

-- Does the & at a token take an address? Else it is between two numbers.
local function takes_address(body, i)
  local before, kind = body[i - 1], body:kind(i - 1)
  if before == "return" then return true end
  return kind ~= "name" and kind ~= "number" and before ~= ")" and before ~= "]"
end

-- What one place does with a name: "read", "written", "changed" or "other".
local function use_at(body, i)
  local from, behind = around(body, i)
  if not from then return "other" end
  local before, after = body[from], body[behind]
  if CHANGES[after] or before == "++" or before == "--"
      or before == "&" and takes_address(body, from) then
    return "changed"
  end
  return after == "=" and "written" or "read"
end

--- Is an array read, is it written?
---@param body userdata tokens
---@param name string
---@param is_member? boolean of a struct
---@return string "in", "out" or "inout"
function M.role(body, name, is_member)
  local uses = {}
  for i in places(body, name, is_member) do uses[use_at(body, i)] = true end
  if uses.other or uses.changed then return "inout" end -- passed on: who knows
  if not uses.written then return "in" end
  return uses.read and "inout" or "out"
end

--- Is an element handed on to a function, which may take a reference to it: `swap(x[i], x[j])`?
---@param body userdata tokens
---@param name string
---@return boolean
function M.is_handed_on(body, name)
  for i in places(body, name) do
    local from, behind = around(body, i)
    local before, after = body[from or 0], body[behind or 0]
    if (before == "(" or before == ",") and (after == ")" or after == ",") then return true end
  end
  return false
end

-- The name of the array whose [ ] a token is in; nil in none. `""` where it has no name.
local function indexed_at(body, i)
  local k = i - 1
  while k > 0 and body[k] ~= ";" and body[k] ~= "{" and body[k] ~= "}" do
    local match = body:match(k)
    if body[k] == "[" and match and match > i then
      return body:kind(k - 1) == "name" and body[k - 1] or ""
    end
    k = match and match < k and match - 1 or k - 1
  end
end

-- The variables that get what an expression with a name is, such as `v = x[i] + 1`.
local function made_of(body, name, is_member)
  local list = {}
  for i in places(body, name, is_member) do
    local k = i - 1
    while k > i - MOST_WORDS and body[k] and body[k] ~= ";" and body[k] ~= "{" and body[k] ~= "}"
        and body[k] ~= "=" do k = k - 1 end
    if body[k] == "=" and body:kind(k - 1) == "name" then list[#list + 1] = body[k - 1] end
  end
  return list
end

--- The array in whose index a name stands, or a variable that is made of it; "" where the array has
--- no name; nil where there is none.
---@param body userdata tokens
---@param name string
---@param is_member? boolean of a struct
---@return string?
function M.index_of(body, name, is_member)
  for i in places(body, name, is_member) do
    local array = indexed_at(body, i)
    if array and array ~= name then return array end
  end
  for _, variable in ipairs(made_of(body, name, is_member)) do
    for i in places(body, variable) do
      local array = indexed_at(body, i)
      if array and array ~= name then return array end
    end
  end
end

--- Does the name stand in an index?
---@param body userdata tokens
---@param name string
---@param is_member? boolean of a struct
---@return boolean
function M.is_index(body, name, is_member)
  return M.index_of(body, name, is_member) ~= nil
end

-- Is an index one of `[… + 1]` (`next`), or one without a + (`plain`)? No other index is in it.
local function index_kind(body, open)
  local close = body:match(open)
  local inner = body:find(open + 1, "[")
  if not close or inner and inner < close then return nil end
  if body[close - 1] == "1" and body[close - 2] == "+" then return "next" end
  local plus = body:find(open, "+")
  return not (plus and plus < close) and close > open + 1 and "plain" or nil
end

--- Is an array read at an index and the next one, as offsets of rows are?
---@param body userdata tokens
---@param name string
---@return boolean next at `[i + 1]`
---@return boolean pairs and at an index without a + as well
function M.pairs(body, name)
  local kinds = {}
  for i in places(body, name) do
    if body[i + 1] == "[" then kinds[index_kind(body, i + 1) or ""] = true end
  end
  return kinds.next or false, kinds.next and kinds.plain or false
end

-- The variable of a loop that begins at a name: `for (int j = name …`.
local function loop_at(body, name)
  for i in places(body, name) do
    local k = i - 2
    while body:kind(k) == "name" or body[k] == "::" do k = k - 1 end
    if body[i - 1] == "=" and k < i - 2 and body[k] == "(" and body[k - 1] == "for" then
      return body[i - 2]
    end
  end
end

--- The variable of a loop that begins at an array's element: `for (int j = rows[i]; …`, or at a
--- variable that is made of one: `int first = rows[i]; for (int j = first; …`.
---@param body userdata tokens
---@param name string
---@return string?
function M.loop_from(body, name)
  local found = loop_at(body, name)
  for _, variable in ipairs(found and {} or made_of(body, name)) do
    found = found or loop_at(body, variable)
  end
  return found
end

return M
