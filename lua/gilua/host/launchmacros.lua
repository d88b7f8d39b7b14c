--- launchmacros: macros that launch the kernel which they are given, and macros that give a launch
-- its grid and block together, written out where they stand:
--
--   #define LAUNCH(kernel, n, ...) kernel<<<((n) + 255) / 256, 256>>>(__VA_ARGS__)
--   LAUNCH(scale, n, x);       becomes       scale<<<((n) + 255) / 256, 256>>>(x);
--
--   #define BOTH(n) ((n) + 255) / 256, 256
--   scale<<<BOTH(n)>>>(x);     becomes       scale<<<((n) + 255) / 256, 256>>>(x);
--
-- So readers of launches see one of the usual form, and `gilua apply` changes the launch of one
-- kernel where others are launched by the same macro. Lines keep their numbers.
--
-- Limits: a macro that pastes names out of its arguments (##), or has two definitions, is left as
-- it is; so is a use within another macro.

local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local launchsites = require "gilua.host.launchsites"
local lists = require "gilua.base.lists"
local settings = require "gilua.base.settings"

local M = {}

local MOST_DEPTH = 4 -- macros that use each other
local REST = "__VA_ARGS__"

---@class LaunchMacro
---@field params string[]
---@field rest boolean the last of them takes all that is left
---@field text string of its body, on one line
---@field has_no_arguments boolean it is used as a name alone
---@field is_pair? boolean it has a comma, as grid and block: it is written out behind <<< alone

-- Returns a macro's parameters; whether the last takes the rest, `...` or `args...`.
local function params_of(list)
  local own = (list[#list] or ""):match "^(.-)%s*%.%s*%.?%s*%.$"
  if own then list[#list] = own ~= "" and own or REST end
  return list, own ~= nil
end

-- Can a body be written out?
local function is_plain(d, from)
  for i = from, #d do
    local drops_comma = d[i] == "##" and d[i - 1] == "," -- , ##__VA_ARGS__
    if d[i] == "##" and not drops_comma or d[i] == "__VA_OPT__" then return false end
  end
  return #d >= from
end

-- Reads the directive that defines a macro.
local function macro_of(d, given, from)
  if not is_plain(d, from) then return nil end
  local params, rest = params_of(given or {})
  return { params = params, rest = rest, has_no_arguments = not given,
    text = d:text(from, #d):gsub("%s*\\?\r?\n%s*", " ") .. "" }
end

-- Adds the macros of a text; nil for one that is defined twice, or that cannot be written out.
local function add_macros(text, found, seen)
  local t <close> = csource.tokens(text)
  for _, _, d in csource.directives(t) do
    local name, params, from = csource.defined(d)
    if name then
      found[name] = not seen[name] and macro_of(d, params, from) or nil
      seen[name] = true
    end
  end
end

-- Does a macro launch the kernel that it is given?
local function launches_given(macro)
  local names = csource.set(table.concat(macro.params, " "))
  local is_near = macro.text:find "<<<" or macro.text:find "cudaLaunch"
  return lists.any(is_near and launchsites.own(code_of.of(macro.text)) or {}, function(site)
    return names[site.kernel]
  end)
end

-- Has a text one of these names as a word?
local function uses(text, names)
  for word in text:gmatch "[%a_][%w_]*" do
    if names[word] then return true end
  end
  return false
end

--- Returns the macros of a program's texts that are written out, by name.
---@param texts string[]
---@return table<string, LaunchMacro>
function M.of(texts)
  local all, found, seen = {}, {}, {}
  for _, text in ipairs(texts) do add_macros(text, all, seen) end
  for name, macro in pairs(all) do found[name] = launches_given(macro) and macro or nil end
  for _ = 1, next(found) and MOST_DEPTH or 0 do
    for _, name in ipairs(settings.keys(all)) do
      found[name] = found[name] or uses(all[name].text, found) and all[name] or nil
    end
  end
  for name, macro in pairs(all) do
    macro.is_pair = not found[name] and macro.text:find(",", 1, true) ~= nil
    found[name] = found[name] or macro.is_pair and macro or nil
  end
  return found
end

-- Returns what a use gives, as the preprocessor splits it: round brackets alone keep a comma.
local function arguments(t, open, close)
  local list, from, i = {}, open + 1, open + 1
  while i < close do
    if t[i] == "," then list[#list + 1], from = t:text(from, i - 1), i + 1 end
    i = t[i] == "(" and t:match(i) + 1 or i + 1
  end
  if open + 1 < close then list[#list + 1] = t:text(from, close - 1) end
  return list
end

-- Returns what a macro's parameters are in a use; nil where these are too few or too many.
local function given(macro, args)
  local by_name, n = {}, #macro.params
  if macro.rest and #args >= n - 1 then
    args[n] = table.concat(args, ", ", n)
  elseif #args ~= n then
    return nil
  end
  for i, name in ipairs(macro.params) do by_name[name] = args[i] end
  return by_name
end

-- Returns a macro's body with what its parameters are.
local function body_with(macro, by_name)
  local text, edits = macro.text, {}
  local t <close> = csource.tokens(text)
  for i = 1, #t do
    local new, first = by_name[t[i]], i
    if t[i] == "##" then edits[#edits + 1] = launchsites.edit(t, { i, i }, "") end
    if new == "" and t[i - 1] == "##" then -- the comma before it goes, too
      edits[#edits], first = nil, i - 2
    elseif new and t[i - 1] == "#" then
      new, first = ('"%s"'):format(new:gsub('[\\"]', "\\%0")), i - 1
    end
    if new then edits[#edits + 1] = launchsites.edit(t, { first, i }, new) end
  end
  return launchsites.edited(text, edits)
end

-- Is a use of a macro a part of a launch of this kernel, or of any where none is named?
local function is_of(t, i, close, macro, kernel)
  if not macro.is_pair then return not kernel or uses(t:text(i, close), { [kernel] = true }) end
  local name = t[i - 1] == "<<<" and launchsites.name_before(t, i - 1)
  return name and (not kernel or t[name] == kernel)
end

-- Returns the edit that writes out the use at a name; nil if it is no use, or another kernel's.
local function use_at(t, i, macros, kernel)
  local macro = macros[t[i]]
  if not macro then return nil end
  local close = macro.has_no_arguments and i or t[i + 1] == "(" and t:match(i + 1)
  local by_name = close and given(macro, close > i and arguments(t, i + 1, close) or {})
  if not by_name or not is_of(t, i, close, macro, kernel) then return nil end
  local lines = ("\n"):rep(t:line(close) - t:line(i))
  return launchsites.edit(t, { i, close }, body_with(macro, by_name) .. lines), close
end

--- Returns a text in which every use of these macros is written out, or each with one kernel.
---@param text string
---@param macros table<string, LaunchMacro> of M.of
---@param kernel? string
---@param depth? integer of macros that use each other
---@return string
function M.expanded(text, macros, kernel, depth)
  if not next(macros) or not uses(text, macros) then return text end
  local t <close>, edits, i = csource.tokens(text), {}, 1
  while i <= #t do
    local edit, close
    if t:kind(i) == "name" then edit, close = use_at(t, i, macros, kernel) end
    edits[#edits + 1] = edit
    i = (close or i) + 1
  end
  local new = launchsites.edited(text, edits)
  local may_go_on = #edits > 0 and (depth or 1) < MOST_DEPTH
  return may_go_on and M.expanded(new, macros, kernel, (depth or 1) + 1) or new
end

return M
