-- headers: the user's headers that a file includes, and those that these include: where each is.
-- A header stands where the compiler would find it: beside the file that includes it, else in the
-- folders that it is told of, and always below one of these, as the compiler reaches no others.

local csource = require "gilua.new.csource"
local fail = require "gilua.base.fail"
local lfs = require "lfs"
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
  ["cuda/std/optional"] = "optional nullopt",
  ["cuda/std/span"] = "span",
}

local M = {
  of_std = {}, -- a header by what it has
  most_bytes = 1 << 26, -- of a file with its headers
}

for header, names in pairs(STD) do
  for name in names:gmatch "%S+" do M.of_std[name] = header end
end

---@class Header
---@field name string as the first #include spells it
---@field path string absolute
---@field folder string of the path
---@field text string
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

--- Reads a file of the user's.
---@param path string
---@param what string that it is, for the sentence: "the kernel"
---@param left? integer bytes that it may have, of most_bytes
---@return string
function M.read(path, what, left)
  local size = lfs.attributes(path, "mode") == "file" and lfs.attributes(path, "size") or 0
  if size <= (left or M.most_bytes) then return textfile.read(path, what) end
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
        header = { name = spelled, path = path, folder = path:match "^(.*)/",
          text = M.read(path, "a header", left) }
        left = left - #header.text
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
