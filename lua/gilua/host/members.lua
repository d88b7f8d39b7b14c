-- members: what a struct has in it, by the words of its file: the paths to all numbers and pointers
-- ("at.x", "next"), through structs in it and those that it is derived from.

local csource = require "gilua.source.csource"

local M = {}

local MOST_MEMBERS = 200
local MOST_DEPTH = 6
local SKIPPED = csource.set("static typedef using friend template operator virtual explicit "
  .. "constexpr inline __device__ __host__ __forceinline__ __global__ __noinline__ enum")
local ACCESS = csource.set "public private protected"
local NESTED = csource.set "struct class union"
local ATTRIBUTES = csource.set "alignas __align__ __attribute__"
local BEHIND_NAME = csource.set "= { : ["
local QUALIFIERS = csource.set "const volatile struct class union enum typename unsigned signed"

---@class StructMember
---@field path string
---@field struct string the last name of its type, which may be a struct's

-- Behind a token of a declaration, or what begins with it: there `<` is a template's.
local function past(t, i)
  local angle = t[i] == "<" and csource.angle_end(t, i)
  return angle and angle + 1 or csource.past(t, i)
end

-- Does a body begin at a token, or what a member begins with? `A(int x) : x_{ x }, n{ 1 } {}`
local function is_body(t, i)
  local close = t[i] == "{" and t:match(i)
  return close and t[close + 1] ~= "{" and t[close + 1] ~= ","
end

-- Behind a statement: its `;`, or the body that ends it.
local function past_statement(t, i, last)
  while i <= last and t[i] ~= ";" do
    local close = t:match(i)
    if is_body(t, i) then
      return t[close + 1] == ";" and close + 2 or close + 1
    end
    i = past(t, i)
  end
  return i + 1
end

-- From one token to another, is there a parameter list, as of a function?
local function is_function(t, from, to)
  local i = from
  while i <= to do
    if t[i] == "(" then return true end
    if BEHIND_NAME[t[i]] and t[i] ~= "[" then return false end
    i = past(t, i)
  end
  return false
end

--- The tokens, first and last, of the statement of a class's body that is at a line; nil for none.
---@param t userdata tokens
---@param open integer the '{' of the body
---@param line integer
---@return integer? first
---@return integer? last
function M.statement_at(t, open, line)
  local i, last = open + 1, (t:match(open) or open) - 1
  while i <= last do
    if ACCESS[t[i]] and t[i + 1] == ":" then i = i + 2 end
    local behind = t:kind(i) == "directive" and i + 1 or past_statement(t, i, last)
    if i <= last and t:line(i) <= line and line <= t:line(math.min(behind - 1, last)) then
      return i, math.min(behind - 1, last)
    end
    i = behind
  end
end

--- The last name of a type, which a struct may have: `const ns::vec<float> *` is vec's.
---@param t userdata tokens
---@param from integer
---@param to integer
---@return string? name
function M.last_name(t, from, to)
  local name, i = nil, from
  while i <= to do
    if t:kind(i) == "name" and not QUALIFIERS[t[i]] then name = t[i] end
    i = past(t, i)
  end
  return name
end

-- The token of the name that a declarator from one token to another declares.
local function name_at(t, from, to)
  local i = from
  while i <= to and not BEHIND_NAME[t[i]] do i = past(t, i) end
  return t:kind(i - 1) == "name" and i - 1 or nil, t[i] == ":" and i <= to
end

