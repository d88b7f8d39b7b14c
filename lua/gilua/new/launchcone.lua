-- launchcone: which text of a program says the launches of one kernel and nothing else. It is what
-- stands in the launches, and the definitions of names that nothing but such text uses: `const int
-- threads = 256;`, `#define T 256`, `dim3 block(16, 16);`, `block.x = 16;`. A number there may
-- become another; one that anything else sees may not.

local callers = require "gilua.host.callers"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local launchsites = require "gilua.host.launchsites"

local M = {}
M.__index = M

local SIDES = { x = 1, y = 2, z = 3 }
local TYPES = csource.set("dim3 auto int unsigned long short size_t uint32_t int32_t uint64_t "
  .. "int64_t uint")

---@class LaunchRange tokens of a file
---@field file integer
---@field t userdata
---@field [1] integer the first token
---@field [2] integer the last

---@class LaunchCone
---@field names table<string, table[]> where names stand: { file, t, i, body }
---@field own table<string, table> definitions that launches of the kernel alone see
---@field sites LaunchSite[] of all files; each has `file`
---@field codes HostText[] of these

local function body_of(functions, i)
  for k = #functions, 1, -1 do
    if functions[k].open < i and i < functions[k].last then return functions[k] end
  end
end

-- Notes where names stand, what declares them there, and which side of one is given.
local function note(self, file, code, outer)
  local t, declared, given = code.t, {}, {}
  for _, d in ipairs(code_of.declarations(code)) do declared[d.token] = d end
  for _, m in ipairs(code_of.found(code, "$a = $b")) do
    local is_side = m.a.kind == "member" and m.a.token == m.a.first + 2
    if is_side and t[m.a.first + 1] == "." then given[m.a.first] = m end
  end
  for i = 1, #t do
    local body = body_of(code.functions, i) or outer
    if t:kind(i) == "directive" then
      note(self, file, code_of.inside(code, i), body)
    elseif t:kind(i) == "name" then
      local list = self.names[t[i]] or {}
      self.names[t[i]] = list
      list[#list + 1] = { file = file, code = code, t = t, i = i, body = body, d = declared[i],
        given = given[i] }
    end
  end
end

