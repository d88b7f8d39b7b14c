--- fixed: has an expression of a launch one value, whatever the program is called with and reads?
--
-- Yes is: all names in it are macros, or variables that get one value, made of such names, which
-- nothing changes; parameters where every call gives a fixed one. So `int n = 1 << 20;` is fixed,
-- and `int n = 1024; if (argc > 1) n = atoi(argv[1]);` is not, though gilua.hostvalue says 1024 for
-- both: it says what is usual, for `gilua new`. Each side of a dim3 is a question (M.sides).
--
-- Limits: flow is not followed. A variable that a function which the files do not have may get by
-- reference is not fixed, unless CUDA's or C's has it. Members are not, nor is what stands in a
-- statement that is not understood.

local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local expression = require "gilua.source.expression"

local M = {}

local MOST_DEPTH = 12 -- names made of names
local NO_NAMES = csource.set "true false"
local PURE = csource.set("ceil ceilf floor floorf min max int unsigned size_t float double long "
  .. "short dim3")
local BY_VALUE = csource.set("printf fprintf malloc calloc memset memcpy exit atoi assert setw")
local CHANGES = { "++$a", "--$a", "$a++", "$a--", "&$a", "$b >> $a" }
for op in ("+ - * / % << >> | & ^"):gmatch "%S+" do
  CHANGES[#CHANGES + 1] = "$a " .. op .. "= $b"
end

--------------------------------------------------------------------------------------------------
-- What names are given

---@class Giving
---@field at integer the token
---@field text? string nil: it is changed
---@field member string "x" of `grid.x = 3`; "" of the whole
---@field declares? table of source:declarations

-- Adds the name that an assignment changes: `n`, `grid.x`. Adds nothing for what a pointer or an
-- index leads to.
local function add(list, code, node, text)
  local is_member = node.kind == "member" and code.t[node.token - 1] == "."
    and node.token == node.first + 2
  if node.kind ~= "name" and not is_member then return end
  local name = code.t[is_member and node.first or node.token]
  list[name] = list[name] or {}
  table.insert(list[name], { at = node.first, text = text,
    member = is_member and code.t[node.token] or "" })
end

-- The text that a declaration begins with; of a dim3 with several sides a dim3.
local function begun(code, d)
  local t, from = code.t, d.init_at
  local is_dim3 = d.type:find "dim3$" and t[from] ~= "="
  return is_dim3 and "dim3" .. t:text(from, d.last) or code_of.value(code, d)
    or t:text(from, d.last)
end

local function add_declared(list, code)
  for _, d in ipairs(code_of.declarations(code)) do
    list[d.name] = list[d.name] or {}
    local text = d.init_at and begun(code, d) or d.type:find "dim3$" and "dim3(1)"
    if text and not d.parameter and not d["function"] then
      table.insert(list[d.name], { at = d.token, text = text, member = "", declares = d })
    end
    local led = d.reference and not d.const and d.init and d.init.kind == "name" and d.init.text
    if led then -- it is changed under another name
      list[led] = list[led] or {}
      table.insert(list[led], { at = d.token, member = "" })
    end
  end
end

-- Adds the arguments of calls by their own names; which function may change them is decided later.
local function add_passed(list, code)
  for _, call in ipairs(code.calls) do
    for k, arg in ipairs(call.args) do
      local name = arg.kind == "name" and code.t[arg.token]
      if name then
        list[name] = list[name] or {}
        table.insert(list[name], { at = arg.first, member = "", to = code_of.called(code, call.f),
          place = k })
      end
    end
  end
end

local CHANGES_NOTHING = { ["a launch"] = true, ["a function's declaration"] = true }

-- Adds all names in statements that cannot be read: these may change them.
local function add_unknown(list, code)
  for _, node in ipairs(code.s and code.s:unknown() or {}) do
    for i = node.first, CHANGES_NOTHING[node.why] and 0 or node.last do
      if code.t:kind(i) == "name" then
        list[code.t[i]] = list[code.t[i]] or {}
        table.insert(list[code.t[i]], { at = i, member = "" })
      end
    end
  end
end

-- All that names are given in a text, by name, in any order; noted once.
local function givings(code)
  if code.givings then return code.givings end
  local list = {}
  add_declared(list, code)
  add_passed(list, code)
  add_unknown(list, code)
  for _, m in ipairs(code_of.found(code, "$a = $b")) do
    add(list, code, m.a, code_of.text(code, m.b))
  end
  for _, pattern in ipairs(CHANGES) do
    for _, m in ipairs(code_of.found(code, pattern)) do add(list, code, m.a) end
  end
  code.givings = list
  return list
end

-- May a call give a variable another value, which is its argument at a place?
local function may_set(host, name, at)
  for _, one in ipairs(name and host.bodies[name] or {}) do
    if one.params[at] and one.params[at].text:find "&" then return true end
  end
  return not name or not (host.bodies[name] or host.functions[name] or host.callable[name]
    or PURE[name] or BY_VALUE[name] or name:find "^cuda" or name:find "^hip")
end

-- What a name is given between two tokens; nil where it is changed there.
local function given(host, code, name, first, last)
  local list = {}
  for _, one in ipairs(givings(code)[name] or {}) do
    local is_here = first <= one.at and one.at <= last
    if is_here and not one.text and (not one.place or may_set(host, one.to, one.place)) then
      return nil
    end
    list[#list + 1] = is_here and one.text and one or nil
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- Sides

local SIDES = { "x", "y", "z" }

local UNKNOWN = { false, false, false }

-- Returns the sides of a value that a whole dim3 is given; false for an unknown side.
local function sides_of(host, text)
  local one = code_of.tree(host, text)
  local tree = one.tree
  if not tree then return UNKNOWN end
  if tree.kind == "number" then return { text, "1", "1" } end
  if tree.kind ~= "call" or tree.callee.text ~= "dim3" then return UNKNOWN end
  local sides = { "1", "1", "1" }
  for d, arg in ipairs(tree.args) do sides[d] = code_of.part(one, arg) end
  return sides
end

local STATEMENTS = csource.set "; { }"

-- Is a side given in every run, behind the declaration and before any launch?
local function is_straight(code, from, to)
  local t, i = code.t, from
  while i < to do
    if t[i] == "<<<" or t[i] == "}" then return false end
    i = math.max(t[i] == "{" and t:match(i) or 0, i) + 1
  end
  return i == to and STATEMENTS[t[to - 1]] ~= nil
end

-- The declaration, and the sides that are given straight behind it, so that its own never count.
local function replaced(code, list)
  local declared, sides = nil, {}
  for _, one in ipairs(list) do declared = declared or one.declares and one end
  for _, one in ipairs(declared and list or {}) do
    local is_side = one.member ~= "" and is_straight(code, declared.at, one.at)
    sides[one.member] = sides[one.member] or is_side
  end
  return declared, sides
end

-- Returns the texts of the sides that a name is given, false for one that is given several.
local function sides_given(host, code, list)
  local declared, own = replaced(code, list)
  local texts = {}
  local function give(d, text)
    texts[d] = (texts[d] == nil or texts[d] == text) and text
  end
  for _, giving in ipairs(list) do
    local whole = giving.member == "" and sides_of(host, giving.text)
    for d, side in ipairs(SIDES) do
      local is_gone = giving == declared and own[side]
      if whole and not is_gone then give(d, whole[d])
      elseif giving.member == side then give(d, giving.text) end
    end
  end
  for d = 1, 3 do texts[d] = texts[d] or false end
  return texts
end

--------------------------------------------------------------------------------------------------
-- Are they one?

local is_fixed

-- Are the values that a name is given one, and fixed? Of a dim3 that is given sides each is.
local function is_one(host, list, body, depth)
  local texts = {}
  for i, one in ipairs(list) do
    if one.member ~= "" then
      texts = body and sides_given(host, body.code, list) or { false }
      break
    end
    texts[i] = (i == 1 or one.text == list[1].text) and one.text
  end
  for _, text in ipairs(texts) do
    if not text or not is_fixed(host, text, body, depth + 1) then return false end
  end
  return #texts > 0
end

local function is_fixed_parameter(host, body, k, depth)
  local any = false
  for _, call in ipairs(host.calls[body.name or ""] or {}) do
    local text = call.args[k] or body.params[k].text:match "=%s*(.+)$"
    any = true
    if call.within ~= body and not (text and is_fixed(host, text, call.within, depth + 1)) then
      return false
    end
  end
  return any
end

-- What all files give a name that no function declares; nil where one changes it.
local function given_outside(host, name)
  local all = {}
  for _, code in ipairs(host.files) do
    local list = given(host, code, name, 1, #code.t)
    if not list then return nil end
    table.move(list, 1, #list, #all + 1, all)
    for _, word, words in csource.directives(code.t) do
      if word == "define" and words[2] == name and #words > 2 then
        all[#all + 1] = { text = words:text(3, #words), member = "" }
      end
    end
  end
  return all
end

-- What a name is given in the innermost function that gives it anything; that function, or which
-- of its parameters it is. nil where it is changed.
local function found(host, name, body)
  local one = body
  while one do
    local list = given(host, one.code, name, one.first, one.last)
    if not list then return nil end
    for k, param in ipairs(one.params) do
      if param.name == name then return #list == 0 and list or nil, one, k end
    end
    if #list > 0 or one.index and one.index[name] then return list, one end
    one = one.outer
  end
  return given_outside(host, name)
end

local function is_fixed_name(host, name, body, depth)
  local list, one, k = found(host, name, body)
  if not list then return false end
  if k then return is_fixed_parameter(host, one, k, depth) end
  local is_template = one and #list == 0 -- whose instance says it
  return is_template or is_one(host, list, one, depth)
end

function is_fixed(host, text, body, depth)
  local tree, fixed = code_of.tree(host, text).tree, depth <= MOST_DEPTH
  expression.walk(fixed and tree or nil, function(node)
    local name = node.kind == "call" and (node.callee.text or ""):match "[%w_]*$"
    if name then
      fixed = fixed and (PURE[name] or host.bodies[name] or host.functions[name]) ~= nil
      for _, arg in ipairs(node.args) do
        fixed = fixed and is_fixed(host, code_of.part(code_of.tree(host, text), arg), body, depth)
      end
      return false
    end
    if node.kind == "index" or node.kind == "member" and node.arrow then fixed = false end
    if node.kind == "name" and not NO_NAMES[node.text] then
      fixed = fixed and is_fixed_name(host, node.text:match "[%w_]*$", body, depth)
    end
  end)
  return tree ~= nil and fixed
end

--- Has an expression one value alone?
---@param text string
---@param body? HostFunction in which it stands
---@return boolean
function M.is(host, text, body) return is_fixed(host, text, body, 1) end

--- Returns the texts of a dim3's sides, with false for a side that is assigned several; nil if the
--- name is no variable of a function.
---@param name string
---@return (string|false)[]?
function M.sides(host, name, body)
  local list, one, k = found(host, name, body)
  if not list or not one or k or #list == 0 then return nil end
  return sides_given(host, one.code, list)
end

return M
