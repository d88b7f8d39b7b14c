-- headers: the user's headers that a file includes, and those that these include: where each is.
-- A header stands where the compiler would find it: beside the file that includes it, else in the
-- folders that it is told of, and always below one of these, as the compiler reaches no others.

local csource = require "gilua.source.csource"
local fail = require "gilua.base.fail"
local lfs = require "lfs"
local pythontext = require "gilua.new.pythontext"
local textfile = require "gilua.base.textfile"

-- Headers of libcu++ by what they have of std that the stand-ins in lua/gilua/include have not:
-- parsing one takes longer than most kernels, so that none is included before it is asked for.
local STD = {
  ["cuda/std/limits"] = "numeric_limits",
  ["cuda/std/type_traits"] = "is_same is_same_v enable_if enable_if_t conditional conditional_t "
    .. "is_integral is_integral_v is_floating_point is_floating_point_v is_arithmetic "
    .. "is_arithmetic_v is_signed is_signed_v is_unsigned is_unsigned_v make_signed make_signed_t "
    .. "make_unsigned make_unsigned_t remove_reference remove_reference_t remove_cv remove_cv_t "
    .. "remove_const remove_const_t remove_pointer remove_pointer_t is_pointer is_pointer_v "
    .. "decay decay_t integral_constant bool_constant true_type false_type underlying_type "
    .. "underlying_type_t common_type common_type_t void_t is_enum is_trivially_copyable "
    .. "is_convertible is_base_of aligned_storage invoke_result invoke_result_t",
  ["cuda/std/utility"] = "pair make_pair move forward exchange declval index_sequence "
    .. "make_index_sequence integer_sequence as_const",
  ["cuda/std/tuple"] = "tuple make_tuple tie get tuple_size tuple_element apply",
  ["cuda/std/array"] = "array",
  ["cuda/std/complex"] = "complex",
  ["cuda/std/functional"] = "plus minus multiplies divides less greater less_equal greater_equal "
    .. "equal_to not_equal_to logical_and logical_or bit_and bit_or bit_xor",
  ["cuda/std/bit"] = "bit_cast popcount countl_zero countr_zero rotl rotr has_single_bit",
  ["cuda/std/concepts"] = "same_as derived_from convertible_to common_with integral "
    .. "signed_integral unsigned_integral floating_point assignable_from swappable "
    .. "destructible constructible_from default_initializable move_constructible "
    .. "copy_constructible equality_comparable totally_ordered movable copyable "
    .. "semiregular regular invocable regular_invocable predicate relation",
  ["cuda/std/optional"] = "optional nullopt",
  ["cuda/std/span"] = "span",
}

-- Headers by what programs take of them without including them, as nvcc's own bring it: stand-ins,
-- and what closed libraries' headers (cublas_v2.h) include, which are the host's.
local HOST = {
  ["algorithm"] = "min max clamp swap",
  ["gilua_host.h"] = "abs sqrt pow exp log sin cos fabs floor ceil fmin fmax isnan isinf isfinite "
    .. "size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t "
    .. "uintptr_t intptr_t uint uchar ushort ulong u_int32_t ssize_t INT_MAX INT_MIN UINT_MAX "
    .. "LONG_MAX LONG_MIN ULONG_MAX LLONG_MAX LLONG_MIN ULLONG_MAX SHRT_MAX SHRT_MIN USHRT_MAX "
    .. "CHAR_BIT INT32_MAX INT32_MIN UINT32_MAX INT64_MAX INT64_MIN UINT64_MAX SIZE_MAX RAND_MAX "
    .. "FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON INFINITY NAN HUGE_VAL HUGE_VALF "
    .. "M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2 M_E M_LN2 M_LN10 M_LOG2E "
    .. "M_LOG10E",
  ["cuda_fp16.h"] = "half half2 __half __half2 __half_raw nv_half nv_half2 __float2half "
    .. "__half2float __float2half_rn __floats2half2_rn __half22float2 __hadd __hsub __hmul __hfma "
    .. "__hadd2 __hmul2 __hfma2",
  ["cuda_bf16.h"] = "__nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162 __float2bfloat16 "
    .. "__bfloat162float __float2bfloat16_rn",
  ["cuda_fp8.h"] = "__nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8_storage_t",
  ["cuComplex.h"] = "cuComplex cuFloatComplex cuDoubleComplex make_cuComplex make_cuFloatComplex "
    .. "make_cuDoubleComplex cuCadd cuCsub cuCmul cuCdiv cuCabs cuCaddf cuCsubf cuCmulf cuCdivf "
    .. "cuCabsf cuConj cuConjf cuCreal cuCrealf cuCimag cuCimagf",
}

