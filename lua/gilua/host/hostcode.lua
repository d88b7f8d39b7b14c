-- hostcode: what the host's part of a file says of a kernel: how it is launched, what its arguments
-- are, how much memory they have. Read, not run: constants are worked out where they can be.
--
-- One pass over the tree of a file, in the order of its words, notes what each says. The rest is
-- worked out when a caller wants it.

local branches = require "gilua.host.branches"
local callers = require "gilua.host.callers"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local hostfills = require "gilua.host.hostfills"
local hostvalue = require "gilua.host.hostvalue"
local instances = require "gilua.host.instances"
local launchmacros = require "gilua.host.launchmacros"
local launchsites = require "gilua.host.launchsites"
local lists = require "gilua.base.lists"
local locals = require "gilua.host.locals"
local memory = require "gilua.host.memory"
local names = require "gilua.host.names"
local rounds = require "gilua.host.rounds"
local types = require "gilua.host.types"

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
---@field initial table<string, string> what members of structs begin with
---@field later table<string, string[]> other values that a variable gets
---@field limits table<string, { by: "min"|"max", text: string }[]> set where it is past them
---@field counted table<string, boolean> variables that are counted up, or set where they lie
---@field macros table<string, string> what macros without arguments stand for
---@field functions table<string, { params: string[], body: string }> macros with arguments
---@field dims table<string, string> a dim3's sizes, with their brackets; the last that is set
---@field dim_sides table<string, table<string, string>> likewise, those set one by one
---@field aggregates table<string, { type: string, list: string[] }> `type name = { list };`
---@field structs table<string, HostStruct>
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
---@field held table<string, HostOrigin[]> what arrays, containers and objects have in them
---@field holders table<string, string[]> what types these are declared with
---@field placed table<string, table[]> { path, body, name, by }: parameters that have its place
---@field swapped table<string, table> what a path is swapped with, by path and function
---@field arrays table<string, true> arrays and containers of pointers
---@field lambdas table<string, table[]> { code, params, first, last } by name
---@field shares table<string, string> a union's members: the first of them
---@field trees table<string, HostTree> texts that were read as expressions (gilua.code)
---@field named table<string, { of: string, at: integer }[]> names of what lambdas, macros are given
---@field callable table<string, true> names of those
---@field files HostText[] those that were read
local M = {}
M.__index = M

local MOST_WORDS = 400 -- of a macro
local MOST_NAMES = 8 -- in a chain, where each stands for the next

--- gi.csource.split, under its first name.
M.split = csource.split

M.SIZES = types.SIZES

--------------------------------------------------------------------------------------------------
-- What the code says: a reader gets what the tree has

local function place_of(code, i)
  return ("line %d%s"):format(code.t:line(i), code.name and " of " .. code.name or "")
end

