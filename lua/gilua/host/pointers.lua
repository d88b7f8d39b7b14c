-- pointers: what an expression of the host's code says of pointers, by its tree: the paths that its
-- value may be made of, and the calls.
--
-- A path is the name of an object that holds a pointer: `y`, `s.y`, `b[0]`. `p->y` and `(*p).y`
-- are `p.y`; `v.at(0)`, `std::get<0>(v)` and `v.first` are `v[0]`; `this->y` is `y`. The members of
-- a union share one path.

local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local expression = require "gilua.source.expression"

local M = {}

local ELEMENTS = { front = "0", back = "back", first = "0", second = "1" }
local OF_OWNER = csource.set "data get begin" -- functions that give where the elements are
local COMPARES = csource.set "== != < > <= >= && ||"
local DEREFERENCES = csource.set "* & ++ --"

--- What is called, by its last name, and the arguments of its template; nil where that has no name.
---@param call table
---@return string? name
---@return string? template
function M.called(call)
  local f = call.callee
  if f.kind == "name" then return f.text:match "[^:%s]+$", f.template end
  return f.kind == "member" and f.name or nil
end

local function element(path, index)
  return path and ("%s[%s]"):format(path, (index:gsub("%s", "")))
end

--- The path of a part of an expression; nil where it is none.
---@param one HostTree
---@param node table?
---@return string?
function M.path(self, one, node)
  if not node then return nil end
  local kind, owner = node.kind, node.a and M.path(self, one, node.a)
  if kind == "name" then return node.text:match "[^:%s]+$" end
  if kind == "member" then
    if ELEMENTS[node.name] then return element(owner, ELEMENTS[node.name]) end
    local name = self.shares[node.name] or node.name
    return owner == "this" and name or owner and owner .. "." .. name
  elseif kind == "index" then
    return element(owner, code_of.part(one, node.index))
  elseif kind == "cast" or kind == "postfix" or kind == "unary" and DEREFERENCES[node.op] then
    return owner
  elseif kind ~= "call" then
    return nil
  end
  local name, template = M.called(node)
  if name == "get" and template then -- of a variant by its type
    local of = M.path(self, one, node.args[1])
    return template:find "^[%w_]+$" and element(of, template) or of
  end
  owner = M.path(self, one, node.callee.a)
  if OF_OWNER[name] then return owner or M.path(self, one, node.args[1]) end -- std::begin(v)
  local index = name == "at" and node.args[1] and code_of.part(one, node.args[1]) or ELEMENTS[name]
  return index and element(owner, index)
end

---@class PointerLeads
---@field paths string[]
---@field calls table[] nodes

--- Adds the paths and the calls that a part's value may be made of: not those of an index, of a
--- condition or of a comparison.
---@param one HostTree
---@param node table?
---@param found PointerLeads
---@return PointerLeads found
function M.leads(self, one, node, found)
  if not node then return found end
  local kind, path = node.kind, M.path(self, one, node)
  local function both(a, b)
    M.leads(self, one, a, found)
    return M.leads(self, one, b, found)
  end
  if kind == "unary" and node.op == "&" and path then
    found.paths[#found.paths + 1] = path:gsub("%[.*$", "")
  elseif path then
    found.paths[#found.paths + 1] = path
  elseif kind == "call" then
    found.calls[#found.calls + 1] = node
  elseif kind == "list" then
    for _, item in ipairs(node.items) do M.leads(self, one, item, found) end
  elseif kind == "binary" and node.op == "," then
    return M.leads(self, one, node.b, found)
  elseif kind ~= "binary" or not COMPARES[node.op] then
    both(node.a, node.b)
  end
  return found
end

--- What something begins with, one by one: items of a list, arguments of what makes a value. A list
--- of one list is that.
---@param init table tree
---@return table[]
function M.items(init)
  local name = init.kind == "call" and M.called(init) or ""
  local is_made = init.makes or name == "make_pair" or name == "make_tuple"
  local list = init.kind == "list" and init.items or is_made and init.args
    or expression.parts(init, ",", {})
  return #list == 1 and list[1].kind == "list" and M.items(list[1]) or list
end

return M
