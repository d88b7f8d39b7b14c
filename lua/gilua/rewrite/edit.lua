--- edit: changes of a text by its tokens, as whole lines: what a transformation's `make` returns.
--
--   local e = edit.new(kernel)
--   e:replace(first, last, text)      tokens first to last are this text
--   e:before(token, text)             this stands before a token; e:after(token, text) behind it
--   e:lead(token, text)               before it, in the place of the blanks its line begins with
--   e:remove(first, last)             they are gone, and their lines if they stand alone there
--   e:drop(s)                         a statement is gone, with its pragmas
--   e:around(s, before, after)        lines before and behind a statement, in braces of their own
--                                     where it is the one statement of an if or a loop
--   return { edits = e:lines(), says = … }
--
-- Edits of one `make` do not overlap.

local M = {}

local Edit = {}
Edit.__index = Edit

function M.new(kernel) return setmetatable({ kernel = kernel, changes = {} }, Edit) end

local function add(self, from, to, text)
  local list = self.changes
  list[#list + 1] = { from = from, to = to, text = text, order = #list }
end

function Edit:replace(first, last, text)
  add(self, self.kernel.first[first], self.kernel.last[last], text)
end

function Edit:before(token, text)
  add(self, self.kernel.first[token], self.kernel.first[token] - 1, text)
end

function Edit:after(token, text)
  add(self, self.kernel.last[token] + 1, self.kernel.last[token], text)
end

function Edit:lead(token, text)
  local kernel = self.kernel
  if not kernel:begins_line(token) then return self:before(token, text) end
  add(self, kernel.first[token] - #kernel:indent(token), kernel.first[token] - 1, text)
end

function Edit:remove(first, last)
  local kernel = self.kernel
  local from, to = kernel.first[first], kernel.last[last]
  local is_alone = kernel:begins_line(first) and kernel.text:find("^[ \t]*\n", to + 1)
  if is_alone then from = from - #kernel:indent(first) - 1 end
  add(self, from, to, "")
end

local function indented(lines, indent)
  local list = {}
  for _, line in ipairs(lines or {}) do
    list[#list + 1] = (indent .. line):gsub("\n", "\n" .. indent)
  end
  return list
end

--- Where a statement begins, with the pragmas that belong to it.
function M.beginning(s)
  local first = s.first
  local body = s.parent and s.parent.kind == "block" and s.parent.body or {}
  for i = #body, 2, -1 do
    if body[i].first == first and body[i - 1].kind == "directive"
      and body[i - 1].name == "pragma" then
      first = body[i - 1].first
    end
  end
  return first
end

--- Is a statement one of a list, so that others may stand beside it?
function M.is_listed(s) return s.parent ~= nil and s.parent.kind == "block" end

--- Returns the blanks by which a function's body is indented.
---@return string
function M.unit(fn)
  local kernel, first = fn.kernel, fn.body.body[1]
  local outer, inner = kernel:indent(fn.first), first and kernel:indent(first.first) or ""
  return #inner > #outer and inner:sub(1, #outer) == outer and inner:sub(#outer + 1) or "  "
end

function Edit:around(s, before, after)
  local kernel = self.kernel
  local indent = kernel:indent(s.first)
  local first = M.beginning(s)
  if M.is_listed(s) then
    for _, line in ipairs(indented(before, indent)) do
      self:before(first, line:sub(#indent + 1) .. "\n" .. indent)
    end
    for _, line in ipairs(indented(after, indent)) do self:after(s.last, "\n" .. line) end
    return
  end
  local text = "{"
  for _, line in ipairs(indented(before, indent)) do text = text .. "\n" .. line end
  self:before(first, text .. "\n" .. indent)
  text = ""
  for _, line in ipairs(indented(after, indent)) do text = text .. "\n" .. line end
  self:after(s.last, text .. "\n" .. indent .. "}")
end

function Edit:drop(s)
  if not M.is_listed(s) then return self:replace(s.first, s.last, ";") end
  local first = M.beginning(s)
  if first ~= s.first then self:remove(first, s.first - 1) end
  self:remove(s.first, s.last)
end

--- Blanks before the last line of tokens, which may have other text behind it; and for `indent` of
--- the change the lines between it and the first, whose blanks are the caller's.
---@return table? { first, last, blanks } nil where there are none between
function Edit:deepen(first, last, blanks)
  local kernel = self.kernel
  local from, to, opens = kernel:line_of(first), kernel:line_of(last), last
  while kernel:line_of(opens - 1) == to do opens = opens - 1 end
  if to > from then self:before(opens, blanks) end
  return to - 1 > from and { from + 1, to - 1, #blanks } or nil
end

local function by_place(a, b)
  if a.from ~= b.from then return a.from < b.from end
  if (a.to < a.from) ~= (b.to < b.from) then return a.to < a.from end -- insertions first
  return a.order < b.order
end

-- Changes that touch the same lines, one list a group.
local function grouped(self)
  local kernel, groups = self.kernel, {}
  table.sort(self.changes, by_place)
  for _, change in ipairs(self.changes) do
    local first = kernel:line_at(change.from)
    local last = math.max(first, kernel:line_at(change.to))
    local group = groups[#groups]
    if not group or first > group.last then
      group = { first = first, last = last }
      groups[#groups + 1] = group
    end
    group.last = math.max(group.last, last)
    group[#group + 1] = change
  end
  return groups
end

--- The changes as { { first, last, text }, … }: logical lines first to last become this text.
--- nil where two of them overlap.
function Edit:lines()
  local kernel, list = self.kernel, {}
  for _, group in ipairs(grouped(self)) do
    local at, parts = kernel:line_bytes(group.first), {}
    for _, change in ipairs(group) do
      if change.from < at then return nil end
      parts[#parts + 1] = kernel.text:sub(at, change.from - 1) .. change.text
      at = math.max(change.to + 1, change.from)
    end
    local _, last = kernel:line_bytes(group.last)
    parts[#parts + 1] = kernel.text:sub(at, last)
    list[#list + 1] = { group.first, group.last, table.concat(parts) }
  end
  return list
end

return M