-- `#define name text`, `#define name(params) body`; d are the directive's words.
local function read_macro(self, d)
  local name, params, from = csource.defined(d)
  if not name or d:kind(2) ~= "name" or #d < from or #d > MOST_WORDS then return end
  local body = d:text(from, #d)
  if not params then
    names.define(self, name, body)
    self.macros[name] = body
  else
    self.functions[name] = { params = params, body = body }
    memory.name_parameters(self, name, params)
  end
end

-- `cudaMalloc…(&name, bytes)`, `cudaMallocPitch(&name, &pitch, width, height)`. The pitch of a
-- struct (`&a.pitch`) is known by its last name, as its members are.
local function read_allocation(self, code, call, name, args, body)
  local target = (args[1] or ""):match "&%s*(.*)$"
  self.allocations[#self.allocations + 1] = { target = target, args = args,
    line = code.t:line(call.first), place = place_of(code, call.first), body = body,
    own = locals.now(code, body) }
  self.allocated[(target or ""):match "^[%a_][%w_]*" or ""] = true
  local pitch = name == "cudaMallocPitch" and (args[2] or ""):match "&.-([%a_][%w_]*)%s*$"
  if pitch and args[3] then names.define(self, pitch, args[3]) end
end

local function read_call(self, code, call, body)
  local name = code_of.called(code, call.f)
  names.read_addresses(self, code, call, name)
  if not name then return end
  local args = code_of.texts(code, call.args)
  memory.read_call(self, code, call, name, args, body)
  hostfills.read_call(self, code, call, name, args, place_of(code, call.first), body)
  if name:find "^cudaMemcpyToSymbol" and args[2] and (args[1] or ""):find "^[%a_][%w_]*$" then
    names.define(self, args[1], (args[2]:gsub("^&%s*", "")))
  end
  if name:find "^cudaMalloc%w*$" then read_allocation(self, code, call, name, args, body) end
end

-- Returns the sizes of a dim3 as they are before a launch; else the text itself. A name that the
-- function declares as a number is no dim3. `how.grid` is known by its path.
local function with_sides(self, text, body, own)
  local path = (text or ""):gsub("%s*%.%s*", ".")
  local set, sides = self.dims[path], self.dim_sides[path] or {}
  if not set and not next(sides) or callers.parameter(body, text) or own:declared(text or "") then
    return text
  end
  local t <close> = csource.tokens(set or "()")
  local base = csource.parts(t, 2, #t - 1)
  for k, name in ipairs { "x", "y", "z" } do base[k] = sides[name] or base[k] or "1" end
  return ("dim3(%s)"):format(table.concat(base, ", "))
end

-- A launch, of any form that gilua.launchsites knows.
local function read_launch(self, code, site, body)
  local t, i = code.t, site.at
  if not site.args then return end
  local function text_of(range) return range and t:text(range[1], range[2]) end
  local list = self.launches[site.kernel] or {}
  local one = { line = site.line, place = place_of(code, i), template = site.template,
    shared = text_of(site.shared), args = site.args, told = {}, body = body,
    said = { grid = text_of(site.grid), block = text_of(site.block) } }
  one.own = locals.now(code, body)
  one.sides = function(text) return with_sides(self, text, body, one.own) end
  one.grid, one.block = one.sides(text_of(site.grid)), one.sides(text_of(site.block))
  one.dims = locals.dims_within({ one.grid, one.block, one.shared }, one.own, one.sides)
  rounds.settle(one, rounds.around(code, i))
  self.launches[site.kernel], list[#list + 1] = list, one
end

local read_code

local function read_directive(self, code, i, body) -- a macro may launch
  local one = code_of.inside(code, i, body)
  if one.s then read_code(self, one) end
end

-- What a text has, in the order of its words: { at, reader, what } each.
local function happenings(code)
  local list, order = {}, {}
  local function add(at, read, what)
    list[#list + 1] = { at = at, read = read, what = what }
    order[list[#list]] = #list
  end
  for _, d in ipairs(code_of.declarations(code)) do
    add(d.init_at or d.token, names.read_declared, d)
  end
  for _, m in ipairs(code_of.found(code, "$a = $b")) do
    add(m.token, function(self, _, _, body)
      names.read_assignment(self, code, m, place_of(code, m.token), body)
    end)
  end
  for _, pattern in ipairs { "++$a", "$a++", "$a += $b" } do
    for _, m in ipairs(code.s:find(pattern)) do add(m.first, names.read_counting, m) end
  end
  for _, call in ipairs(code.calls) do add(call.first, read_call, call) end
  for _, site in ipairs(launchsites.own(code)) do add(site.at, read_launch, site) end
  local i = code.t:directive(1)
  while i do
    add(i, read_directive, i)
    i = code.t:directive(i + 1)
  end
  table.sort(list, function(a, b)
    return a.at < b.at or a.at == b.at and order[a] < order[b]
  end)
  return list
end

function read_code(self, code)
  rounds.read(code)
  memory.read(self, code)
  callers.read_call(self, code)
  for _, one in ipairs(happenings(code)) do
    one.read(self, code, one.what, callers.around(code, one.at))
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
  local self = setmetatable({ definitions = {}, later = {}, limits = {}, initial = {},
    functions = {}, dims = {}, dim_sides = {}, counted = {}, aggregates = {},
    structs = {}, types = {}, pointees = {}, launches = {}, allocations = {}, allocated = {},
    variables = {}, bodies = {}, calls = {}, sizes = {},
    known = {}, assumed = {}, given = {}, origins = {}, held = {}, holders = {},
    swapped = {}, shares = {}, trees = {},
    macros = {}, lambdas = {}, arrays = {}, placed = {}, named = {}, callable = {}, files = {},
    stores = {}, copies = {}, distributions = {} }, M)
  local files = { { name = "the file", text = text }, table.unpack(headers or {}) }
  local kept, why = branches.kept(files, defines or {})
  local macros = launchmacros.of(kept)
  for i, kept_text in ipairs(kept) do
    kept_text = launchmacros.expanded(kept_text, macros)
    self.files[i] = code_of.of(kept_text, i > 1 and files[i].name or nil)
    types.read(self, self.files[i]) -- files before theirs may use these, too
    callers.read_functions(self, self.files[i])
  end
  for _, code in ipairs(self.files) do
    for _, _, words in csource.directives(code.t) do read_macro(self, words) end
    read_code(self, code)
  end
  for _, a in pairs(self.aggregates) do -- SimParams params = { 64, 0.1f };
    for i, field in ipairs(self:fields(a.type) or {}) do
      if a.list[i] then names.define(self, field.name, a.list[i]) end
    end
  end
  for name, value in pairs(self.initial) do names.define(self, name, value) end
  callers.name_parameters(self, names.define)
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

--- A struct that the file defines, whatever typedef names it.
---@param name string
---@return HostStruct?
function M:struct(name) return types.struct(self, name) end

--- The fields of a struct that the file defines: { name, type, count } each; nil where it is not
--- plain data.
---@param name string
---@return table[]?
function M:fields(name) return types.fields(self, name) end

--- Bytes of a type; nil where that is not known.
---@param type string
---@return integer?
function M:size_of(type) return types.size_of(self, type) end

--- Returns the size in bytes of a pointer's target.
---@param name string
---@return integer?
function M:pointee_size(name) return types.pointee_size(self, name) end

--------------------------------------------------------------------------------------------------
-- Launches and memory

--- A launch of a kernel: grid, block and shared memory in words that mean something outside of the
--- template that it is in.
---@param kernel string
---@param which? integer of them, in the order of the file: 1
---@return HostLaunch?
function M:launch(kernel, which)
  local l = self:every_launch(kernel)[which or 1]
  local within = l and instances.around(l.body)
  if not within then return l end
  for name in pairs(within.index) do -- what the function computes may be made of them
    local text = instances.resolve(self, name, within)
    if text and text ~= name then names.define(self, name, text) end
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

-- Is a target of this name? `&list[0]` is one of `list`: the same name, whatever follows.
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
  return lists.map(self.variables, function(v)
    return { name = v.name, type = v.type, count = types.product(self, v.counts) or 0 }
  end)
end

return M