-- The parts between commas of a declaration: { first, last }.
local function declarators(t, from, to)
  local list, begun, i = {}, from, from
  while i <= to do
    if t[i] == "," then
      list[#list + 1], begun = { begun, i - 1 }, i + 1
    end
    i = past(t, i)
  end
  list[#list + 1] = { begun, to }
  return list
end

local add_members

-- Adds a member, or what a struct by value has in it.
local function add(self, name, struct, is_pointer, is_array, depth)
  local path = self.prefix .. name
  local inner = not is_pointer and self.host:struct(struct)
  if not inner then
    self.list[#self.list + 1] = { path = path, struct = struct }
    return #self.list <= MOST_MEMBERS
  end
  if depth > MOST_DEPTH or is_array then return false end
  local outer = self.prefix
  self.prefix = path .. "."
  local known = add_members(self, inner, depth + 1)
  self.prefix = outer
  return known
end

-- `type *a, b[3] = …;` from one token to its `;`. All of them are of the type before the first.
local function add_declaration(self, t, from, to, depth)
  local struct
  for _, part in ipairs(declarators(t, from, to)) do
    local at, is_bits = name_at(t, part[1], part[2])
    if not at or is_bits then return false end
    local star = nil
    for i = at - 1, part[1], -1 do
      if t[i] == "&" or t[i] == "(" then return false end
      if t[i] == "*" then star = i end
    end
    struct = struct or M.last_name(t, part[1], (star or at) - 1) or ""
    if not add(self, t[at], struct, star ~= nil, t[at + 1] == "[", depth) then return false end
  end
  return true
end

-- A struct that is declared in another: where it declares no member itself its members are this
-- one's. Behind it; nil where it is not understood.
local function add_nested(self, t, i, last, depth)
  local open = i + 1
  while open <= last and t[open] ~= "{" and t[open] ~= ";" do open = open + 1 end
  local close = t[open] == "{" and t:match(open)
  if not close then return false end -- `struct foo x;`
  local known = { tokens = t, open = open, is_union = t[i] == "union" }
  if t[close + 1] == ";" then
    local is_unnamed = open == i + 1
    return close + 2, not is_unnamed or add_members(self, known, depth + 1)
  end
  local stop = t:find(close, ";")
  for _, part in ipairs(stop and declarators(t, close + 1, stop - 1) or {}) do
    local outer = self.prefix
    if part[1] ~= part[2] or t:kind(part[1]) ~= "name" then return stop + 1, false end
    self.prefix = outer .. t[part[1]] .. "."
    local fine = add_members(self, known, depth + 1)
    self.prefix = outer
    if not fine then return stop + 1, false end
  end
  return stop + 1, true
end

-- Adds what a statement declares. Behind it, and whether it is understood.
local function add_statement(self, t, i, last, depth)
  if t:kind(i) == "directive" or t[i] == ";" then return i + 1, true end
  if ACCESS[t[i]] and t[i + 1] == ":" then return i + 2, true end
  while ATTRIBUTES[t[i]] and t[i + 1] == "(" do i = (t:match(i + 1) or i + 1) + 1 end
  if NESTED[t[i]] then
    local behind, fine = add_nested(self, t, i, last, depth)
    if behind then return behind, fine end
  end
  local stop = i
  while stop <= last and t[stop] ~= ";" do stop = past(t, stop) end
  if SKIPPED[t[i]] or t[i] == "~" or is_function(t, i, stop) then
    return past_statement(t, i, last), true
  end
  return stop + 1, add_declaration(self, t, i, stop - 1, depth)
end

function add_members(self, struct, depth)
  local t, known = struct.tokens, true
  for _, base in ipairs(struct.bases or {}) do
    local of = self.host:struct(base)
    known = known and of ~= nil and depth <= MOST_DEPTH and add_members(self, of, depth + 1)
  end
  local i, last, before = struct.open + 1, t:match(struct.open) - 1, #self.list
  while known and i <= last do
    i, known = add_statement(self, t, i, last, depth)
    if struct.is_union and #self.list > before then break end -- the others lie in the same place
  end
  return known
end

--- The members of a struct that the file has.
---@param host HostCode
---@param name string
---@return StructMember[]?
---@return string? why not
function M.paths(host, name)
  local struct = host:struct(name)
  if not struct then return nil, ("the file has no struct %s"):format(name) end
  local self = { host = host, list = {}, prefix = "" }
  if not add_members(self, struct, 1) then
    return nil, ("what is in the struct %s is not understood"):format(name)
  end
  if #self.list == 0 then return nil, ("the struct %s has nothing in it"):format(name) end
  return self.list
end

return M