-- Where the name at a place means the same: in its function where that declares it, else where no
-- function does. A name that a function declares is another in each function.
local function places(self, name, body)
  local here, declares = {}, {}
  for _, one in ipairs(self.names[name] or {}) do
    if one.body and one.d then declares[one.body] = true end
  end
  local scope = body and declares[body] and body or nil
  for _, one in ipairs(self.names[name] or {}) do
    local own = one.body and declares[one.body] and one.body or nil
    if own == scope then here[#here + 1] = one end
  end
  return here, scope
end

local function within(range, one)
  return range.file == one.file and range.t:first(range[1]) <= one.t:first(one.i)
    and one.t:last(one.i) <= range.t:last(range[2])
end

local function is_within(ranges, one)
  for _, range in ipairs(ranges) do
    if within(range, one) then return true end
  end
  return false
end

local function range_of(one, first, last)
  return { file = one.file, t = one.t, first, last }
end

-- What `dim3 name(a, b)`, `= dim3(a)`, `{ a }` give the sides; none where it is not that.
local function sides_of(one)
  local t, open, list = one.t, one.d.init_at, {}
  while open and (t[open] == "=" or t[open] == "dim3") do open = open + 1 end
  local is_list = open and t:match(open) == one.d.last
  for k, range in ipairs(is_list and csource.ranges(t, open + 1, one.d.last - 1) or {}) do
    list[k] = range_of(one, range[1], range[2])
  end
  return list
end

-- What the declaration of a name at a place says: { whole } or { sides }; false: it is none.
local function declaration(one)
  local t, d = one.t, one.d
  if t[1] == "define" and one.i == 2 then
    local is_plain = #t > 2 and not (t[3] == "(" and t:first(3) == t:last(2) + 1)
    return is_plain and { whole = range_of(one, 3, #t) }
  end
  local is_plain = d and not d.parameter and not d["function"] and not d.reference
    and d.pointer == 0 and #d.extents == 0
  if not is_plain then return false end
  local type, whole = d.type:match "[%w_]+$" or "", code_of.begun(one.code, d)
  local makes_dim3 = type == "auto" and whole and t[whole.first] == "dim3"
  if type == "dim3" or makes_dim3 then return { sides = sides_of(one) } end
  local is_number = d.within == "enum" or TYPES[type]
  return whole and is_number and { whole = range_of(one, whole.first, whole.last) } or false
end

-- The { that a token is in; nil: none.
local function brace_around(t, i)
  local k = i - 1
  while k >= 1 and t[k] ~= "{" do k = (t[k] == "}" and t:match(k) or k) - 1 end
  return k >= 1 and k or nil
end

local STATEMENTS = csource.set "; { }"

-- The side of a dim3 that a statement at a name gives: `block.x = 16;`, its value.
local function given_side(one)
  local m = one.given
  local side = m and STATEMENTS[one.t[one.i - 1]] and SIDES[one.t[m.a.token]]
  return side, side and range_of(one, m.b.first, m.b.last)
end

-- The definition of a name that launches of the kernel alone see; nil where anything else does.
local function definition(self, list)
  local found, declared, given = nil, nil, {}
  for _, one in ipairs(list) do
    local d = not is_within(self.ranges, one) and declaration(one)
    local side, range = given_side(one)
    if d then
      if found then return nil end
      found, declared = d, one
    elseif side then
      if given[side] then return nil end
      given[side] = { range = range, one = one }
    elseif not is_within(self.ranges, one) then
      return nil
    end
  end
  if next(given) and not (found and found.sides) then return nil end
  for side, new in pairs(given) do -- for good, and where the declaration says none
    local is_below = new.one.t == declared.t
      and brace_around(new.one.t, new.one.i) == brace_around(declared.t, declared.i)
    if not is_below or found.sides[side] then return nil end
    found.sides[side] = new.range
  end
  return found
end

local function key(name, scope)
  return scope and ("%s at %s"):format(name, tostring(scope)) or name
end

-- The range of a name at a place: what its definition says.
local function own_of(self, range, i)
  local body
  for _, one in ipairs(self.names[range.t[i]] or {}) do
    if one.file == range.file and one.t:first(one.i) == range.t:first(i) then body = one.body end
  end
  local list, scope = places(self, range.t[i], body)
  return key(range.t[i], scope), list
end

-- Adds definitions until none is new.
local function grow(self)
  local at = 1
  local tried = {}
  local function try(range)
    local any = false
    for i = range[1], range[2] do
      local name = range.t:kind(i) == "name" and range.t[i - 1] ~= "." and own_of(self, range, i)
      if name and not self.own[name] and not tried[name] then
        local d = definition(self, select(2, own_of(self, range, i)))
        self.own[name], tried[name] = d, true
        for _, more in pairs(d and (d.sides or { d.whole }) or {}) do
          self.ranges[#self.ranges + 1], any = more, true
        end
      end
    end
    return any
  end
  while self.ranges[at] do
    if try(self.ranges[at]) then at, tried = 0, {} end
    at = at + 1
  end
end

--- The cone of a kernel's launches.
---@param texts string[] of the files
---@param kernel string
---@return LaunchCone
function M.of(texts, kernel)
  local self = setmetatable({ names = {}, own = {}, ranges = {}, sites = {}, codes = {} }, M)
  for file, text in ipairs(texts) do
    local code = code_of.of(text)
    callers.read_functions({ bodies = {} }, code)
    note(self, file, code)
    self.codes[file] = code
    for nth, site in ipairs(launchsites.of(code, kernel)) do
      site.file, site.nth = file, nth
      self.sites[#self.sites + 1] = site
      for _, of in ipairs { "grid", "block", "shared" } do
        local range = site[of]
        if range then
          range.file, range.t = file, site.t
          self.ranges[#self.ranges + 1] = range
        end
      end
    end
  end
  grow(self)
  return self
end

--- Has a range a name that launches of the kernel alone see, so that it may be made of an edit?
---@param range LaunchRange
---@return boolean
function M:has_own(range)
  for i = range[1], range[2] do
    local name = range.t:kind(i) == "name" and range.t[i - 1] ~= "."
    if name and self.own[own_of(self, range, i)] then return true end
  end
  return false
end

--- Where a side of a grid or a block is written: in place, or in a definition of its own; nil where
--- that is no place of its own, as of what is a dim3.
---@param range LaunchRange
---@param d integer
---@return LaunchRange?
function M:place(range, d)
  local t, first, last = range.t, range[1], range[2]
  local of_side = last == first + 2 and t[first + 1] == "." and SIDES[t[last]]
  local own = (first == last or of_side) and t:kind(first) == "name"
    and self.own[own_of(self, range, first)]
  if own and own.sides then
    local side = own.sides[of_side or d]
    return side and (self:place(side, 1) or side)
  elseif own and own.whole and d == 1 then
    return self:place(own.whole, 1) or own.whole
  elseif t[first] == "dim3" and (t[first + 1] == "(" or t[first + 1] == "{")
    and t:match(first + 1) == last then
    local side = csource.ranges(t, first + 2, last - 1)[d]
    if not side then return nil end
    side.file, side.t = range.file, t
    return self:place(side, 1) or side
  end
  return nil
end

return M
