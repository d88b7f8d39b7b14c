--- borrowed: tokens of one function as they read in another: variables are those of the place that
-- have the same type and are used most alike, and what the text needs besides is there, or comes.
--
--   local part = borrowed.part(donor_fn, first, last)     what of it is whose; or nil and why
--   local known = borrowed.known_at(fn, token)            the variables of a place
--   local fit = borrowed.fit(part, fn, known)             names there; or nil and why
--   borrowed.text(part, fit, indent)                      the text
--
-- A part is { fn, first, last, free (variables of the function, in the order in which they come),
-- inner (those that the part declares), others (other names) }; a fit { names, likeness (0 to 1),
-- copied (functions that must stand before, those first that others call), announced (functions of
-- the same file that stand behind), values (macros that are numbers) }.

local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local settings = require "gilua.base.settings"
local uses = require "gilua.facts.uses"

local M = {}

local set = settings.set

-- Words and names that all kernels have.
local COMMON = set("if else for while do switch case default break continue return goto sizeof "
  .. "alignof const volatile static extern register struct union enum class typename inline "
  .. "constexpr auto true false nullptr NULL static_cast reinterpret_cast const_cast threadIdx "
  .. "blockIdx blockDim gridDim warpSize INFINITY NAN FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN "
  .. "INT_MAX INT_MIN UINT_MAX CHAR_BIT clock clock64")

local MOST_COPIED = 8
local LEAST_LIKENESS = 0.6 -- of two variables

local function is_common(name)
  return COMMON[name] or expression.TYPES[name] or name:find "^__" ~= nil
    or name:find "^atomic%u" ~= nil or effects.is_pure(name) or false
end

--------------------------------------------------------------------------------------------------
-- What a part is made of

