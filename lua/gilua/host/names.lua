--- names: which values the host's code gives names, as texts. Of several the first counts, unless
-- it is 0 or unknown (gilua.hostvalue); one that is counted up before a launch has no value.

local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local hostfills = require "gilua.host.hostfills"
local locals = require "gilua.host.locals"
local memory = require "gilua.host.memory"
local types = require "gilua.host.types"

local M = {}

local IN_HEADERS = csource.set "if while switch"
local MOST_LATER = 8 -- values of a variable after its first

--- Gives a name a value that has none.
---@param name string
---@param text string
function M.define(self, name, text)
  self.definitions[name] = self.definitions[name] or text
end

-- A value that a variable gets: the first, or one after it. One made of itself says nothing, nor
-- does what a loop counts with.
local function assign(self, name, text, is_counter)
  local first = self.definitions[name]
  if not first then
    self.definitions[name] = text
    return
  end
  local of_itself = text:find("%f[%w_]" .. name .. "%f[^%w_]")
  local list = self.later[name] or {}
  if first == text or of_itself or is_counter or #list == MOST_LATER then return end
  self.later[name], list[#list + 1] = list, text
end

-- A name's value is at most, or at least, that of a text.
local function add_limit(self, name, by, text)
  local list = self.limits[name] or {}
  self.limits[name], list[#list + 1] = list, { by = by, text = text }
end

-- Reads the sides of a dim3 between the brackets at a token.
local function set_sides(self, code, name, open)
  local close = code.t:match(open)
  if close then self.dims[name] = code.t:text(open, close) end
end

-- `dim3 block(16, 16), grid = { 3 }, other = dim3(n);`
local function read_dim3(self, code, d)
  local t, open = code.t, d.init_at
  self.dim_sides[d.name] = {}
  while open and (t[open] == "=" or t[open] == "dim3") do open = open + 1 end
  if open and t:match(open) == d.last then set_sides(self, code, d.name, open) end
end

-- `enum { a, b = 5, c };`
local function read_enumerator(self, code, d)
  local is_first = code.t[d.first - 1] == "{"
  local text = code_of.value(code, d) or is_first and "0"
    or code.enumerator and ("(%s) + 1"):format(code.enumerator)
  code.enumerator = d.name
  if text then M.define(self, d.name, text) end
end

-- `T z = { 4, 5 };`, `T z{.n = 4};`
local function read_list(self, code, d, type, open)
  local list = csource.parts(code.t, open + 1, d.last - 1)
  self.aggregates[d.name] = { type = type, list = list }
  for _, text in ipairs(list) do
    local member, value = text:match "^%.%s*([%a_][%w_]*)%s*=%s*(.+)$"
    if member then assign(self, member, value) end
  end
end

-- `int z = 5;`, `int z(5);`, `int z{5};`; a list for something else is kept as one.
local function read_value(self, code, d, type, body)
  local t, text, is_number = code.t, code_of.value(code, d), types.is_number(self, type)
  local is_set = t[d.init_at] == "="
  local open = is_set and d.init_at + 1 or d.init_at
  local is_list = t[open] == "{"
  if is_list then
    if #d.extents > 0 or d.pointer > 0 or type == "" then return end
    read_list(self, code, d, type, open)
  end
  if not text or text:find "[;{}]" then return end
  if d.within == "class" then -- unless anything else says it
    self.initial[d.name] = self.initial[d.name] or text
    return
  end
  local is_plain = is_set and not is_list
  if is_plain then assign(self, d.name, text, d.within == "for")
  elseif is_number or is_list and not is_set then M.define(self, d.name, text) end
  if is_plain or is_number then locals.note(body, d.name, text, d.pointer == 0) end
end

--- Reads what declares a name.
---@param d table of source:declarations
function M.read_declared(self, code, d, body)
  local type = d.type:match "[%w_]+$" or ""
  if d.within == "enum" then return read_enumerator(self, code, d) end
  if d.pointer == 1 then
    local list = self.pointees[d.name] or {}
    self.pointees[d.name], list[#list + 1] = list, type
  end
  if d.parameter or d["function"] then return end
  if d.constant and not d.init_at then
    self.variables[#self.variables + 1] = { type = d.type, name = d.name,
      counts = code_of.extents(code, d) }
  end
  if type == "dim3" then read_dim3(self, code, d) end
  memory.read_declared(self, code, d, body)
  if not d.init_at then return end
  hostfills.read_distribution(self, code, d)
  if not IN_HEADERS[d.within] then read_value(self, code, d, type, body) end
end

local LIMITS = { ["<"] = "max", ["<="] = "max", [">"] = "min", [">="] = "min" }

-- Returns whether `if (n > 99) n = 99;` is the least or the largest of both; nil of another
-- assignment.
local function limit_of(code, m, name, text)
  local t, at = code.t, m.a.first - 1
  if t[at] == "{" then at = at - 1 end
  local open = t[at] == ")" and t:match(at)
  if not open or t[open - 1] ~= "if" then return nil end
  local left, relation, right = t:text(open + 1, at - 1):gsub("%s", ""):match "^(.-)([<>]=?)(.*)$"
  return left == name and right == text:gsub("%s", "") and LIMITS[relation] or nil
end

--- Reads `name = value`, `grid.x = value`, `h[i] = value`.
---@param m table of `$a = $b`
---@param place string
function M.read_assignment(self, code, m, place, body)
  local t, a, b = code.t, m.a, m.b
  memory.read_assignment(self, code, m, body)
  if a.kind == "index" then return hostfills.read_store(self, code, m, place, body) end
  local name = t:kind(a.last) == "name" and t[a.last]
  local text = b.kind == "assign" and t[b.first] or code_of.text(code, b) -- a = b = value;
  if not name or text:find "[;{}]" then return end
  local sides = a.kind == "member" and t[a.token - 1] == "." and self.dim_sides[t[a.token - 2]]
  if sides and #name == 1 then
    sides[name] = text
    return
  end
  if b.kind == "call" and t[b.first] == "dim3" then
    set_sides(self, code, name, b.first + 1)
    self.dim_sides[name] = {}
    local is_path = a.kind == "member" and t[a.token - 1] == "." and a.first == a.token - 2
    if is_path then set_sides(self, code, t[a.first] .. "." .. name, b.first + 1) end
  end
  local limit = limit_of(code, m, name, text)
  if limit then return add_limit(self, name, limit, text) end
  assign(self, name, text, m.header)
  if a.kind == "name" then locals.note(body, name, text) end
end

--- Reads `++name`, `name++`, `name += value`: outside of the heads of loops, and before a launch:
--- one that stands before has got the first value.
---@param m table
function M.read_counting(self, code, m)
  local is_name = code.t:kind(m.a.last) == "name"
  if is_name and not m.header and not next(self.launches) then
    self.counted[code.t[m.a.last]] = true
  end
end

--- Reads `scan(…, &name)`; `cudaMemcpy(&name, …)` behind a launch, too, since another may come.
---@param call table
---@param name string? of the function
function M.read_addresses(self, code, call, name)
  local t = code.t
  for k, arg in ipairs(call.args) do
    local is_address = arg.kind == "unary" and t[arg.first] == "&" and arg.last == arg.first + 1
    local is_copied_to = k == 1 and (name or ""):find "^cudaMemcpy"
    if is_address and (is_copied_to or not next(self.launches)) then
      self.counted[t[arg.last]] = true
    end
  end
end

return M
