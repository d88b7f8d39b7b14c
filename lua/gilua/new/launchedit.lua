-- launchedit: launches in a user's file, as a transformation wants them: kernel<<<grid, block>>>
-- becomes kernel<<<grid * 32, block>>>.
--
-- A launch is written in place. What nobody knows to be a whole number or a dim3 becomes a dim3
-- first: dim3(dim3(p.grid).x * 32, …); what calls a function that the file does not show is left to
-- the person, for it may not be called twice. A launch that is done together with the one behind it
-- gets its arguments, and that one goes, where it is launched in the same words and nothing but a
-- wait stands between.

local core = require "gilua.core"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local launchsites = require "gilua.host.launchsites"
local launches = require "gilua.transform.launch"

local M = {}

local SIDES = { x = 1, y = 2, z = 3 }
local MOST_INDENT = 200 -- blanks before a launch

local WHOLE = csource.set "int unsigned long short size_t uint32_t int32_t uint64_t int64_t uint"
local SUMS = csource.set "+ - * / %"
local NUMBERS = csource.set "ceil ceilf floor floorf min max int unsigned size_t" -- that are called

--------------------------------------------------------------------------------------------------
-- What a grid is

-- What a macro without arguments stands for; nil where there is none, "" where there are several.
local function macro_of(t, name)
  local found
  for i = 1, #t do
    local d = t:kind(i) == "directive" and t:inside(i)
    if d and d[1] == "define" and d[2] == name then
      local text = #d > 2 and d:text(3, #d) or ""
      found = (not found or found == text) and text or ""
    end
  end
  return found
end

-- Is a text a sum or product, or a number? Not one call, or what nobody knows.
local function is_computed(words)
  if #words == 1 and words:kind(1) == "number" then return true end
  local i = 1
  while i <= #words do
    if SUMS[words[i]] and i > 1 then return true end
    i = csource.past(words, i)
  end
  return #words > 2 and words[1] == "(" and words:match(1) == #words
end

--- Is a text a sum or product, or a number, so that it is a grid or a block of one side?
---@param text string
---@return boolean
function M.is_one_side(text)
  local words <close> = core.grammar.tokens(text)
  return is_computed(words)
end

--- What a declaration makes of its name: "dim3", "whole" or "other".
---@param code HostText
---@param d table of source:declarations
---@return string
function M.declared_type(code, d)
  local type = d.type:match "[%w_]+$" or ""
  local value = type == "auto" and code_of.value(code, d) or ""
  if value:find "^dim3%f[%W]" then type = "dim3" end
  return type == "dim3" and type or (WHOLE[type] or M.is_one_side(value)) and "whole" or "other"
end