local M = {
  of_std = {}, -- a header by what it has
  of_host = {}, -- likewise, where std has nothing to do with it
  most_bytes = 1 << 26, -- of a file with its headers
}

local function index(list, by_name)
  for header, names in pairs(list) do
    for name in names:gmatch "%S+" do by_name[name] = header end
  end
end

index(STD, M.of_std)
index(HOST, M.of_host)

---@class Header
---@field name string as the first #include spells it
---@field path string absolute
---@field folder string of the path
---@field text string without the values of long arrays
---@field values table of gilua.csource: those values
---@field beside table<string, boolean> as spelled: those that it includes from its own folder
---@field includes table<string, Header> as spelled

--- A path from the root, without . and .. in it.
---@param path string
---@return string
function M.absolute(path)
  if path:sub(1, 1) ~= "/" then path = lfs.currentdir() .. "/" .. path end
  local parts = {}
  for part in path:gmatch "[^/]+" do
    if part == ".." then parts[#parts] = nil
    elseif part ~= "." then parts[#parts + 1] = part end
  end
  return "/" .. table.concat(parts, "/")
end

--- A path as it is named below the first of the folders that it is in; nil in none.
---@param path string absolute
---@param folders string[]
---@return string?
function M.below(path, folders)
  for _, folder in ipairs(folders) do
    local root = M.absolute(folder) .. "/"
    if path:sub(1, #root) == root then return path:sub(#root + 1) end
  end
end

local function find(spelled, where, folders)
  for i, folder in ipairs(where) do
    local path = M.absolute(spelled:sub(1, 1) == "/" and spelled or folder .. "/" .. spelled)
    if lfs.attributes(path, "mode") == "file" and M.below(path, folders) then
      return path, i == 1
    end
  end
end

--- Reads a file of the user's; a byte order mark that it begins with becomes blanks. Of a Python
--- file the CUDA in its strings.
---@param path string
---@param what string that it is, for the sentence: "the kernel"
---@param left? integer bytes that it may have, of most_bytes
---@return string
function M.read(path, what, left)
  local size = lfs.attributes(path, "mode") == "file" and lfs.attributes(path, "size") or 0
  if size <= (left or M.most_bytes) then
    local text = textfile.read(path, what):gsub("^\xEF\xBB\xBF", "   ")
    return pythontext.is(path) and pythontext.source(text, path) or text
  end
  fail("cannot read %s: with %s there are more than %.0f MB of source (gilua new --megabytes N "
    .. "reads more)", what, path, M.most_bytes / 1e6)
end

--- The headers of a text, each once, in the order of the first #include.
---@param text string
---@param folders string[] where the compiler looks; the file's own is one of them
---@param known? Header[] those of another text, which are not read again
---@return Header[] others
---@return table<string, Header> includes of the text itself, as spelled
function M.of(text, folders, known)
  local list, by_path, left = {}, {}, M.most_bytes - #text
  for _, header in ipairs(known or {}) do by_path[header.path] = header end
  local function read(from, where)
    local includes, beside = {}, {}
    for _, spelled in ipairs(csource.includes(from)) do
      local path, is_beside = find(spelled, where, folders)
      local header = path and by_path[path]
      if path and not header then
        local whole = M.read(path, "a header", left)
        header = { name = spelled, path = path, folder = path:match "^(.*)/" }
        header.text, header.values = csource.without_values(whole)
        left = left - #whole
        list[#list + 1], by_path[path] = header, header
        header.includes, header.beside = read(header.text, { header.folder, table.unpack(folders) })
      end
      includes[spelled], beside[spelled] = header, is_beside
    end
    return includes, beside
  end
  return list, (read(text, folders))
end

return M
