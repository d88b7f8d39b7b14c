-- layout: the members of a struct that a kernel takes: their names by the file's words
-- (gilua.members), their offsets and types by the compiler.
--
-- The compiler supplies them, as for the parameters (gilua.signature): it fills a table that is
-- declared after the kernel. The structs that members point to follow in turn.

local csource = require "gilua.source.csource"
local members = require "gilua.host.members"
local signature = require "gilua.new.signature"
local tablerows = require "gilua.problem.tablerows"

-- Fields that are the whole: what `T **` points to; a struct that is not understood.
local M = { POINTED = "*", BITS = "bits" }

local MOST_DEPTH = 3 -- structs that point to structs
local PER_MEMBER = 6 -- numbers: offset, elements, pointer, const, code, bytes
local FIRST = -1 -- in front of them: what is all zeros is not written

local PROBE = [[
template <class gilua_T> struct gilua_flat {
  typedef typename gilua_bare<gilua_T>::gilua_to gilua_to; static constexpr int gilua_n = 1; };
template <class gilua_T, int gilua_N> struct gilua_flat<gilua_T[gilua_N]> {
  typedef typename gilua_flat<gilua_T>::gilua_to gilua_to;
  static constexpr int gilua_n = gilua_N * gilua_flat<gilua_T>::gilua_n; };
template <class gilua_T> struct gilua_to {
  typedef typename gilua_bare<gilua_T>::gilua_to gilua_t; };
template <class gilua_T> struct gilua_to<gilua_T *> {
  typedef typename gilua_bare<gilua_T>::gilua_to gilua_t; };
template <class gilua_T> struct gilua_to<gilua_T *__restrict__> {
  typedef typename gilua_bare<gilua_T>::gilua_to gilua_t; };
template <class gilua_T> struct gilua_free { typedef gilua_T gilua_t; };
template <class gilua_T> struct gilua_free<gilua_T *__restrict__> { typedef gilua_T *gilua_t; };
template <class gilua_T> struct gilua_free<gilua_T *const> { typedef gilua_T *gilua_t; };
template <class gilua_T> struct gilua_free<gilua_T *const __restrict__> {
  typedef gilua_T *gilua_t; };
template <int gilua_I, class gilua_F> struct gilua_nth;
template <class gilua_A, class... gilua_R> struct gilua_nth<0, void(gilua_A, gilua_R...)> {
  typedef typename gilua_to<gilua_A>::gilua_t gilua_t; };
template <int gilua_I, class gilua_A, class... gilua_R>
struct gilua_nth<gilua_I, void(gilua_A, gilua_R...)> {
  typedef typename gilua_nth<gilua_I - 1, void(gilua_R...)>::gilua_t gilua_t; };
struct gilua_member { int gilua_at, gilua_each; gilua_row gilua_type; };
template <class gilua_T> __device__ constexpr gilua_member gilua_member_at(int gilua_at) {
  typedef typename gilua_flat<typename gilua_free<gilua_T>::gilua_t>::gilua_to gilua_E;
  return { gilua_at, gilua_flat<gilua_T>::gilua_n,
           gilua_row_of<typename gilua_free<gilua_E>::gilua_t>() };
}
extern "C" { struct gilua_list { int gilua_first; gilua_member gilua_members[%d]; };
  __device__ gilua_list gilua_layout = { -1, { %s } }; }]]

-- The type that a parameter is of or points to.
local function parameter(kernel, i)
  return ("gilua_nth<%d, decltype(%s)>::gilua_t"):format(i - 1, kernel)
end

-- The type of a struct's member, and what that points to.
local function type_of(struct, path)
  return ("decltype(((%s *)0)->%s)"):format(struct, path)
end

local function pointee(struct, path)
  return ("gilua_to<gilua_flat<%s>::gilua_to>::gilua_t"):format(type_of(struct, path))
end

-- Returns the questions about a member, or about the struct itself if the path is empty.
local function question(struct, path)
  if path == "" then return ("gilua_member_at<%s>(0)"):format(struct) end
  return ("gilua_member_at<%s>((int)__INTADDR__(&((%s *)0)->%s))"):format(type_of(struct, path),
    struct, path)
end

---@class LayoutMember
---@field path string "at.x"
---@field at integer byte of the struct
---@field each integer elements; of vectors' numbers too
---@field pointer boolean
---@field const boolean what it points to
---@field type? string element type, of what it points to; nil of a struct's, void's
---@field width integer of an element
---@field bytes integer of an element
---@field to? LayoutStruct what it points to
---@field leads_back? boolean it points to a struct like one that it is in

local function member_of(path, numbers, i)
  local at, each, pointer, const, code, bytes = table.unpack(numbers, 2 + PER_MEMBER * (i - 1))
  local type, width = signature.typed(code)
  return { path = path, at = at, each = each, pointer = pointer == 1, const = const == 1,
    type = type, width = width or 1, bytes = bytes }
end