-- The declarations of a name that may be a grid or a block: a pointer is none.
local function declarations(code, name)
  local list = {}
  for _, d in ipairs(code_of.declarations(code)) do
    local may_be = d.name == name and d.pointer == 0 and #d.extents == 0
    if may_be and not d["function"] then list[#list + 1] = d end
  end
  return list
end

-- What the file declares a name as: "dim3", "whole", or nil where it is neither, or both.
local function declared(code, name)
  if (macro_of(code.t, name) or ""):find "^%d+$" then return "whole" end
  local found
  for _, d in ipairs(declarations(code, name)) do
    local kind = M.declared_type(code, d)
    if found and found ~= kind then return nil end
    found = kind
  end
  return found
end

local CHANGES = csource.set "= += -= *= /= %= <<= >>= |= &= ^= ++ --"

-- Does a token stand where something may be given to what it names: a value, or to a function?
local function may_change(t, i)
  local behind = t[i + 1] == "." and t[i + 3] or t[i + 1]
  local is_passed = t[i + 1] == ")" and (t[i - 1] == "(" or t[i - 1] == ",")
    or t[i + 1] == "," and t[i - 1] == "("
  return CHANGES[behind] or CHANGES[t[i - 1]] or t[i - 1] == "&" or is_passed
end

-- How many sides a file gives a dim3 where it declares it; nil where they may be given elsewhere.
local function given_sides(code, name)
  local t, sides, is_declared = code.t, nil, {}
  for _, d in ipairs(declarations(code, name)) do
    local is_list = d.init_at and t:match(d.init_at) == d.last
    if sides or not is_list then return nil end
    sides, is_declared[d.token] = #csource.ranges(t, d.init_at + 1, d.last - 1), true
  end
  local i = t:find(1, name)
  while i do
    if not is_declared[i] and may_change(t, i) then return nil end
    i = t:find(i + 1, name)
  end
  return sides
end

-- What the file says that a function gives, or a macro with arguments: "dim3" or "whole"; nil where
-- neither is known.
local function returned(t, name)
  if NUMBERS[name] then return "whole" end
  local found
  for i = 1, #t do
    local d = t:kind(i) == "directive" and t:inside(i)
    local is_macro = d and d[1] == "define" and d[2] == name and d[3] == "("
    local close = t[i] == name and t[i + 1] == "(" and t:match(i + 1)
    local type = close and (t[close + 1] == "{" or t[close + 1] == ";") and t:kind(i - 1) == "name"
      and t[i - 1]
    if is_macro then
      local body <close> = core.grammar.tokens(d:text((d:match(3) or #d) + 1, #d))
      type = is_computed(body) and "int" or "other"
    end
    local kind = type == "dim3" and type or WHOLE[type] and "whole"
    if type and (not kind or found and found ~= kind) then return nil end
    found = found or kind
  end
  return found
end

-- The calls of a text, by the tokens of their names.
local function calls_in(words)
  local list = {}
  for i = 1, #words - 1 do
    if words:kind(i) == "name" and words[i + 1] == "(" then list[#list + 1] = words[i] end
  end
  return list
end

-- What a text is, where the file says it: "dim3", "whole", or "either"; nil where that is unknown
-- and it may not be computed twice.
local function kind_of(code, words)
  if is_computed(words) then return "whole" end
  local t, last = code.t, #words
  local is_side = SIDES[words[last]] and words[last - 1] == "."
  local is_chain = words:kind(last) == "name" and csource.chain_start(words, last) == 1
  local known = is_chain and (is_side and "whole" or declared(code, words[last]))
  if known == "whole" or known == "dim3" then return known end
  local name = last
  while words[name] == ")" and words:match(name) do name = words:match(name) - 1 end
  local start = name
  while words[start - 1] == "::" do start = start - 2 end
  if name < last and start <= 1 and words:kind(name) == "name" and returned(t, words[name]) then
    return returned(t, words[name])
  end
  if words[1] == "static_cast" then return WHOLE[words[3]] and "whole" or nil end
  for _, call in ipairs(calls_in(words)) do
    if not NUMBERS[call] and call ~= "dim3" then return nil end
  end
  local is_macro = #words == 1 and macro_of(t, words[1])
  if is_macro and is_macro:find "[%w_]%s*%(" then return nil end
  return "either"
end

---@class LaunchShape what stands for a grid or a block in a launch
---@field text string
---@field sides string[] three
---@field is_dim3 boolean it is written as a dim3
---@field is_changed? boolean

-- The sides of a dim3 that can be asked for them: `g.x`; "1" where it is known to have none.
local function asked(text, given)
  local sides = { ".x", ".y", ".z" }
  for d = 1, 3 do sides[d] = (d == 1 or d <= given) and text .. sides[d] or "1" end
  return sides
end

--- The sides of a grid's or a block's text; nil where it is not understood.
---@param code HostText the file
---@param text string
---@return LaunchShape?
function M.shape(code, text)
  local words <close> = core.grammar.tokens(text)
  local is_brace = words[1] == "{" and 1
  local open = words[1] == "dim3" and (words[2] == "(" or words[2] == "{") and 2 or is_brace
  local sides
  if open and words:match(open) == #words then
    local given = csource.parts(words, open + 1, #words - 1)
    sides = { given[1] or "1", given[2] or "1", given[3] or "1" }
    return { text = text, sides = sides, is_dim3 = true }
  end
  local kind = #words > 0 and kind_of(code, words)
  if kind == "whole" then
    return { text = text, sides = { text, "1", "1" }, is_dim3 = false }
  elseif kind == "either" then
    sides = asked(("dim3(%s)"):format(text), 3)
  elseif kind == "dim3" and #calls_in(words) == 0 then
    sides = asked(text, #words == 1 and given_sides(code, text) or 3)
  end
  return sides and { text = text, sides = sides, is_dim3 = true }
end

--------------------------------------------------------------------------------------------------
-- What becomes of it

--- A text that may stand beside an operator.
---@param text string
---@return string
function M.in_brackets(text)
  return text:find "^[%w_.]+$" and text or "(" .. text .. ")"
end

local in_brackets = M.in_brackets

local OPERATIONS = {
  ["*"] = function(text, n) return ("%s * %d"):format(in_brackets(text), n) end,
  ["/"] = function(text, n) return ("(%s + %d) / %d"):format(text, n - 1, n) end,
  ["="] = function(_, n) return tostring(n) end,
  ["<"] = function(text, n)
    local once = in_brackets(text)
    return ("%s < %d ? %s : %d"):format(once, n, once, n)
  end,
}

--- The text of a shape: as it was where nothing of it changed.
---@param shape LaunchShape
---@return string
function M.text(shape)
  local sides = shape.sides
  if not shape.is_changed then return shape.text end
  if not shape.is_dim3 then return sides[1] end
  local last = 3
  while last > 1 and sides[last] == "1" do last = last - 1 end
  return ("dim3(%s)"):format(table.concat(sides, ", ", 1, last))
end

--- Gives a side of a shape another text.
---@param shape LaunchShape
---@param d integer
---@param text string
function M.set_side(shape, d, text)
  shape.is_dim3, shape.is_changed = shape.is_dim3 or d > 1, true
  shape.sides[d] = text
end

local function swap_axes(shapes)
  for _, shape in pairs(shapes) do
    local sides = shape.sides
    shape.is_changed = shape.is_changed or sides[1] ~= sides[2]
    shape.is_dim3 = shape.is_dim3 or sides[1] ~= sides[2]
    sides[1], sides[2] = sides[2], sides[1]
  end
end

-- The texts of a grid and a block with the changes made; nil where one that changes is of no usual
-- form.
local function changed(code, texts, changes)
  local shapes = {}
  for _, c in ipairs(changes) do
    for _, of in ipairs(c.of == "axes" and { "grid", "block" } or { c.of }) do
      shapes[of] = shapes[of] or texts[of] and M.shape(code, texts[of])
      if not shapes[of] then return nil end
    end
    if c.of == "axes" then
      swap_axes(shapes)
    elseif c.of == "shared" then
      local shape = shapes.shared
      shape.is_dim3, shape.sides, shape.is_changed = false,
        { OPERATIONS["*"](shape.sides[1], c.by) }, true
    elseif launches.is_condition(c) then
      if shapes[c.of].sides[SIDES[c.side]] ~= tostring(c.by) then return nil end
    else
      local d, shape = SIDES[c.side], shapes[c.of]
      M.set_side(shape, d, OPERATIONS[c.operation](shape.sides[d], c.by))
    end
  end
  local new = {}
  for of, text in pairs(texts) do new[of] = shapes[of] and M.text(shapes[of]) or text end
  return new
end

--------------------------------------------------------------------------------------------------
-- Launches

-- What can be written there: conditions of a block are none of it. A condition of the grid the
-- host's code keeps or a person does (gilua.promises); where nobody asked, a launch that has one is
-- left. That a side is a number the launch has to say itself (changed).
local function written(text, is_asked)
  local list = {}
  for _, c in ipairs(launches.read(text)) do
    local of_grid = c.of == "grid" and launches.is_condition(c)
    local is_equal = of_grid and c.operation == "=="
    if of_grid and not is_equal and not is_asked then return nil end
    if is_equal or not launches.is_condition(c) and c.of ~= "before" then list[#list + 1] = c end
  end
  return list
end

local WAITS = csource.set "cudaDeviceSynchronize cudaThreadSynchronize"

-- A text of tokens, with one blank where it has several.
local function plain(t, range)
  return t:text(range[1], range[2]):gsub("%s+", " ") .. ""
end

-- Is a launch in brackets a statement, which may get more arguments, or go?
local function is_statement(site)
  return site.open and site.t[site.close + 1] == ";"
end

-- The launch that has to go for one to be done together with it; nil where that is not told.
local function behind(own, other, sites)
  local t, k = own.t, own.close + 2
  while WAITS[t[k] or ""] and t[k + 1] == "(" and t[k + 2] == ")" and t[k + 3] == ";" do
    k = k + 4
  end
  local next
  for _, site in ipairs(sites) do
    if site.t == t and site.name == k and site.kernel == other then next = site end
  end
  local is_same = next and is_statement(next)
    and plain(t, { next.name + 2, next.open - 2 }) == plain(t, { own.name + 2, own.open - 2 })
  return is_same and next or nil
end

-- The edit that takes a statement away, with its line where nothing else is on it.
local function removal(text, t, first, last)
  local from, to = t:first(first), t:last(last)
  local blanks = text:sub(math.max(1, from - MOST_INDENT), from - 1):match "\n([ \t]*)$"
  local stop = text:match("^[ \t]*\r?\n()", to + 1)
  if blanks and stop then from, to = from - #blanks, stop - 1 end
  return { from = from, to = to, text = "" }
end

-- The edits that put a launch's arguments into the one before it; nil where that cannot be written.
local function joining(text, site, other, sites)
  local t, next = site.t, is_statement(site) and behind(site, other, sites) or nil
  if not next then return nil end
  local more = ("%s%s_arguments(%s))"):format(site.close > site.open + 1 and ", " or "", other,
    text:sub(t:last(next.open) + 1, t:first(next.close) - 1))
  return { launchsites.edit(t, { site.close, site.close }, more),
    removal(text, t, next.name, next.close + 1) }
end

-- The edits of a launch; nil where it cannot be written.
local function edits_of(text, code, site, changes, join, sites)
  if not changes or not site.grid or not site.block then return nil end
  local edits, texts = join and joining(text, site, join.other, sites) or {}, {}
  if join and not edits[1] then return nil end
  for _, of in ipairs { "grid", "block", "shared" } do
    local range = site[of]
    texts[of] = range and text:sub(site.t:first(range[1]), site.t:last(range[2]))
  end
  local new = changed(code, texts, changes)
  for of, was in pairs(new and texts or {}) do
    if new[of] ~= was then edits[#edits + 1] = launchsites.edit(site.t, site[of], new[of]) end
  end
  return new and edits
end

--- A file with the launches of a kernel as transformations want them.
---@param text string of the file
---@param kernel string
---@param launch string what becomes of a launch (gilua.launch)
---@param is_asked? boolean the host's code was asked for what `launch` asks of a grid: then such a
---  launch is written, too
---@return string text
---@return integer changed how many launches are
---@return LaunchSite[] left those that are not, for they are not understood
function M.edited(text, kernel, launch, is_asked)
  local code = code_of.of(text)
  local changes, edits, done, left = written(launch, is_asked), {}, 0, {}
  local join = launches.joined(launch)[""]
  local sites = launchsites.of(code)
  for _, site in ipairs(sites) do
    local is_own = site.kernel == kernel
    local list = is_own and edits_of(text, code, site, changes, join, sites)
    table.move(list or {}, 1, #(list or {}), #edits + 1, edits)
    if list then done = done + 1 elseif is_own then left[#left + 1] = site end
  end
  return launchsites.edited(text, edits), done, left
end

return M
