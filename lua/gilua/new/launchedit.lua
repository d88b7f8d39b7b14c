-- launchedit: launches in a user's file, as a transformation wants them: kernel<<<grid, block>>>
-- becomes kernel<<<grid * 32, block>>>.
--
-- A launch is written in place. What nobody knows to be a whole number or a dim3 becomes a dim3
-- first: dim3(dim3(p.grid).x * 32, …); what calls a function that no file of the program shows is
-- left to the person, for it may not be called twice. A launch that is done together with the one
-- behind it gets its arguments, and that one goes, where it is launched in the same words and
-- nothing but a wait stands between.

local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local expression = require "gilua.source.expression"
local launchsites = require "gilua.host.launchsites"
local launches = require "gilua.transform.launch"
local lists = require "gilua.base.lists"

local M = {}

local SIDES = { x = 1, y = 2, z = 3 }
local MOST_INDENT = 200 -- blanks before a launch

local WHOLE = csource.set "int unsigned long short size_t uint32_t int32_t uint64_t int64_t uint"
local SUMS = csource.set "+ - * / %"
local NUMBERS = csource.set "ceil ceilf floor floorf min max int unsigned size_t" -- that are called

--------------------------------------------------------------------------------------------------
-- What a grid is

-- Adds the bodies of a macro that a file defines: with arguments, or without.
local function add_macros(list, t, name, has_arguments)
  for _, _, d in csource.directives(t) do
    local defined, params, from = csource.defined(d)
    if defined == name and (params ~= nil) == has_arguments then
      list[#list + 1] = d:text(from, #d)
    end
  end
end

-- A file and the other files of its program, which are read at the first use.
local function program_of(code)
  if not code.program then
    code.program = { code }
    for i, text in ipairs(code.beside or {}) do code.program[i + 1] = code_of.of(text) end
  end
  return code.program
end

-- The bodies of a macro of a program.
local function macros_of(code, name, has_arguments)
  local list = {}
  for _, one in ipairs(program_of(code)) do add_macros(list, one.t, name, has_arguments) end
  return list
end

-- Is a tree a sum or product, or a number? Not one call, or what nobody knows.
local function is_computed(tree)
  if not tree then return false end
  local is_number = tree.kind == "number" and tree.literal == "number"
  return is_number or tree.kind == "binary" and SUMS[tree.op] or false
end

--- Is a text a sum or product, or a number, so that it is a grid or a block of one side?
---@param text string
---@return boolean
function M.is_one_side(text)
  return is_computed(code_of.tree({ trees = {} }, text).tree)
end

-- What the last name of a type makes of a value: "dim3" or "whole"; nil for any other.
local function kind_of_type(type)
  local word = not type:find "[*&]" and type:match "[%w_]+$"
  return word == "dim3" and word or WHOLE[word] and "whole" or nil
end

--- What a declaration makes of its name: "dim3", "whole" or "other".
---@param d table of source:declarations
---@return string
function M.declared_type(d)
  local init = d.type == "auto" and d.init
  if init and init.kind == "list" and #init.items == 1 then init = init.items[1] end
  local makes = init and init.kind == "call" and init.callee.text
  return kind_of_type(makes or d.type) or is_computed(init) and "whole" or "other"
end

-- The declarations of a name that may be a grid or a block, a pointer is none: those that a token
-- sees, innermost; all of the file where it sees none, or stands in a macro.
local function declarations(code, name, at)
  local list, seen = {}, nil
  for _, d in ipairs(code_of.declarations(code)) do
    if d.name == name and d.pointer == 0 and #d.extents == 0 and not d["function"] then
      local sees = at and d.scope_first <= at and at <= d.scope_last
      if sees and (not seen or d.scope_last <= seen.scope_last) then seen = d end
      list[#list + 1] = d
    end
  end
  return seen and { seen } or list
end

local function is_no_number(body) return not body:find "^%d+$" end

-- What the file declares a name as: "dim3", "whole", or nil where it is neither, or both.
local function declared(code, name, at)
  local macros = macros_of(code, name, false)
  if macros[1] and not lists.any(macros, is_no_number) then return "whole" end
  local found
  for _, d in ipairs(declarations(code, name, at)) do
    local kind = M.declared_type(d)
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
local function given_sides(code, name, at)
  local t, list = code.t, declarations(code, name, at)
  local d = list[1]
  local is_list = d and not list[2] and d.init_at and t:match(d.init_at) == d.last
  if not is_list then return nil end
  for i in function(_, k) return t:find(k + 1, name) end, nil, d.token do
    if i <= d.scope_last and may_change(t, i) then return nil end
  end
  return #csource.ranges(t, d.init_at + 1, d.last - 1)
end

-- What the program says that a function gives, or a macro with arguments: "dim3" or "whole"; nil
-- where that is not known.
local function returned(code, name)
  if NUMBERS[name] then return "whole" end
  local kinds = {}
  for _, file in ipairs(program_of(code)) do
    for _, one in ipairs(file.s:functions(true)) do
      local type = one.name == name and file.t[one.token - 1]
      if type then kinds[#kinds + 1] = kind_of_type(type) or "other" end
    end
    for _, d in ipairs(code_of.declarations(file)) do
      if d.name == name and d["function"] then
        kinds[#kinds + 1] = d.pointer == 0 and kind_of_type(d.type) or "other"
      end
    end
  end
  for _, body in ipairs(macros_of(code, name, true)) do
    kinds[#kinds + 1] = is_computed(code_of.tree(code, body).tree) and "whole" or "other"
  end
  for _, kind in ipairs(kinds) do
    if kind == "other" or kind ~= kinds[1] then return nil end
  end
  return kinds[1]
end

-- May a tree be computed twice? Not where it calls what nobody knows.
local function is_repeatable(code, tree)
  local known = true
  expression.walk(tree, function(node)
    local name = node.kind == "call" and (node.callee.text or ""):match "[%w_]*$"
    if name and not NUMBERS[name] and name ~= "dim3" then known = false end
    local macro = node.kind == "name" and table.concat(macros_of(code, node.text, false))
    if macro and macro:find "[%w_]%s*%(" then known = false end
  end)
  return known
end

-- What a tree is, where the file says it: "dim3", "whole", or "either"; nil where that is unknown
-- and it may not be computed twice.
local function kind_of(code, tree, at)
  local kind = tree.kind
  if is_computed(tree) then return "whole" end
  if kind == "member" and SIDES[tree.name] and is_repeatable(code, tree) then return "whole" end
  local known = (kind == "name" or kind == "member") and declared(code, tree.name or tree.text, at)
  if known == "whole" or known == "dim3" then return known end
  local of = kind == "call" and tree.callee.kind == "name" and tree.callee.text:match "[^:%s]+$"
    and returned(code, tree.callee.text:match "[^:%s]+$")
  if of then return of end
  if kind == "cast" then return kind_of_type(tree.type) == "whole" and "whole" or nil end
  return is_repeatable(code, tree) and "either" or nil
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
---@param at? integer the token where it stands in the file
---@return LaunchShape?
function M.shape(code, text, at)
  local one = code_of.tree(code, text:find "^{" and "dim3" .. text or text)
  local tree = one.tree
  if not tree then return nil end
  if tree.kind == "call" and tree.callee.text == "dim3" then
    local sides = { "1", "1", "1" }
    for d, arg in ipairs(tree.args) do sides[d] = code_of.part(one, arg) end
    return { text = text, sides = sides, is_dim3 = true }
  end
  local kind, sides = kind_of(code, tree, at), nil
  if kind == "whole" then
    return { text = text, sides = { text, "1", "1" }, is_dim3 = false }
  elseif kind == "either" then
    sides = asked(("dim3(%s)"):format(text), 3)
  elseif kind == "dim3" and is_repeatable(code, tree) then
    sides = asked(text, tree.kind == "name" and given_sides(code, text, at) or 3)
  end
  return sides and { text = text, sides = sides, is_dim3 = true }
end

--- Is a text of a function a grid or a block of one side: a sum, a number, or a name that the
--- function's file declares as a whole number alone?
---@param body? HostFunction
---@param text string
---@return boolean
function M.is_whole(body, text)
  if M.is_one_side(text) then return true end
  local shape = body and M.shape(body.code, text)
  return shape ~= nil and not shape.is_dim3
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
  ["@"] = function(text, n, length)
    return ("(%s * %s + %d) / %d"):format(in_brackets(text), in_brackets(length), n - 1, n)
  end,
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
local function changed(code, texts, changes, at)
  local shapes = {}
  for _, c in ipairs(changes) do
    local is_of_both = c.of == "axes" or c.operation == "@"
    for _, of in ipairs(is_of_both and { "grid", "block" } or { c.of }) do
      shapes[of] = shapes[of] or texts[of] and M.shape(code, texts[of], at)
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
      local length = shapes.block and shapes.block.sides[d]
      M.set_side(shape, d, OPERATIONS[c.operation](shape.sides[d], c.by, length))
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
  local new = changed(code, texts, changes, site.t == code.t and site.at or nil)
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
---@param beside? string[] texts of the program's other files
---@return string text
---@return integer changed how many launches are
---@return LaunchSite[] left those that are not, for they are not understood
function M.edited(text, kernel, launch, is_asked, beside)
  local code = code_of.of(text)
  code.beside = beside
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
