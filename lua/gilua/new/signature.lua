-- signature: the types of a kernel's parameters, as the compiler sees them.
--
-- Macros, typedefs and templates stand between a parameter's text and its type, so the compiler is
-- asked: behind the kernel a table is declared that C++ fills from the kernel's own type, and it is
-- read from the compiled code on the virtual GPU.

local fail = require "gilua.base.fail"
local core = require "gilua.core"

local M = {}

-- Types of C++ with their element type here; vectors of the GPU get a width.
local SCALARS = {
  { "char", "i8" }, { "signed char", "i8" }, { "unsigned char", "u8" }, { "bool", "u8" },
  { "short", "i16" }, { "unsigned short", "u16" }, { "int", "i32" }, { "unsigned int", "u32" },
  { "long", "i64" }, { "unsigned long", "u64" }, { "long long", "i64" },
  { "unsigned long long", "u64" }, { "float", "f32" }, { "double", "f64" },
}
local VECTORS = { char = "i8", uchar = "u8", short = "i16", ushort = "u16", int = "i32",
  uint = "u32", longlong = "i64", ulonglong = "u64", float = "f32", double = "f64" }

local function all_types()
  local list = {}
  for _, s in ipairs(SCALARS) do list[#list + 1] = { text = s[1], type = s[2], width = 1 } end
  for base, type in pairs(VECTORS) do
    for width = 1, 4 do
      if not (width == 4 and base:find("long") or width == 4 and base == "double") then
        list[#list + 1] = { text = base .. width, type = type, width = width }
      end
    end
  end
  table.sort(list, function(a, b) return a.text < b.text end)
  return list
end

local TYPES = all_types()
local PER_ARGUMENT = 4 -- numbers: pointer, const, code, bytes
local LAST = -1 -- in place of `pointer`: no parameters follow

-- One line, so that the lines behind keep their numbers.
local function probe_of(kernel)
  local lines = { "template <class T> struct gilua_type { static constexpr int code = 0; };" }
  for code, t in ipairs(TYPES) do
    lines[#lines + 1] = ("template <> struct gilua_type<%s> { static constexpr int code = %d; };")
      :format(t.text, code)
  end
  lines[#lines + 1] = [[
template <class T> struct gilua_plain {
  typedef T type; static constexpr int is_const = 0; };
template <class T> struct gilua_plain<const T> {
  typedef T type; static constexpr int is_const = 1; };
template <class T> struct gilua_plain<volatile T> {
  typedef T type; static constexpr int is_const = 0; };
template <class T> struct gilua_bytes { static constexpr int n = sizeof(T); };
template <> struct gilua_bytes<void> { static constexpr int n = 0; };
template <class gilua_R, class... gilua_A> struct gilua_bytes<gilua_R(gilua_A...)> {
  static constexpr int n = 0; };
template <class T> struct gilua_arg {
  typedef gilua_plain<T> P; static constexpr int pointer = 0; };
template <class T> struct gilua_arg<T *> {
  typedef gilua_plain<T> P; static constexpr int pointer = 1; };
struct gilua_row { int pointer, is_const, code, bytes; };
template <class A> __device__ constexpr gilua_row gilua_row_of() {
  return { gilua_arg<A>::pointer, gilua_arg<A>::P::is_const,
           gilua_type<typename gilua_arg<A>::P::type>::code,
           gilua_bytes<typename gilua_arg<A>::P::type>::n };
}
template <class F> struct gilua_probe;
template <class... A> struct gilua_probe<void(A...)> {
  struct Table { gilua_row row[sizeof...(A) + 1]; };
  __device__ static constexpr Table table() {
    return { { gilua_row_of<A>()..., { -1, 0, 0, 0 } } }; } };
]] .. ('extern "C" { __device__ gilua_probe<decltype(%s)>::Table gilua_signature = '
    .. "gilua_probe<decltype(%s)>::table(); }"):format(kernel, kernel)
  return (table.concat(lines, " "):gsub("\n", " "))
end

-- The byte behind the kernel's item in a sliced source.
local function behind(source, kernel)
  local g = core.grammar.parse("kernel.cu", { text = source, kernel = kernel })
  for _, item in ipairs(g:outline()) do
    if item.kind == "kernel" and item.name == kernel then return item.last, item end
  end
end

local function read_rows(module, n, kernel)
  local rows = core.array.new("i32", PER_ARGUMENT * (n + 1))
  local ok, why = module:read("gilua_signature", rows)
  if not ok then fail("the kernel's parameters cannot be found out: %s", why) end
  if rows[PER_ARGUMENT * n + 1] ~= LAST then
    fail("kernel %s has parameters without a name: give each one", kernel)
  end
  local list = {}
  for i = 1, n do
    local at = PER_ARGUMENT * (i - 1)
    local known = TYPES[rows[at + 3]]
    list[i] = { pointer = rows[at + 1] == 1, const = rows[at + 2] == 1, bytes = rows[at + 4],
      type = known and known.type, width = known and known.width, struct = not known }
  end
  return list
end

---@param source string a sliced source (gilua.slice)
---@param kernel string
---@param options string[] of NVRTC
---@return table[] one a parameter: { name, text, pointer, const, type, width, struct, bytes }; type
---  is nil for a struct
function M.of(source, kernel, options)
  local at, item = behind(source, kernel)
  local probed = source:sub(1, at) .. " " .. probe_of(kernel) .. source:sub(at + 1)
  local code, why = core.compile.compile(probed, { target = "compute_90", options = options })
  if not code then
    fail("the parameters of %s cannot be found out: %s", kernel, why)
  end
  local device <close> = assert(require("gilua").device "emu")
  local module <close>, wrong = device:load(code)
  if not module then fail("the parameters of %s cannot be found out: %s", kernel, wrong) end
  local list = read_rows(module, #item.params, kernel)
  for i, p in ipairs(item.params) do
    list[i].name, list[i].text = p.name, source:sub(p.first, p.last)
  end
  return list
end

return M