-- A source whose members all can be asked for: a class as a struct, nothing private.
local function opened(source)
  local t <close>, parts, at = csource.tokens(source), {}, 1
  for i = 1, #t do
    local behind = t[i + 2]
    local is_class = t[i] == "class" and t[i - 1] ~= "enum"
      and (behind == "{" or behind == ":" or behind == "final")
    if is_class then
      parts[#parts + 1] = source:sub(at, t:first(i) - 1) .. "struct"
      at = t:last(i) + 1
    end
  end
  return table.concat(parts) .. source:sub(at)
end

-- Asks the compiler for members of structs: { struct, path } each.
local function ask(source, kernel, options, list)
  local questions, all = {}, { "-Dprivate=public", "-Dprotected=public" }
  for i, q in ipairs(list) do questions[i] = question(q[1], q[2]) end
  table.move(options, 1, #options, #all + 1, all)
  local numbers, _, why = signature.ask(opened(source), kernel, all,
    PROBE:format(#list, table.concat(questions, ", ")), "gilua_layout")
  if not numbers or numbers[1] ~= FIRST then return nil, why or "it is left out" end
  local found = {}
  for i, q in ipairs(list) do found[i] = member_of(q[2], numbers, i) end
  return found
end

---@class LayoutStruct
---@field bytes integer
---@field [integer] LayoutMember

---@class LayoutAsk what stays the same while one layout is worked out
---@field source string
---@field kernel string
---@field options string[]
---@field host HostCode

-- Does a member lie where no table can have it, as in a packed struct?
local function is_askew(member)
  local step = member.pointer and 8 or member.type and member.bytes // member.width or 1
  return member.at % step ~= 0
end

-- The struct behind a type's expression, whose name the file's words have; within: those that it is
-- found in.
local function struct_of(a, expression, name, within)
  local paths, why = members.paths(a.host, name)
  if not paths then return nil, why end
  local list = { { expression, "" } }
  for i, p in ipairs(paths) do list[i + 1] = { expression, p.path } end
  local found, refused = ask(a.source, a.kernel, a.options, list)
  if not found then return nil, refused end
  local struct, around = { bytes = found[1].bytes }, { name }
  table.move(within, 1, #within, 2, around)
  for i, p in ipairs(paths) do
    local member = found[i + 1]
    if is_askew(member) then return nil, ("%s.%s is not aligned"):format(name, p.path) end
    local is_struct = member.pointer and not member.type and member.bytes > 0
    for _, other in ipairs(around) do member.leads_back = member.leads_back or other == p.struct end
    if is_struct and #around < MOST_DEPTH and member.each == 1 then
      member.to = struct_of(a, pointee(expression, p.path), p.struct, around)
    end
    struct[i] = member
  end
  return struct
end

--- The struct that a parameter is, or points to.
---@param read { sliced: table, kernel: string, host: HostCode }
---@param options string[] of the compiler, headers of the problem's folder included
---@param i integer which parameter
---@param name string of the struct, as the file has it
---@return LayoutStruct?
---@return string? why not
function M.of(read, options, i, name)
  local a = { source = read.sliced.source, kernel = read.kernel, options = options,
    host = read.host }
  return struct_of(a, parameter(read.kernel, i), name, {})
end

--- What a parameter of type `T **` leads to: of the pointer that it points to.
---@param read { sliced: table, kernel: string }
---@param options string[]
---@param i integer which parameter
---@return LayoutMember?
function M.pointer(read, options, i)
  local found = ask(read.sliced.source, read.kernel, options, { { parameter(read.kernel, i), "" } })
  return found and found[1].pointer and found[1] or nil
end

--- What a variable is: elements, type, or the struct that it is of.
---@param read { sliced: table, kernel: string, host: HostCode }
---@param options string[]
---@param name string
---@param struct string the last name of its type, as the file has it
---@return LayoutMember? member nil where the kernel cannot see it
---@return LayoutStruct? of
function M.variable(read, options, name, struct)
  local a = { source = read.sliced.source, kernel = read.kernel, options = options,
    host = read.host }
  local type = ("decltype(%s)"):format(name)
  local found = ask(a.source, a.kernel, options, { { type, "" } })
  local m = found and found[1]
  if not m or m.type or m.pointer then return m end
  return m, (struct_of(a, ("gilua_flat<%s>::gilua_to"):format(type), struct, {}))
end

--------------------------------------------------------------------------------------------------
-- The same structs in another source

local function add_again(list, row, name, expression)
  list[#list + 1] = { expression, "", name = name }
  for _, field in ipairs(row.fields) do
    local is_whole = field[1] == M.POINTED or field[1] == M.BITS
    list[#list + 1] = { expression, is_whole and "" or field[1],
      bits = field[1] == M.BITS and field or nil }
  end
  for _, field in ipairs(row.fields) do
    if field.fields then
      add_again(list, field, name .. "." .. field[1], pointee(expression, field[1]))
    end
  end
end

--- The layouts of a table's structs as another source of its kernel has them, whose fields are
--- called as there.
---@param t table
---@param source string
---@param options string[]
---@return table<string, Layout>? by name of their rows
---@return string? why not
function M.again(t, source, options)
  local list, layouts, name = {}, {}, nil
  for i, arg in ipairs(t.args) do
    if arg.fields then add_again(list, arg, arg.name, parameter(t.kernel, i)) end
  end
  if #list == 0 then return {} end
  local found, why = ask(source, t.kernel, options, list)
  if not found then return nil, why end
  for i, q in ipairs(list) do
    local m = found[i]
    if q.name then
      name = q.name
      layouts[name] = { bytes = m.bytes }
    elseif q.bits then -- as they were
      table.insert(layouts[name], { type = q.bits[2], at = 0, pointer = false,
        each = m.bytes // tablerows.BYTES[q.bits[2]] })
    elseif not m.type and not m.pointer then
      return nil, ("%s is no number"):format(q[2])
    else
      table.insert(layouts[name], { type = m.type, at = m.at, each = m.each * m.width,
        pointer = m.pointer })
    end
  end
  return layouts
end

return M
