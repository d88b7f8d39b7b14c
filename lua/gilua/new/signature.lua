-- signature: the types of a kernel's parameters, as the compiler sees them.
--
-- Macros, typedefs and templates stand between a parameter's text and its type, so the compiler is
-- asked: behind the kernel a table is declared that C++ fills from the kernel's own type, and it is
-- read from the compiled code.

local fail = require "gilua.base.fail"
local compiler = require "gilua.farm.compiler"
local core = require "gilua.core"
local csource = require "gilua.source.csource"

local MOST_KEPT = 4 -- answers of the compiler

local M = {}

-- Types of C++ with their element type here; vectors of the GPU get a width.
local SCALARS = {
  { "char", "i8" }, { "signed char", "i8" }, { "unsigned char", "u8" }, { "bool", "u8" },
  { "short", "i16" }, { "unsigned short", "u16" }, { "int", "i32" }, { "unsigned int", "u32" },
  { "long", "i64" }, { "unsigned long", "u64" }, { "long long", "i64" },
  { "unsigned long long", "u64" }, { "float", "f32" }, { "double", "f64" },
}
local VECTORS = { char = "i8", uchar = "u8", short = "i16", ushort = "u16", int = "i32",
  uint = "u32", long = "i64", ulong = "u64", longlong = "i64", ulonglong = "u64", float = "f32",
  double = "f64" }