local function add_once(list, by, key, value)
  if by[key] == nil then
    by[key] = value
    list[#list + 1] = value
  end
end

-- A name at a token of the function: no member, and none of a namespace.
local function is_name(words, token)
  local before = words[token - 1]
  return words.kind[token] == "name" and before ~= "." and before ~= "->" and before ~= "::"
end

local function sort_name(part, by, token)
  local name = part.fn.kernel.words[token]
  local d = part.fn:declaration(name, token)
  if d and part.first <= d.token and d.token <= part.last then
    add_once(part.inner, by, d, d)
  elseif d then
    add_once(part.free, by, d, d)
  elseif not is_common(name) then
    add_once(part.others, by, name, name)
  end
end

local function has_template(fn)
  return fn.kernel.words[fn.first] == "template"
end

--- What tokens of a function are made of; nil and why they cannot stand elsewhere.
---@param fn table of kernel.read
---@param first integer
---@param last integer
---@return table? part
---@return string? message
function M.part(fn, first, last)
  local words, by = fn.kernel.words, {}
  if has_template(fn) then return nil, fn.name .. " is a template" end
  local part = { fn = fn, first = first, last = last, free = {}, inner = {}, others = {} }
  for token = first, last do
    if words.kind[token] == "directive" and words.directive(token) ~= "pragma" then
      return nil, "a # directive is in it"
    end
    if is_name(words, token) then sort_name(part, by, token) end
  end
  return part
end

-- What is written of the variables of a part: themselves, or where they lead.
local function written_in(part)
  if part.written then return part.written, part.stored end
  part.written, part.stored = {}, {}
  for _, node in ipairs(part.nodes) do
    local all = effects.of(part.fn, node)
    for name in pairs(all.writes) do part.written[name] = true end
    for name in pairs(all.addresses) do part.written[name] = true end
    for _, access in ipairs(all.accesses) do
      if access.write and access.base then part.stored[access.base] = true end
    end
  end
  return part.written, part.stored
end

--- Which variables of its function a part writes, themselves or where they lead, and which it only
--- reads, under other names where some are given.
---@param part table with `nodes`, the statements or trees that it is
---@param names? table<table, string> by declaration
---@return table<string, true> written
---@return table<string, true> read
function M.touched(part, names)
  local written, stored = written_in(part)
  local changed, read = {}, {}
  for _, d in ipairs(part.free) do
    local is_changed = written[d.name] or stored[d.name]
    local into = is_changed and changed or read
    into[names and names[d] or d.name] = true
  end
  return changed, read
end

--------------------------------------------------------------------------------------------------
-- Which variable is which

-- May `here`, of the same shape, stand for a variable of a part?
local function fits(part, d, here)
  local written, stored = written_in(part)
  local is_moved = written[d.name] and #d.extents == 0 and d.pointer > 0
  return here.type ~= "auto"
    and not (written[d.name] and (here.const or is_moved and #here.extents > 0))
    and not (stored[d.name] and here.target_const)
end

--- The variables that are known at a token, in the order in which they are declared.
---@param fn table
---@param token integer
---@return table[]
function M.known_at(fn, token)
  local list, seen = {}, {}
  for _, d in ipairs(fn.params) do list[#list + 1] = d end
  for _, s in ipairs(fn.statements) do
    for _, d in ipairs(s.first < token and s.declared or {}) do
      if d.last < token then list[#list + 1] = d end
    end
  end
  local known = {}
  for _, d in ipairs(list) do
    local is_it = not seen[d] and fn:declaration(d.name, token) == d
    seen[d] = true
    if is_it then known[#known + 1] = d end
  end
  return known
end

-- Variables by their shape, each list in their order.
local function by_shape(fn, list)
  local lists = {}
  for _, d in ipairs(list) do
    local shape = uses.shape(fn, d)
    lists[shape] = lists[shape] or {}
    table.insert(lists[shape], d)
  end
  return lists
end

local function pairs_of(part, fn, known)
  local list = {}
  known.shapes = known.shapes or by_shape(fn, known)
  for i, d in ipairs(part.free) do
    for j, here in ipairs(known.shapes[uses.shape(part.fn, d)] or {}) do
      local likeness = fits(part, d, here) and uses.likeness(part.fn, d, fn, here) or 0
      if likeness >= LEAST_LIKENESS then
        list[#list + 1] = { d = d, here = here, i = i, j = j, likeness = likeness }
      end
    end
  end
  table.sort(list, function(a, b)
    if a.likeness ~= b.likeness then return a.likeness > b.likeness end
    if a.i ~= b.i then return a.i < b.i end
    return a.j < b.j
  end)
  return list
end

-- Each variable's name there, the most alike first, and how alike they are; nil and for which there
-- is none.
local function names_for(part, fn, known)
  local names, taken, sum, n = {}, {}, 0, 0
  for _, pair in ipairs(pairs_of(part, fn, known)) do
    if not names[pair.d] and not taken[pair.here] then
      names[pair.d], taken[pair.here] = pair.here.name, true
      sum, n = sum + pair.likeness, n + 1
    end
  end
  for _, d in ipairs(part.free) do
    if not names[d] then
      return nil, ("no variable there is like %s (%s%s)"):format(d.name, d.type,
        ("*"):rep(d.pointer + #d.extents))
    end
  end
  return names, n > 0 and sum / n or 1
end

-- What a part declares has a name of its own where its name means something else there.
local function rename_inner(part, fn, names)
  local used = {}
  for _, name in pairs(names) do used[name] = true end
  for _, d in ipairs(part.inner) do
    if used[d.name] or fn.kernel.macros[d.name] then
      names[d] = fn.kernel:fresh(d.name .. "_too")
    end
  end
end

--------------------------------------------------------------------------------------------------
-- Other names

local need -- (needs, name): nil, or why it cannot be had

-- The names that a file has outside of what stands in functions.
local function outside(kernel)
  if kernel.outside_names then return kernel.outside_names end
  local names, words, i, fns = {}, kernel.words, 1, 1
  while i <= #words do
    local fn = kernel.functions[fns]
    if fn and i > fn.open then
      i, fns = fn.close, fns + 1
    elseif words.kind[i] == "name" then
      names[words[i]] = true
    end
    i = i + 1
  end
  kernel.outside_names = names
  return names
end

--- The source of a function, whole.
---@param fn table
---@return string
function M.whole(fn)
  return fn.kernel:source(fn.first, fn.close)
end

local function all_needed(needs, names)
  for _, name in ipairs(names) do
    local why = need(needs, name)
    if why then return why end
  end
end

-- A name of the same file: there, unless it is a function that stands behind the place.
local function need_in_file(needs, name)
  local fn = needs.fn.kernel.by_name[name]
  if not fn then return nil end
  if fn.kind ~= "device" then return name .. " is a kernel" end
  if fn == needs.fn then return "it calls the function that it would come into" end
  if fn.first > needs.fn.first and not needs.seen[fn] then
    needs.seen[fn] = true
    needs.announced[#needs.announced + 1] = fn
  end
end

-- The other names of a function of another file.
local function others_of(fn)
  local part, why = M.part(fn, fn.first, fn.close)
  local names = {}
  for _, name in ipairs(part and part.others or {}) do
    if name ~= fn.name then names[#names + 1] = name end
  end
  return part and names, why
end

-- A function of another file comes before the place, with those that it calls; unless it is there.
local function copy_function(needs, fn)
  if needs.seen[fn] then return nil end
  needs.seen[fn] = true
  local here = needs.fn.kernel
  local same = here.by_name[fn.name]
  if same and M.whole(same) == M.whole(fn) then return need_in_file(needs, fn.name) end
  if fn.kind ~= "device" or not fn.body then return fn.name .. " is no device function" end
  local names, why = others_of(fn)
  if names then why = all_needed(needs, names) end
  if why then return why end
  needs.copied[#needs.copied + 1] = fn
  if #needs.copied > MOST_COPIED then return "it needs too many functions" end
  if here.macros[fn.name] or outside(here)[fn.name] then
    needs.renamed[fn.name] = here:fresh(fn.name)
  end
end

function need(needs, name)
  local here, donor = needs.fn.kernel, needs.donor
  local macro, own = donor.macros[name], here.macros[name]
  for _, hidden in ipairs(macro and macro.names or {}) do
    if needs.variables[hidden] then return ("%s hides %s"):format(name, hidden) end
  end
  if here == donor then return need_in_file(needs, name) end
  local fn = donor.by_name[name]
  if fn then return copy_function(needs, fn) end
  if macro and macro.value and macro.value:find "^[%d.]" then
    if not own or own.value ~= macro.value then needs.values[name] = macro.value end
    return nil
  end
  if own or outside(here)[name] then return nil end
  return ("%s is not known there"):format(name)
end

--- What a part, or a whole function of another text, needs there; nil and why it cannot be had.
---@param fn table where it comes
---@param from table the function that has the names
---@param names string[]
function M.needs(fn, from, names)
  local needs = { fn = fn, donor = from.kernel, variables = from.variables, seen = {},
    copied = {}, announced = {}, values = {}, renamed = {} }
  local why = all_needed(needs, names)
  if why then return nil, why end
  return needs
end

--------------------------------------------------------------------------------------------------

--- Are there as many variables of each type as a part needs? Soon told, where M.fit takes long.
---@param part table
---@param fn table of kernel.read
---@param known table[] of M.known_at
---@return boolean
function M.may_fit(part, fn, known)
  part.shapes = part.shapes or by_shape(part.fn, part.free)
  known.shapes = known.shapes or by_shape(fn, known)
  for shape, list in pairs(part.shapes) do
    if #(known.shapes[shape] or {}) < #list then return false end
  end
  return true
end

--- How a part would read at a token of a function; nil and why it cannot stand there.
---@param part table with `nodes`, the statements or trees that it is
---@param fn table of kernel.read
---@param known table[] of M.known_at
---@return table? fit
---@return string? message
function M.fit(part, fn, known)
  local names, likeness = names_for(part, fn, known)
  if not names then return nil, likeness end
  local needs, why = M.needs(fn, part.fn, part.others)
  if not needs then return nil, why end
  rename_inner(part, fn, names)
  return { names = names, likeness = likeness, copied = needs.copied, values = needs.values,
    announced = needs.announced, renamed = needs.renamed }
end

-- Lines without the blanks of the first, and with others in their place.
local function moved(text, from, to)
  return (text:gsub("\n([ \t]*)", function(blanks)
    return "\n" .. to .. (blanks:sub(1, #from) == from and blanks:sub(#from + 1) or "")
  end))
end

--- The text of a part at its place.
---@param part table
---@param fit table
---@param indent string blanks of the place
---@return string
function M.text(part, fit, indent)
  local kernel, instead = part.fn.kernel, {}
  local words = kernel.words
  for token = part.first, part.last do
    if is_name(words, token) then
      local d = part.fn:declaration(words[token], token)
      local name = not d and words[token]
      instead[token] = d and fit.names[d] or name and (fit.values[name] or fit.renamed[name])
        or nil
    end
  end
  return moved(kernel:source(part.first, part.last, instead), kernel:indent(part.first), indent)
end

-- The text of a function that is copied, under the names of the place.
local function copied_text(fn, fit)
  local words, instead = fn.kernel.words, {}
  for token = fn.first, fn.close do
    if is_name(words, token) and not fn:declaration(words[token], token) then
      instead[token] = fit.values[words[token]] or fit.renamed[words[token]]
    end
  end
  return moved(fn.kernel:source(fn.first, fn.close, instead), fn.kernel:indent(fn.first), "")
end

--- What has to stand before the function that a part comes into: texts.
---@param fit table or what M.needs gives
---@return string[]
function M.before(fit)
  local list = {}
  for _, fn in ipairs(fit.copied) do list[#list + 1] = copied_text(fn, fit) end
  for _, fn in ipairs(fit.announced) do
    local head = fn.kernel:source(fn.first, fn.kernel.words.match[fn.head])
    list[#list + 1] = head:gsub("%s+", " ") .. ";"
  end
  return list
end

return M
