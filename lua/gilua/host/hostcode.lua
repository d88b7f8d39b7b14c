-- hostcode: what the host's part of a file says of a kernel: how it is launched, what its arguments
-- are, how much memory they have. Read, not run: constants are worked out where they can be.
--
-- One pass over the file's words notes what each says (READERS); of a name that is given several
-- values the first counts, unless it is 0 or unknown. What is asked for later is worked out then.

local branches = require "gilua.host.branches"
local callers = require "gilua.host.callers"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local hostfills = require "gilua.host.hostfills"
local hostvalue = require "gilua.host.hostvalue"
local instances = require "gilua.host.instances"
local launchsites = require "gilua.host.launchsites"
local locals = require "gilua.host.locals"
local members = require "gilua.host.members"
local memory = require "gilua.host.memory"
local rounds = require "gilua.host.rounds"

---@class HostLaunch `kernel<template><<<grid, block, shared>>>(args)`, as texts
---@field line integer
---@field place string "line 12", or "line 12 of name.h"
---@field template string[]
---@field grid string
---@field block string
---@field shared? string
---@field args string[]
---@field told table<integer, string> what is to be said of an argument in place of its text
---@field body? HostFunction whose parameters these texts may name

---@class HostCode
---@field definitions table<string, string> a name's value: a macro's, a variable's, a member's
---@field later table<string, string[]> other values that a variable gets
---@field counted table<string, boolean> variables that are counted up, or set where they lie
---@field functions table<string, { params: string[], body: string }> macros with arguments
---@field dims table<string, string> a dim3's sizes, with their brackets; the last that is set
---@field dim_sides table<string, table<string, string>> likewise, those set one by one
---@field aggregates table<string, { type: string, list: string[] }> `type name = { list };`
---@field structs table<string, { tokens: userdata, open: integer, align?: string,
---  bases?: string[], is_union: boolean }> with its '{'
---@field types table<string, string> a typedef's type
---@field pointees table<string, string[]> what stands before `* name`: one may be a type
---@field launches table<string, HostLaunch[]> a kernel's, in the order of the file
---@field bodies table functions: HostFunction by place, lists of them by name (gilua.callers)
---@field calls table<string, HostCall[]> of these
---@field allocations table[] { target, args, line, place }: what stands behind the & in the first
---@field allocated table<string, boolean> names that these begin with
---@field variables table[] { type, name, counts }: those that are __constant__
---@field sizes table<string, integer|false> of types, once known; false: not known, or not yet
---@field stores table[] { name, text, place, within, index }: what arrays get (gilua.hostfills)
---@field copies table[] { to, from, within }: arrays that are copied to the GPU
---@field distributions table<string, { kind: string, args: string[] }> C++'s, by their names
---@field known table<string, any> what names stand for, once known (gilua.hostvalue)
---@field assumed table<string, integer> what is said of names that nothing says (gilua.assumed)
---@field given table<string, integer> what the program is run with for some of these
---@field work? table { open, lookups } while a value is worked out (gilua.hostvalue)
---@field origins table<string, HostOrigin[]> what pointers are given (gilua.memory)
---@field files HostText[] those that were read
---@field code? HostText that is being read
local M = {}
M.__index = M

