-- slice: what a GPU needs of a file that was written for nvcc.
--
-- The result has the file's lines under their numbers, but blank where they are only for the host:
-- functions of the host, other kernels, and whatever else NVRTC does not take and the kernel does
-- not need. The kernel gets a name that can be asked for: extern "C", and a template's arguments as
-- a type and a constant of those names. Each such edit is kept, so that `gilua apply` can carry
-- changes back into the file.

local core = require "gilua.core"

local M = {}

local MOST_ROUNDS = 40 -- of compiling and leaving out

---@class Slice
---@field source string
---@field edits table[] { line, was, now }
---@field left_out table[] { line, last_line, what, why }
---@field kernel string its name

---The text with comments and what stands in quotes blank, byte for byte.
---@param text string
---@return string
function M.code_of(text)
  local function blank(s) return (s:gsub("[^\n]", " ")) end
  local parts, at = {}, 1
  while at <= #text do
    local from = text:find("[/\"']", at)
    if not from then break end
    local two, to = text:sub(from, from + 1), nil
    if two == "//" then to = (text:find("\n", from, true) or #text + 1) - 1
    elseif two == "/*" then to = select(2, text:find("*/", from + 2, true)) or #text
    elseif text:sub(from, from) == "/" then to = nil
    else
      local quote = text:sub(from, from)
      local i = from + 1
      while i <= #text and text:sub(i, i) ~= quote and text:sub(i, i) ~= "\n" do
        i = i + (text:sub(i, i) == "\\" and 2 or 1)
      end
      to = math.min(i, #text)
    end
    parts[#parts + 1] = text:sub(at, from - 1)
    parts[#parts + 1] = to and blank(text:sub(from, to)) or "/"
    at = (to or from) + 1
  end
  parts[#parts + 1] = text:sub(at)
  return table.concat(parts)
end

local function line_at(text, byte)
  local _, n = text:sub(1, byte - 1):gsub("\n", "")
  return n + 1
end

--------------------------------------------------------------------------------------------------
-- The kernel's head

-- What stands in place of `template <typename T, int N>`: the arguments under the same names.
local function bindings(text, item, arguments, kernel)
  local list = {}
  for i, p in ipairs(item.template) do
    local declared = text:sub(p.first, p.last):gsub("%s*=.*$", "")
    local value = arguments[i]
    if not value then
      require("gilua").fail("kernel %s is a template and nothing says what its parameter '%s' is: "
        .. "give --template with %d arguments, such as --template float,256", kernel, p.name,
        #item.template)
    end
    list[i] = (declared:find("^typename%f[^%w_]") or declared:find("^class%f[^%w_]"))
      and ("using %s = %s;"):format(p.name, value)
      or ("constexpr %s = %s;"):format(declared, value)
  end
  return table.concat(list, " ") .. " "
end

-- { first, last, now } of the kernel's head; nil where it is extern "C" already.
local function head_edit(text, item, arguments, outer)
  local head = text:sub(item.first, item.head)
  if outer or head:find('^%s*extern%s*"C"') then return nil end
  local first, last, now = item.first, item.first - 1, 'extern "C" '
  if item.template and #item.template > 0 then
    last = text:find(">", item.template[#item.template].last + 1, true)
    now = bindings(text, item, arguments, item.name) .. 'extern "C"'
  end
  local static_first, static_last = text:find("^%s*static%f[^%w_]", last + 1)
  if static_first then last, now = static_last, now:gsub("%s+$", "") end
  local _, lines = text:sub(first, last):gsub("\n", "")
  return { first = first, last = last, now = now .. ("\n"):rep(lines) }
end

--------------------------------------------------------------------------------------------------
-- Leaving out

local Slicer = {}
Slicer.__index = Slicer

function Slicer:leave_out(item, why)
  self.gone[item] = true
  local what = item.name or self.text:sub(item.first, item.last):match("^[^\n]*")
  table.insert(self.left_out, { line = item.line, last_line = item.last_line, what = what,
    why = why })
end

function Slicer:result()
  local parts, at = {}, 1
  local changes = {}
  for item in pairs(self.gone) do
    changes[#changes + 1] = { first = item.first, last = item.last,
      now = (self.text:sub(item.first, item.last):gsub("[^\n]", "")) }
  end
  if self.edit then changes[#changes + 1] = self.edit end
  table.sort(changes, function(a, b) return a.first < b.first end)
  for _, c in ipairs(changes) do
    parts[#parts + 1] = self.text:sub(at, c.first - 1)
    parts[#parts + 1] = c.now
    at = c.last + 1
  end
  parts[#parts + 1] = self.text:sub(at)
  return table.concat(parts)
end

-- The item or #include line that a line belongs to.
function Slicer:item_at(line)
  for _, item in ipairs(self.items) do
    if item.line <= line and line <= item.last_line and not self.gone[item] then return item end
  end
  local n, first = 1, 1
  while n < line do
    first = (self.text:find("\n", first, true) or #self.text) + 1
    n = n + 1
  end
  local last = (self.text:find("\n", first, true) or #self.text + 1) - 1
  local text = self.text:sub(first, last)
  if not text:find("^%s*#%s*include") then return nil end
  local item = { first = first, last = last, line = line, last_line = line, name = text }
  if self.include_gone[line] then return nil end
  self.include_gone[line] = true
  return item
end

-- The first error as { line, text }: one inside a header counts as its #include line's.
local function first_error(log, name, text)
  for file, line, words in log:gmatch("([^\n]-)%((%d+)%): [%a ]*error: ([^\n]*)") do
    if file == name then return { line = tonumber(line), text = words } end
    local base = file:match("([^/]+)$")
    local n = 0
    for l in (text .. "\n"):gmatch("(.-)\n") do
      n = n + 1
      if l:find("^%s*#%s*include") and l:find(base, 1, true) then
        return { line = n, text = words, header = file, header_line = tonumber(line) }
      end
    end
    return { line = nil, text = ("%s(%s): %s"):format(file, line, words) }
  end
  return { line = nil, text = log:match("^%s*(.-)\n") or log }
end

local function refuse(self, e)
  local place = e.header and ("%s:%d, included at line %d"):format(e.header, e.header_line, e.line)
    or ("%s:%s"):format(self.name, e.line or "?")
  local lost = {}
  for _, l in ipairs(self.left_out) do
    if l.why:find("^it does not compile") then
      lost[#lost + 1] = ("line %d was left out before (%s): %s"):format(l.line, l.what, l.why)
    end
  end
  require("gilua").fail("kernel %s does not compile for a GPU alone.\n  %s: %s%s%s", self.kernel,
    place, e.text, #lost > 0 and "\n  " or "", table.concat(lost, "\n  "))
end

-- Compiles, and leaves out what fails and is not the kernel's, until nothing fails.
function Slicer:settle(options)
  for _ = 1, MOST_ROUNDS do
    local source = self:result()
    local code, message, kind, log = core.compile.compile(source,
      { target = "compute_90", options = options, name = self.name })
    if code then return source end
    if kind ~= "compile" then require("gilua").fail("%s", message) end
    local e = first_error(log, self.name, self.text)
    local item = e.line and self:item_at(e.line)
    if not item or item.open or item.kind == "kernel" then refuse(self, e) end
    self:leave_out(item, "it does not compile there: " .. e.text)
  end
  require("gilua").fail("%s: more than %d things in it do not compile for a GPU", self.name,
    MOST_ROUNDS)
end

-- An extern "C" { } around the kernel: its own words then need none.
local function in_extern_c(code, item)
  local depth_text = code:sub(1, item.first - 1)
  local found = false
  for from in depth_text:gmatch("()extern%s+[^%w]*{") do
    local open = depth_text:find("{", from, true)
    local close = code:match("^%b{}()", open)
    if close and close > item.first then found = true end
  end
  return found
end

---The kernels of a file, in order.
---@param text string
---@param name string of the file, for messages
---@return table[] items of g:outline()
---@return userdata grammar
function M.kernels(text, name)
  local g, why = core.grammar.parse(name, { text = text })
  if not g then require("gilua").fail("%s", why) end
  local list = {}
  for _, item in ipairs(g:outline()) do
    if item.kind == "kernel" then list[#list + 1] = item end
  end
  return list, g
end

---@param text string the file
---@param name string of the file, for messages
---@param kernel string
---@param o { template?: string[], options?: string[] } arguments of the kernel's template; options
---  of NVRTC
---@return Slice
function M.cut(text, name, kernel, o)
  local g, why = core.grammar.parse(name, { text = text, kernel = kernel })
  if not g then require("gilua").fail("%s", why) end
  local self = setmetatable({ text = text, name = name:match("([^/]+)$"), kernel = kernel,
    items = g:outline(), gone = {}, include_gone = {}, left_out = {} }, Slicer)
  for _, item in ipairs(self.items) do
    if item.kind == "kernel" and item.name == kernel then
      local outer = in_extern_c(M.code_of(text), item)
      self.item, self.edit = item, head_edit(text, item, o.template or {}, outer)
    elseif item.kind == "kernel" then self:leave_out(item, "another kernel")
    elseif item.kind == "host" then self:leave_out(item, "for the host") end
  end
  local source = self:settle(o.options or {})
  local edits = {}
  if self.edit then
    edits[1] = { line = line_at(text, self.edit.first), now = self.edit.now,
      was = text:sub(self.edit.first, self.edit.last) }
  end
  table.sort(self.left_out, function(a, b) return a.line < b.line end)
  return { source = source, edits = edits, left_out = self.left_out, kernel = kernel,
    item = self.item }
end

return M