local function all_types()
  local list = {}
  for _, s in ipairs(SCALARS) do list[#list + 1] = { text = s[1], type = s[2], width = 1 } end
  for base, type in pairs(VECTORS) do
    for width = 1, 4 do
      list[#list + 1] = { text = base .. width, type = type, width = width }
    end
  end
  table.sort(list, function(a, b) return a.text < b.text end)
  return list
end

local TYPES = all_types()

-- Numbers of 16 bits, which have no element type here, with what an array of their bits is filled
-- with. Their codes are those behind TYPES.
local HALVES = { { text = "__half", half = "half" }, { text = "__half2", half = "half" },
  { text = "__nv_bfloat16", half = "bfloat16" }, { text = "__nv_bfloat162", half = "bfloat16" } }

--- The element type and width that a type has under its own name: "unsigned char", "float4".
---@param text string
---@return string? type
---@return integer? width
function M.named(text)
  for _, t in ipairs(TYPES) do
    if t.text == text then return t.type, t.width end
  end
end

local PER_ARGUMENT = 4 -- numbers: pointer, const, code, bytes
local LAST = -1 -- in place of `pointer`: no parameters follow

-- Every name is gilua's own, as any other may be a macro of the file's.
local TRAITS = [[
template <class gilua_T> struct gilua_bare {
  typedef gilua_T gilua_to; static constexpr int gilua_const = 0; };
template <class gilua_T> struct gilua_bare<const gilua_T> {
  typedef gilua_T gilua_to; static constexpr int gilua_const = 1; };
template <class gilua_T> struct gilua_bare<volatile gilua_T> {
  typedef gilua_T gilua_to; static constexpr int gilua_const = 0; };
template <class gilua_T> struct gilua_bytes { static constexpr int gilua_n = sizeof(gilua_T); };
template <> struct gilua_bytes<void> { static constexpr int gilua_n = 0; };
template <class gilua_R, class... gilua_A> struct gilua_bytes<gilua_R(gilua_A...)> {
  static constexpr int gilua_n = 0; };
template <class gilua_T, bool gilua_is_enum = __is_enum(gilua_T)> struct gilua_plain {
  typedef gilua_T gilua_to; };
template <class gilua_T> struct gilua_plain<gilua_T, true> {
  typedef __underlying_type(gilua_T) gilua_to; };
template <class gilua_T> struct gilua_arg {
  typedef gilua_bare<gilua_T> gilua_P; static constexpr int gilua_pointer = 0; };
template <class gilua_T> struct gilua_arg<gilua_T *> {
  typedef gilua_bare<gilua_T> gilua_P; static constexpr int gilua_pointer = 1; };
struct gilua_row { int gilua_pointer, gilua_const, gilua_code, gilua_bytes; };
template <class gilua_A> __device__ constexpr gilua_row gilua_row_of() {
  typedef typename gilua_arg<gilua_A>::gilua_P gilua_P;
  typedef typename gilua_P::gilua_to gilua_to;
  return { gilua_arg<gilua_A>::gilua_pointer, gilua_P::gilua_const,
           gilua_type<typename gilua_plain<gilua_to>::gilua_to>::gilua_code,
           gilua_bytes<gilua_to>::gilua_n };
}]]

local PROBE = [[
template <class gilua_F> struct gilua_probe;
template <class... gilua_A> struct gilua_probe<void(gilua_A...)> {
  struct gilua_table { gilua_row gilua_rows[sizeof...(gilua_A) + 1]; };
  __device__ static constexpr gilua_table gilua_of() {
    return { { gilua_row_of<gilua_A>()..., { -1, 0, 0, 0 } } }; } };
extern "C" { __device__ gilua_probe<decltype(KERNEL)>::gilua_table gilua_signature =
  gilua_probe<decltype(KERNEL)>::gilua_of(); }]]

-- What all probes need: a type's code, and what it points to.
local function traits()
  local lines = { "template <class gilua_T> struct gilua_type { "
    .. "static constexpr int gilua_code = 0; };" }
  local function add(name, code)
    lines[#lines + 1] = ("template <> struct gilua_type<%s> { "
      .. "static constexpr int gilua_code = %d; };"):format(name, code)
  end
  for code, t in ipairs(TYPES) do add(t.text, code) end
  for i, t in ipairs(HALVES) do add("struct " .. t.text, #TYPES + i) end
  return table.concat(lines, " ") .. TRAITS
end

-- The kernel's item in a sliced source.
local function item_of(source, kernel)
  local g = core.grammar.parse("kernel.cu", { text = source, kernel = kernel })
  for _, item in ipairs(g:outline()) do
    if item.kind == "kernel" and item.name == kernel then return item end
  end
end

-- The numbers that a variable of PTX begins with: those that are not written are zeros. Nil where
-- there is none such.
local function numbers_in(ptx, name)
  local bytes, text = ptx:match(name .. "%[(%d+)%] = {([^}]*)}")
  if not bytes then return nil end
  local list, n = {}, tonumber(bytes) // 4
  for byte in text:gmatch "%d+" do list[#list + 1] = string.char(byte) end
  local packed = table.concat(list) .. ("\0"):rep(n * 4 - #list)
  return { string.unpack(("<" .. ("i4"):rep(n)), packed) }
end

local answers = {} -- the compiler's answers to the last questions, which recur
local next_one = 0

-- Compiles a source, unless it is one of the last.
local function compiled(source, options)
  local key = table.concat(options, "\n") .. "\n" .. source
  for _, one in pairs(answers) do
    if one.key == key then return one.code end
  end
  local code, why = compiler.compile(source, { target = "compute_90", options = options })
  if not code then return nil, why end
  answers[next_one] = { key = key, code = code }
  next_one = (next_one + 1) % MOST_KEPT
  return code
end

--- The numbers that a variable begins with which is declared behind a kernel, as the compiler knows
--- them. The declaration may use gilua_row_of<type>(): pointer, const, code (M.typed), bytes.
---@param source string a sliced source (gilua.slice)
---@param kernel string
---@param options string[] of NVRTC
---@param declaration string C++ of an extern "C" variable
---@param name string its name
---@return integer[]? numbers nil where the preprocessor leaves the kernel out
---@return table item the kernel's, of g:outline() of the source without the values of long arrays
---@return string? why the compiler does not take it
function M.ask(source, kernel, options, declaration, name)
  local short, values = csource.without_values(source)
  local item = item_of(short, kernel)
  local probe = (traits() .. " " .. declaration):gsub("\n", " ") -- the lines behind keep theirs
  local probed = short:sub(1, item.last) .. " " .. probe .. short:sub(item.last + 1)
  local code, why = compiled(probed, options)
  if not code and #values > 0 then
    code, why = compiled(csource.with_values(probed, values), options)
  end
  return code and numbers_in(code, name), item, not code and why or nil
end

--- The element type and width of a code; nil of a struct, and of what a pointer points to that is
--- none of these.
---@param code integer
---@return string? type
---@return integer? width
function M.typed(code)
  local known = TYPES[code]
  return known and known.type, known and known.width
end

-- Of a code: the fill of an array of such numbers of 16 bits ("half", "bfloat16"); else nil.
local function halves(code)
  local known = HALVES[code - #TYPES]
  return known and known.half
end

-- The stretches between the directives among a kernel's parameters, and what asks the compiler
-- which of them it takes: the directives again, with a variable in place of each stretch.
local function stretches_of(source, item)
  local t <close> = csource.tokens(source:sub(item.head, item.last))
  local list, probe, at = {}, {}, item.head
  local function mark(last)
    list[#list + 1] = { first = at, last = last }
    probe[#probe + 1] = ('extern "C" { __device__ char gilua_taken_%d; }'):format(#list)
  end
  for i in csource.directives(t) do
    if i > t:match(1) then break end
    mark(item.head + t:first(i) - 2)
    probe[#probe + 1], at = t[i], item.head + t:last(i)
  end
  mark(item.last)
  return list, table.concat(probe, "\n")
end

-- The source without those of the kernel's parameters that conditions leave out.
local function without_untaken(source, item, options)
  local list, probe = stretches_of(source, item)
  local code = compiler.compile(
    table.concat { source:sub(1, item.last), "\n", probe, "\n", source:sub(item.last + 1) },
    { target = "compute_90", options = options })
  for i, s in ipairs(code and list or {}) do
    if not code:find(("gilua_taken_%d%%f[^%%w]"):format(i)) then
      source = source:sub(1, s.first - 1) .. source:sub(s.first, s.last):gsub("[^\n]", " ")
        .. source:sub(s.last + 1)
    end
  end
  return source
end

-- The kernel's item and the source, as the compiler has its parameters.
local function taken(source, kernel, options, item, rows)
  local is_all = not rows or rows[PER_ARGUMENT * #item.params + 1] == LAST
  if is_all then return item, source end
  local kept = without_untaken(source, item, options)
  return item_of(kept, kernel), kept
end

local function read_rows(rows, n, kernel)
  if not rows then
    fail("kernel %s is left out by the preprocessor: a condition (#if, #ifdef) around it does not "
      .. "hold; --define NAME may make it true", kernel)
  end
  if rows[PER_ARGUMENT * n + 1] ~= LAST then
    fail("kernel %s has parameters without a name: give each one", kernel)
  end
  local list = {}
  for i = 1, n do
    local pointer, const, code, bytes = table.unpack(rows, PER_ARGUMENT * (i - 1) + 1)
    local type, width = M.typed(code)
    list[i] = { pointer = pointer == 1, const = const == 1, bytes = bytes,
      type = type, width = width, struct = not type, half = halves(code) }
  end
  return list
end

---@param source string a sliced source (gilua.slice)
---@param kernel string
---@param options string[] of NVRTC
---@return table[] one a parameter: { name, text, pointer, const, type, width, struct, bytes,
---  half }; type is nil for a struct, half is the fill of an array of numbers of 16 bits
function M.of(source, kernel, options)
  local rows, item, why = M.ask(source, kernel, options, (PROBE:gsub("KERNEL", kernel)),
    "gilua_signature")
  if why then fail("the parameters of %s cannot be found out: %s", kernel, why) end
  local own, text = taken(csource.without_values(source), kernel, options, item, rows)
  local list = read_rows(rows, #own.params, kernel)
  for i, p in ipairs(own.params) do
    list[i].name, list[i].text = p.name, text:sub(p.first, p.last)
  end
  return list
end

return M