local MOST_WORDS = 400 -- of a value, a list, a launch: what has more is not understood
local MOST_IN_TYPE = 40 -- words of a declaration without a value
local MOST_LATER = 8 -- values of a variable after its first
local MOST_NAMES = 8 -- before the { of a struct

local SIZES = { char = 1, bool = 1, int8_t = 1, uint8_t = 1, uchar = 1, short = 2, int16_t = 2,
  uint16_t = 2, half = 2, __half = 2, int = 4, unsigned = 4, signed = 4, float = 4, int32_t = 4,
  uint32_t = 4, uint = 4, double = 8, long = 8, size_t = 8, int64_t = 8, uint64_t = 8 }
for base, size in pairs { char = 1, uchar = 1, short = 2, ushort = 2, int = 4, uint = 4, float = 4,
  double = 8, long = 8, ulong = 8, longlong = 8, ulonglong = 8 } do
  for width = 1, 4 do SIZES[base .. width] = width * size end
end
local QUALIFIERS = csource.set "const volatile struct enum class typename static"

local ALIGNMENTS = csource.set "__align__ alignas"
local ACCESS = csource.set "public private protected virtual"
local NOT_IN_VALUES = csource.set ") ] } { = <<<"

--- gi.csource.split, under its first name.
M.split = csource.split

M.SIZES = SIZES

--------------------------------------------------------------------------------------------------
-- Lists of words

-- Where a value, or a type, ends that begins at a token: before its `,` or `;`. Nil where it is not
-- plain or too long.
local function value_end(t, from, most)
  local i = from
  while i <= from + (most or MOST_WORDS) do
    local word = t[i]
    if word == "," or word == ";" then return i > from and i - 1 or nil end
    if not word or NOT_IN_VALUES[word] then return nil end
    i = csource.past(t, i)
  end
end

-- The bracket that closes the one at a token, unless what is between is too long.
local function close_of(t, open)
  local close = t:match(open)
  return close and close > open and close <= open + MOST_WORDS and close or nil
end

-- `unsigned n, m[2][3]` from a token to another: the type, and each name with what its [ ] hold;
-- nil where it is anything else.
local function declaration(t, from, to)
  local i = from
  while i < to and t:kind(i + 1) == "name" do i = i + 1 end
  if i == from or t:kind(from) ~= "name" then return nil end
  local type, list = t:text(from, i - 1), {}
  repeat
    local one = { name = t:kind(i) == "name" and t[i] or nil, counts = {} }
    i = i + 1
    while t[i] == "[" and close_of(t, i) do
      one.counts[#one.counts + 1] = t:text(i + 1, t:match(i) - 1)
      i = t:match(i) + 1
    end
    if not one.name or i <= to and t[i] ~= "," then return nil end
    list[#list + 1] = one
    i = i + 1
  until i > to
  return type, list
end

--------------------------------------------------------------------------------------------------
-- What the words say: a reader gets the token that it stands for

local function define(self, name, text)
  self.definitions[name] = self.definitions[name] or text
end

local function place_of(self, t, i)
  return ("line %d%s"):format(t:line(i), self.code.name and " of " .. self.code.name or "")
end

-- `#define name text`, `#define name(params) body`; d are the directive's words.
local function read_macro(self, d)
  if d[1] ~= "define" or d:kind(2) ~= "name" or #d < 3 or #d > MOST_WORDS then return end
  local close = d[3] == "(" and d:first(3) == d:last(2) + 1 and d:match(3)
  if not close then
    define(self, d[2], d:text(3, #d))
  elseif close < #d then
    self.functions[d[2]] = { params = csource.parts(d, 4, close - 1),
      body = d:text(close + 1, #d) }
  end
end

-- Is the name at a token what a loop counts with: `for (int name = `, `for (name = `?
local function counts_loop(t, i)
  local k = i - 1
  while t:kind(k) == "name" and k > i - MOST_NAMES do k = k - 1 end
  return t[k] == "(" and t[k - 1] == "for"
end

-- A value that a variable gets: the first, or one after it. One made of itself says nothing.
local function assign(self, t, i, text)
  local name, first = t[i], self.definitions[t[i]]
  if not first then
    self.definitions[name] = text
    return
  end
  local of_itself = text:find("%f[%w_]" .. name .. "%f[^%w_]")
  local list = self.later[name] or {}
  if first == text or of_itself or counts_loop(t, i) or #list == MOST_LATER then return end
  self.later[name], list[#list + 1] = list, text
end

-- `grid.x = value;` of a dim3
local function read_side(self, t, i)
  local sides = t[i - 2] == "." and self.dim_sides[t[i - 3]]
  local last = sides and #t[i - 1] == 1 and value_end(t, i + 1)
  if last then sides[t[i - 1]] = t:text(i + 1, last) end
end

-- Does a word end a type whose values are numbers?
local function is_number_type(self, word)
  return word == "auto" or SIZES[word or ""] ~= nil or self.types[word or ""] ~= nil
end

-- `name(value)`, `name{value}` of a declaration, with those that follow it behind commas; nothing
-- where the brackets hold parameters of a function.
local function initialise(self, t, at, open)
  local close = close_of(t, open)
  local behind = close and t[close + 1]
  if not close or close == open + 1 or behind ~= ";" and behind ~= "," then return end
  local text = t:text(open + 1, close - 1)
  local is_type = t:kind(open + 1) == "name"
    and (QUALIFIERS[t[open + 1]] or is_number_type(self, t[open + 1])) and t[open + 2] ~= "("
  if is_type or text:find "[;{}]" or #csource.split(text) ~= 1 then return end
  define(self, t[at], text)
  local next_open = t[close + 3] == "(" or t[close + 3] == "{"
  if behind == "," and t:kind(close + 2) == "name" and next_open then
    initialise(self, t, close + 2, close + 3)
  end
end

-- `enum { a, b = 5, c };`, with a name, a type and `class` or without.
local function read_enum(self, t, i)
  local open = i + 1
  while t[open] ~= "{" and open < i + MOST_NAMES and (t:kind(open) == "name" or t[open] == ":"
    or t[open] == "::") do
    open = open + 1
  end
  local close, last = t[open] == "{" and t:match(open), nil
  for k, text in ipairs(close and csource.parts(t, open + 1, close - 1) or {}) do
    local name, value = text:match "^%s*([%a_][%w_]*)[^=]*=%s*(.-)%s*$"
    name = name or text:match "^%s*([%a_][%w_]*)"
    value = value or last and "(" .. last .. ") + 1" or k == 1 and "0"
    if name and value then define(self, name, value) end
    last = name
  end
end

-- `name = value,` or `;`, `name = { list };`, `name[i] = value;`
local function read_assignment(self, t, i)
  memory.read_assignment(self, t, i, callers.around(self.code, i))
  if t[i - 1] == "]" then
    hostfills.read_store(self, t, i, place_of(self, t, i), callers.around(self.code, i))
  end
  if t:kind(i - 1) ~= "name" then return end
  read_side(self, t, i)
  local close = t[i + 1] == "{" and close_of(t, i + 1)
  if close and is_number_type(self, t[i - 2]) then initialise(self, t, i - 1, i + 1) end
  if close and t[close + 1] == ";" and t:kind(i - 2) == "name" then
    self.aggregates[t[i - 1]] = { type = t[i - 2], list = csource.parts(t, i + 2, close - 1) }
  end
  local last = value_end(t, i + 1)
  local is_chain = t:kind(i + 1) == "name" and t[i + 2] == "=" -- a = b = value;
  if last or is_chain then assign(self, t, i - 1, last and t:text(i + 1, last) or t[i + 1]) end
end

-- `name{value};`
local function read_braces(self, t, i)
  if t:kind(i - 1) == "name" and is_number_type(self, t[i - 2]) then
    initialise(self, t, i - 1, i)
  end
  memory.read_initialiser(self, t, i, callers.around(self.code, i))
  local close = t:kind(i - 1) == "name" and close_of(t, i)
  if not close or t[close + 1] ~= ";" then return end
  local list = csource.parts(t, i + 1, close - 1)
  if #list == 1 and not list[1]:find "[;{}]" then define(self, t[i - 1], list[1]) end
end

-- `dim3 block(16, 16), grid = { 3 };`, `grid = dim3(n);`
local function read_dim3(self, t, i)
  if t[i - 1] == "=" and t:kind(i - 2) == "name" and close_of(t, i + 1) then
    self.dims[t[i - 2]], self.dim_sides[t[i - 2]] = t:text(i + 1, t:match(i + 1)), {}
    return
  end
  repeat
    local name, open = t:kind(i + 1) == "name" and t[i + 1], i + 2
    if name then self.dim_sides[name] = {} end
    while t[open] == "=" or t[open] == "dim3" do open = open + 1 end
    local close = close_of(t, open)
    if name and close then self.dims[name] = t:text(open, close) end
    i = close and close + 1 or t[open] == "," and t[open + 1] ~= "dim3" and open or 0
  until t[i] ~= ","
end

-- What a struct is derived from, from the token behind its `:` on: the last names, and its '{'.
local function bases_of(t, i)
  local list, first = {}, i
  while t[i] and t[i] ~= ";" and t[i] ~= "{" and i < first + MOST_WORDS do
    local angle = t[i] == "<" and csource.angle_end(t, i)
    local is_name = t:kind(i) == "name" and t[i + 1] ~= "::" and not ACCESS[t[i]]
    if is_name then list[#list + 1] = t[i] end
    i = angle and angle + 1 or i + 1
  end
  return list, t[i] == "{" and i or nil
end

-- The '{' of the struct whose first token is given, its name, alignment and bases, and whether it
-- has an attribute that says who knows what of where its members lie.
local function struct_head(t, i)
  local name, align, bases, open
  local is_odd = false
  local k = i
  while t:kind(k) == "name" and k <= i + MOST_NAMES do
    local close = t[k + 1] == "(" and close_of(t, k + 1)
    if close and not ALIGNMENTS[t[k]] then is_odd = true
    elseif close then align = t:text(k + 2, close - 1)
    elseif t[k] ~= "final" then name = t[k] end
    k = (close or k) + 1
  end
  if t[k] == ":" then bases, open = bases_of(t, k + 1) end
  return t[k] == "{" and k or open, name, align, bases, is_odd
end

-- `struct name { … };`, `struct … { … } name;`
local function read_struct(self, t, i)
  local open, name, align, bases, is_odd = struct_head(t, i + 1)
  local close = open and t[i - 1] ~= "enum" and t:match(open)
  if not close then return end
  local known = { tokens = t, open = open, align = align, bases = bases, is_odd = is_odd,
    is_union = t[i] == "union" }
  if name then self.structs[name] = self.structs[name] or known end
  if t:kind(close + 1) == "name" and t[close + 2] == ";" then
    self.structs[t[close + 1]] = self.structs[t[close + 1]] or known
  end
end

-- Where the declaration ends that begins at a token, before its `;`: commas are those of templates.
local function type_end(t, from)
  local last = (t:find(from, ";") or math.huge) - 1
  return last > from and last <= from + MOST_IN_TYPE and last or nil
end

-- `typedef type name;`
local function read_typedef(self, t, i)
  local last, brace = type_end(t, i + 1), t:find(i + 1, "{")
  if last and t:kind(last) == "name" and not (brace and brace < last) then
    self.types[t[last]] = self.types[t[last]] or t:text(i + 1, last - 1)
  end
end

-- `using name = type;`
local function read_using(self, t, i)
  local last = t:kind(i + 1) == "name" and t[i + 2] == "=" and type_end(t, i + 2)
  if last then self.types[t[i + 1]] = self.types[t[i + 1]] or t:text(i + 3, last) end
end

-- `type *name`
local function read_pointer(self, t, i)
  if t:kind(i - 1) ~= "name" or t:kind(i + 1) ~= "name" then return end
  local list = self.pointees[t[i + 1]] or {}
  self.pointees[t[i + 1]], list[#list + 1] = list, t[i - 1]
end

-- `__constant__ type name[count];`
local function read_constant(self, t, i)
  local stop = i + 1
  while t[stop] ~= ";" and stop <= i + MOST_IN_TYPE do stop = stop + 1 end
  local type, list = declaration(t, i + 1, stop - 1)
  for _, one in ipairs(t[stop] == ";" and list or {}) do
    self.variables[#self.variables + 1] = { type = type, name = one.name, counts = one.counts }
  end
end

-- `cudaMalloc…(&name, bytes)`, `cudaMallocPitch(&name, &pitch, width, height)`
local function read_call(self, t, i)
  local name, close = t:kind(i - 1) == "name" and t[i - 1], close_of(t, i)
  memory.read_initialiser(self, t, i, callers.around(self.code, i))
  if name and is_number_type(self, t[i - 2]) then initialise(self, t, i - 1, i) end
  if name and close and name:find "^cu" then
    memory.read_call(self, name, csource.parts(t, i + 1, close - 1), callers.around(self.code, i))
  end
  if name and hostfills.CALLS[name] then
    hostfills.read_call(self, t, i, name, place_of(self, t, i), callers.around(self.code, i))
  end
  if not name or not close or not name:find "^cudaM%w+$" then return end
  local args = csource.parts(t, i + 1, close - 1)
  if name:find "^cudaMemcpyToSymbol" and args[2] and (args[1] or ""):find "^[%a_][%w_]*$" then
    define(self, args[1], (args[2]:gsub("^&%s*", "")))
  end
  if not name:find "^cudaMalloc" then return end
  local target, body = (args[1] or ""):match "&%s*(.*)$", callers.around(self.code, i)
  self.allocations[#self.allocations + 1] = { target = target, args = args, line = t:line(i),
    place = place_of(self, t, i), body = body,
    own = body and body.t == t and locals.before(t, body.first, i) or locals.NONE }
  self.allocated[(target or ""):match "^[%a_][%w_]*" or ""] = true
  local pitch = name == "cudaMallocPitch" and (args[2] or ""):match "&%s*([%a_][%w_]*)"
  if pitch and args[3] then define(self, pitch, args[3]) end
end

local function is_parameter(body, name)
  for _, param in ipairs(body and body.params or {}) do
    if param.name == name then return true end
  end
  return false
end

-- The sizes of a dim3 as they are before a launch; else the text itself. One that the function
-- itself declares as a number is none.
local function with_sides(self, text, body, own)
  local set, sides = self.dims[text or ""], self.dim_sides[text or ""] or {}
  if not set and not next(sides) or is_parameter(body, text) or own.declared[text] then
    return text
  end
  local t <close> = csource.tokens(set or "()")
  local base = csource.parts(t, 2, #t - 1)
  for k, name in ipairs { "x", "y", "z" } do base[k] = sides[name] or base[k] or "1" end
  return ("dim3(%s)"):format(table.concat(base, ", "))
end

-- A launch, of any form that gilua.launchsites knows.
local function read_launch(self, t, i)
  local site = launchsites.at(t, i)
  if not site or not site.args then return end
  local function text_of(range) return range and t:text(range[1], range[2]) end
  local list = self.launches[site.kernel] or {}
  local one = { line = site.line, place = place_of(self, t, i), template = site.template,
    shared = text_of(site.shared), args = site.args, told = {},
    body = callers.around(self.code, i) }
  local is_here = one.body and one.body.t == t
  one.own = is_here and locals.before(t, one.body.first, i) or locals.NONE
  one.sides = function(text) return with_sides(self, text, one.body, one.own) end
  one.grid, one.block = one.sides(text_of(site.grid)), one.sides(text_of(site.block))
  one.dims = locals.dims_within({ one.grid, one.block, one.shared }, one.own, one.sides)
  if is_here then rounds.settle(one, rounds.around(t, i, one.body.first)) end
  self.launches[site.kernel], list[#list + 1] = list, one
end

-- `++name`, `name++`, `name += value`: outside of the heads of loops, and before a launch: one that
-- stands before has got the first value
local function read_counting(self, t, i)
  if next(self.launches) then return end
  local at = t:kind(i - 1) == "name" and i - 1 or t[i] == "++" and t:kind(i + 1) == "name" and i + 1
  local k = i
  while at and t[k] and t[k] ~= ";" and t[k] ~= "}" do
    if t[k] == ")" then return end -- the third part of a head, or in a call
    k = csource.past(t, k)
  end
  if at then self.counted[t[at]] = true end
end

-- `scan(…, &name)`; `cudaMemcpy(&name, …)` behind a launch, too, since another may come
local function read_address(self, t, i)
  local is_given = (t[i - 1] == "(" or t[i - 1] == ",") and t:kind(i + 1) == "name"
  if not is_given or t[i + 2] ~= "," and t[i + 2] ~= ")" then return end
  local is_copied_to = t[i - 1] == "(" and t[i - 2]:find "^cudaMemcpy"
  if is_copied_to or not next(self.launches) then self.counted[t[i + 1]] = true end
end

local READERS = { ["++"] = read_counting, ["+="] = read_counting, ["&"] = read_address,
  ["="] = read_assignment, ["{"] = read_braces, ["*"] = read_pointer,
  ["("] = read_call, dim3 = read_dim3, struct = read_struct,
  class = read_struct, union = read_struct, enum = read_enum,
  typedef = read_typedef, using = read_using, __constant__ = read_constant }
for word in pairs(launchsites.READERS) do READERS[word] = read_launch end
for kind in pairs(hostfills.DISTRIBUTIONS) do READERS[kind] = hostfills.read_distribution end

local function read_words(self, code)
  local t = code.t
  self.code = code
  callers.read_calls(self, code)
  for i = 1, #t do
    local reader = READERS[t[i]]
    if reader then reader(self, t, i) end
    if t:kind(i) == "directive" and t[i]:find "^#%s*define%s.*[=(<]" then -- a macro may launch
      read_words(self, code_of.inside(code, i, callers.around(code, i)))
      self.code = code
    end
  end
end

local LAUNCHED = { "grid", "block", "shared" }

-- Names that another function has given a value are, in a launch or an allocation, its function's.
local function settle_locals(self)
  for _, a in ipairs(self.allocations) do
    for k = 2, #a.args do a.args[k] = locals.settled(self, a.args[k], a.own) end
  end
  for _, list in pairs(self.launches) do
    for _, l in ipairs(list) do
      for name, sides in pairs(l.dims) do
        if l.sides(name) == sides then l.dims[name] = nil end
      end
      for _, field in ipairs(LAUNCHED) do
        local text = l[field] and locals.of_launch(self, l[field], l.own, l.dims)
        l[field] = text and locals.settled(self, text, l.own)
      end
      for k, text in ipairs(l.args) do
        l.args[k] = locals.settled(self, text, l.own)
        l.told[k] = l.told[k] or text
      end
    end
  end
end

---@param text string the file
---@param headers? table[] those it includes: { name = as spelled there, text }
---@param defines? string[] macros of the command line: "NAME" or "NAME=VALUE"
---@return HostCode
---@return string? why conditions (#if) could not be evaluated: then every branch counts
function M.read(text, headers, defines)
  local self = setmetatable({ definitions = {}, later = {},
    functions = {}, dims = {}, dim_sides = {}, counted = {}, aggregates = {},
    structs = {}, types = {}, pointees = {}, launches = {}, allocations = {}, allocated = {},
    variables = {}, bodies = {}, calls = {}, sizes = {},
    known = {}, assumed = {}, given = {}, origins = {}, files = {},
    stores = {}, copies = {}, distributions = {} }, M)
  local files = { { name = "the file", text = text }, table.unpack(headers or {}) }
  local kept, why = branches.kept(files, defines or {})
  for i, kept_text in ipairs(kept) do
    self.files[i] = code_of.of(kept_text, i > 1 and files[i].name or nil)
    callers.read_functions(self, self.files[i]) -- calls may stand in a file before theirs
  end
  for _, code in ipairs(self.files) do
    for _, _, words in csource.directives(code.t) do read_macro(self, words) end
    read_words(self, code)
  end
  for _, a in pairs(self.aggregates) do -- SimParams params = { 64, 0.1f };
    for i, field in ipairs(self:fields(a.type) or {}) do
      if a.list[i] then define(self, field.name, a.list[i]) end
    end
  end
  callers.name_parameters(self, define)
  settle_locals(self)
  return self, why
end

--------------------------------------------------------------------------------------------------
-- Values

--- The value of an expression of the host's code, a number; nil where it cannot be known.
---@param text string
---@return number?
function M:value(text)
  return hostvalue.of(self, text)
end

--- Is what a function computes of the host's values made of this name? So it is where another value
--- of the name gives another.
---@param name string
---@param compute fun(): number?
---@param held? string[] names that keep their values, though they may be made of this one
---@return number? ratio of what is computed with twice the name's value to what is with its own
function M:follows(name, compute, held)
  local value, before = self:value(name), compute()
  if not value or not before or not name:find "^[%a_][%w_]*$" then return nil end
  local known, other = self.known, {}
  for _, one in ipairs(held or {}) do other[one] = self:value(one) end
  other[name] = 2 * value
  self.known = other
  local after = compute()
  self.known = known
  return after and after ~= before and after / before or nil
end

--- What a name stands for, where that is another name and so on: a function's parameter for what
--- it is called with. The first that `known` has, else the last.
---@param text string
---@param known table<string, any>
---@return string
function M:name(text, known)
  for _ = 1, MOST_NAMES do
    local other = not known[text] and self.definitions[text]
    if not other or not other:find "^[%a_][%w_]*$" then return text end
    text = other
  end
  return text
end

--- The texts of the sizes of a grid or block: `dim3(16, 16)`, `(16, 16)`, a variable, or a number.
---@param text string
---@return string[]
function M:sides(text)
  text = self:name(text, self.dims)
  local t <close> = csource.tokens(text)
  if #t == 1 and self.dims[t[1]] then return self:sides(self.dims[t[1]]) end
  local open = t[1] == "dim3" and 2 or 1
  local is_list = (t[open] == "(" or t[open] == "{") and t:match(open) == #t
  return is_list and csource.parts(t, open + 1, #t - 1) or { text }
end

--- Three sizes of a grid or block.
---@param text string
---@return integer[]?
function M:dimensions(text)
  local list, xyz = self:sides(text), { 1, 1, 1 }
  if #list > 3 then return nil end
  for i, part in ipairs(list) do
    local v = self:value(part)
    if not v or v <= 0 then return nil end -- `int n = 0;` is set later
    xyz[i] = math.tointeger(v) or math.ceil(v)
  end
  return xyz
end

--------------------------------------------------------------------------------------------------
-- Types

-- How many elements `[a][b]` are; nil where that cannot be known.
local function product(self, counts)
  local n = 1
  for _, text in ipairs(counts) do
    local v = self:value(text)
    if not v then return nil end
    n = n * v
  end
  return n
end

--- A struct that the file defines, whatever typedef names it.
---@param name string
---@return { tokens: userdata, open: integer, bases?: string[], is_union: boolean }?
function M:struct(name)
  for _ = 1, MOST_NAMES do
    if self.structs[name] then return self.structs[name] end
    local t <close> = csource.tokens(self.types[name] or "")
    local other = members.last_name(t, 1, #t)
    if not other or other == name then return nil end
    name = other
  end
end

--- The fields of a struct that the file defines: { name, type, count } each; nil where it is not
--- plain data.
---@param name string
---@return table[]?
function M:fields(name)
  local struct = self.structs[name]
  if not struct or struct.is_odd then return nil end
  local t, at, list = struct.tokens, struct.open + 1, {}
  local close = t:match(struct.open)
  while at < close do
    local stop = t:find(at, ";")
    local type, names
    if stop and stop < close then type, names = declaration(t, at, stop - 1) end
    if not type then return nil end
    for _, one in ipairs(names) do
      list[#list + 1] = { name = one.name, type = type, count = product(self, one.counts) }
      if not list[#list].count then return nil end
    end
    at = stop + 1
  end
  return #list > 0 and list or nil
end

-- Bytes of a struct: fields at multiples of their size, in all a multiple of the alignment.
local function struct_bytes(self, fields, alignment)
  local bytes, largest = 0, math.max(1, alignment and self:value(alignment) or 1)
  for _, field in ipairs(fields) do
    local size = self:size_of(field.type)
    if not size then return nil end
    local own = math.min(size, 8)
    bytes = ((bytes + own - 1) // own * own) + size * field.count
    largest = math.max(largest, own)
  end
  return (bytes + largest - 1) // largest * largest
end

-- The words of a type without qualifiers and namespaces; nil where it has more than words.
local function type_words(t)
  local words = {}
  for i = 1, #t do
    if t:kind(i) == "name" and t[i + 1] ~= "::" then
      if not QUALIFIERS[t[i]] then words[#words + 1] = t[i] end
    elseif t:kind(i) ~= "name" and t[i] ~= "::" then return nil end
  end
  return words
end

local function named_size(self, name)
  local named = self.definitions[name] or self.types[name]
  if named then return self:size_of(named) end
  local fields = self:fields(name)
  return fields and struct_bytes(self, fields, self.structs[name].align)
end

--- Bytes of a type; nil where that is not known.
---@param type string
---@return integer?
function M:size_of(type)
  local t <close> = csource.tokens(type)
  if #t > 1 and t[#t] == "*" then return 8 end
  local words = type_words(t) or {}
  local name = words[#words]
  if not name then return nil end
  for _, word in ipairs(words) do
    if word == "long" or word == "short" then return word == "long" and 8 or 2 end
  end
  if SIZES[name] then return SIZES[name] end
  if self.sizes[name] == nil then
    self.sizes[name] = false -- one that holds itself has no size
    self.sizes[name] = named_size(self, name) or false
  end
  return self.sizes[name] or nil
end

--- Bytes of what a pointer points to.
---@param name string
---@return integer?
function M:pointee_size(name)
  for _, type in ipairs(self.pointees[name] or {}) do
    local size = self:size_of(type)
    if size then return size end
  end
end

--------------------------------------------------------------------------------------------------
-- Launches and memory

--- A launch of a kernel: grid, block and shared memory in words that mean something outside of the
--- template that it is in.
---@param kernel string
---@param which? integer of them, in the order of the file: 1
---@return HostLaunch?
function M:launch(kernel, which)
  local l = self:every_launch(kernel)[which or 1]
  local within = l and l.body
  if not within or not within.index then return l end
  for name in pairs(within.index) do -- what the function computes may be made of them
    local text = instances.resolve(self, name, within)
    if text and text ~= name then define(self, name, text) end
  end
  for _, field in ipairs(LAUNCHED) do
    l[field] = l[field] and instances.resolve(self, l[field], within) or l[field]
  end
  return l
end

--- Its launches, in the order of the file.
---@param kernel string
---@return HostLaunch[]
function M:every_launch(kernel)
  return self.launches[kernel] or {}
end

-- Is `&list[0]` where `list` is asked for? The same name, whatever follows.
local function is_target(target, name)
  return target and target:sub(1, #name) == name and not target:find("^[%w_]", #name + 1)
end

-- What an allocation is of, where its size can be known.
local function allocated(self, a)
  local bytes = self:value(a.args[2])
  if a.args[4] then -- cudaMallocPitch: rows of at least so many bytes, taken without padding
    local w, h = self:value(a.args[3]), self:value(a.args[4])
    bytes = w and h and w * h
  end
  return { bytes = bytes and bytes > 0 and bytes or nil, line = a.line, place = a.place,
    text = table.concat(a.args, ", ", 2) }
end

--- How many bytes the host asks for under a name, where it asks: bytes where that can be known.
---@param name string
---@return { bytes?: integer, line: integer, place: string, text: string }?
function M:allocation(name)
  name = name:gsub("%s*%[.*%]$", ""):gsub("%s*%.%s*data%s*%(%s*%)$", "")
  name = self:name(name, self.allocated)
  for _, a in ipairs(self.allocations) do
    if is_target(a.target, name) and a.args[2] then return allocated(self, a) end
  end
  return nil
end

--- As M:allocation, under the name of a struct's member, whatever struct that is.
---@param name string
---@return { bytes?: integer, line: integer, place: string, text: string }?
function M:allocation_of_member(name)
  for _, a in ipairs(self.allocations) do
    local own = a.args[2] and (a.target or ""):match "[.>]%s*([%w_]+)%s*$"
    if own == name then return allocated(self, a) end
  end
  return nil
end

--- How many bytes are copied to a __constant__ variable is for its declaration to say.
---@return { name: string, type: string, count: integer }[] count is 0 where it is not known
function M:constants()
  local list = {}
  for i, v in ipairs(self.variables) do
    list[i] = { name = v.name, type = v.type, count = product(self, v.counts) or 0 }
  end
  return list
end

return M
