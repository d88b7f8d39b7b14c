--- code: a text of the host's as words (gi.grammar.tokens) and as a tree (gi.grammar.source), which
-- count tokens alike; and functions over both.

local core = require "gilua.core"
local csource = require "gilua.source.csource"
local expression = require "gilua.source.expression"
local lists = require "gilua.base.lists"

local M = {}

local MOST_WORDS = 400 -- of a value: one that has more is not understood

---@class HostText
---@field t userdata tokens
---@field s userdata source
---@field name? string the header's; nil: the file's own text
---@field functions HostFunction[] in the order of the text
---@field calls table[] of `$f($$args)`, in the order of the text
---@field loops table[] of gilua.rounds
---@field places table<string, table[]> of patterns
---@field trees table<string, HostTree>
---@field sites? LaunchSite[] once they are asked for
---@field declared? table[] likewise
---@field body? HostFunction that a macro's text stands in

--- Sorts pieces by where they begin, outer ones first.
---@param list { first: integer, last: integer }[]
---@return table list
function M.in_order(list)
  table.sort(list, function(a, b)
    return a.first < b.first or a.first == b.first and a.last > b.last
  end)
  return list
end

-- With no tree it has no more than words.
local function made(t, s, name)
  local one = { t = t, s = s, name = name, functions = {}, places = {}, trees = {},
    declared = not s and {} }
  one.calls = M.in_order(M.found(one, "$f($$args)"))
  return one
end

---@param text string
---@param name? string
---@return HostText
function M.of(text, name)
  return made(core.grammar.tokens(text), core.grammar.source(text), name)
end

--- The text of the directive at a token. A macro's has a tree where it may do anything.
---@param i integer
---@param body? HostFunction in which it is defined
---@return HostText
function M.inside(code, i, body)
  local does = code.t[i]:find "^#%s*define%s.*[=(<]"
  local one = made(code.t:inside(i), does and code.s:inside(i) or nil, code.name)
  one.body = body
  return one
end

--- Notes of pieces which are within others: `outer`.
---@param list { first: integer, last: integer }[] in the order of the text
---@return table list
function M.nested(list)
  local outer
  for _, one in ipairs(list) do
    while outer and outer.last < one.first do outer = outer.outer end
    one.outer, outer = outer, one
  end
  return list
end

--- The innermost piece that a token is in.
---@param list { first: integer, last: integer }[] of M.nested
---@param i integer
---@return table?
function M.around(list, i)
  local low, high = 0, #list -- the last that begins before it
  while low < high do
    local k = (low + high + 1) // 2
    if list[k].first < i then low = k else high = k - 1 end
  end
  local one = list[low]
  while one and one.last < i do one = one.outer end
  return one
end

--- The words of a piece.
---@param piece { first: integer, last: integer }
---@return string
function M.text(code, piece)
  return code.t:text(piece.first, piece.last)
end

--- The words of each piece.
---@param pieces { first: integer, last: integer }[]
---@return string[]
function M.texts(code, pieces)
  return lists.map(pieces, function(piece) return M.text(code, piece) end)
end

--- Every name that a text declares.
---@return table[] of source:declarations
function M.declarations(code)
  code.declared = code.declared or code.s:declarations()
  return code.declared
end

--- The places of a pattern, which are looked for once.
---@param pattern string
---@return table[] of source:find
function M.found(code, pattern)
  code.places[pattern] = code.places[pattern] or code.s and code.s:find(pattern) or {}
  return code.places[pattern]
end

---@class HostTree an expression
---@field text string
---@field tree table? of gilua.expression; nil: it is not understood
---@field t userdata tokens, as the tree counts them

--- The tree of a text, which is read once.
---@param self { trees: table<string, HostTree> } HostCode, or HostText
---@param text string
---@return HostTree
function M.tree(self, text)
  local one = self.trees[text]
  if not one then
    local s <close> = core.grammar.source(text)
    one = { text = text, tree = s:expression(), t = csource.tokens(text) }
    self.trees[text] = one
  end
  return one
end

--- The words of a part of an expression.
---@param one HostTree
---@param node table
---@return string
function M.part(one, node) return one.t:text(node.first, node.last) end

--- Calls visit(node) for the nodes of a text, of a list in braces too: see gilua.expression.walk.
---@param text string
---@param visit fun(node: table): boolean?
function M.walk(self, text, visit)
  local one = M.tree(self, text)
  local open = not one.tree and one.t[1] == "{" and one.t:match(1) == #one.t
  for _, item in ipairs(open and csource.parts(one.t, 2, #one.t - 1) or {}) do
    M.walk(self, item, visit)
  end
  expression.walk(one.tree, visit)
end

--- The names in an expression, without those of members: functions' too.
---@param one HostTree
---@return string[]
function M.names(one)
  local list = {}
  expression.walk(one.tree, function(node)
    if node.kind == "name" then list[#list + 1] = node.text:match "[^:%s]+$" end
  end)
  return list
end

--- What stands in the [ ] of a declaration; "" where that is not understood.
---@param d table of source:declarations
---@return string[]
function M.extents(code, d)
  return lists.map(d.extents, function(extent) return extent and M.text(code, extent) or "" end)
end

--- What a declaration begins with: `5` of `= 5`, `(5)`, `{5}` and `= {5}`. Nil where it begins with
--- nothing, or with several.
---@param d table of source:declarations
---@return { first: integer, last: integer }?
function M.begun(code, d)
  local t, from, last = code.t, d.init_at, d.last
  if not from or last > from + MOST_WORDS then return nil end
  if t[from] == "=" then from = from + 1 end
  if t:match(from) == last and (from == d.init_at or t[from] == "{") then
    from, last = from + 1, last - 1
    if #csource.ranges(t, from, last) ~= 1 then return nil end
  end
  return from <= last and { first = from, last = last } or nil
end

--- Likewise, as a text.
---@param d table of source:declarations
---@return string?
function M.value(code, d)
  local piece = M.begun(code, d)
  return piece and M.text(code, piece)
end

--- The name that is called, or launched.
---@param callee { token?: integer, kind: string }
---@return string? name
---@return string[] template its arguments
function M.called(code, callee)
  if callee.kind ~= "name" and callee.kind ~= "member" then return nil, {} end
  local angle = callee.open and code.t:text(callee.open + 1, callee.close):sub(1, -2) or ""
  return code.t[callee.token], angle == "" and {} or csource.split(angle)
end

return M
