--- members: what a struct has in it: the paths to all numbers and pointers ("at.x", "next"),
-- through structs in it and those that it is derived from.

local csource = require "gilua.source.csource"
local lists = require "gilua.base.lists"

local M = {}

local MOST_MEMBERS = 200
local MOST_DEPTH = 6
local NO_MEMBERS = csource.set "function expression type directive empty"
local QUALIFIERS = csource.set "const volatile struct class union enum typename unsigned signed"

---@class StructMember
---@field path string
---@field struct string the last name of its type, which may be a struct's

---@class HostStruct of source:classes, with
---@field code HostText
---@field classes table<integer, HostStruct> those of its text, by their nodes
---@field bases string[]
---@field align? string

--- What of a text's first class is at a line.
---@param code HostText
---@param line integer
---@return { first: integer, last: integer }? item nil where that is its head
function M.statement_at(code, line)
  for _, item in ipairs(code.s:classes()[1] or {}) do
    if code.t:line(item.first) <= line and line <= code.t:line(item.last) then return item end
  end
end

--- The last name of a type, which a struct may have: `const ns::vec<float> *` is vec's; "" where it
--- has none.
---@param type string
---@return string
function M.last_name(type)
  local last = ""
  for name in type:gsub("%b<>", " "):gmatch "[%a_][%w_]*" do
    if not QUALIFIERS[name] then last = name end
  end
  return last
end

local add_members

-- Adds what a struct that lies in another has in it, its paths behind some words.
local function add_inner(self, words, struct, depth)
  local outer = self.prefix
  self.prefix = outer .. words
  local known = depth <= MOST_DEPTH and add_members(self, struct, depth + 1)
  self.prefix = outer
  return known
end

-- Adds a member, or what a struct by value has in it; `own` is one that its declaration defines.
local function add(self, code, d, own, depth)
  if d.static or d["function"] then return true end
  if d.reference or d.rows or code.t[d.token + 1] == ":" then return false end -- bits
  local type = M.last_name(d.type)
  local inner = d.pointer == 0 and (own or self.host:struct(type))
  if inner then
    return #d.extents == 0 and add_inner(self, d.name .. ".", inner, depth)
  end
  self.list[#self.list + 1] = { path = self.prefix .. d.name, struct = type }
  return #self.list <= MOST_MEMBERS
end

-- Adds what an item of a struct declares; `before` is the item before it. Is it understood?
local function add_item(self, struct, item, before, depth)
  local t = struct.code.t
  if NO_MEMBERS[item.kind] then return true end
  if item.kind == "class" then -- members of one without a name are this one's
    local inner = struct.classes[item.node]
    return not inner or inner.name or inner.close + 1 < item.last
      or add_inner(self, "", inner, depth)
  elseif item.kind ~= "declaration" then -- a constructor that is deleted, an operator
    local open, equals = t:find(item.first, "("), t:find(item.first, "=")
    return open ~= nil and open < item.last and (not equals or open < equals)
  end
  local own = before and before.kind == "class" and before.last == item.last
    and struct.classes[before.node] or nil
  return lists.none(item.declared, function(d) return not add(self, struct.code, d, own, depth) end)
end

function add_members(self, struct, depth)
  for _, base in ipairs(struct.bases) do
    local of = self.host:struct(base)
    if not of or depth > MOST_DEPTH or not add_members(self, of, depth + 1) then return false end
  end
  local before = #self.list
  for k, item in ipairs(struct) do
    if not add_item(self, struct, item, struct[k - 1], depth) then return false end
    if struct.tag == "union" and #self.list > before then break end -- the others lie there too
  end
  return true
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
