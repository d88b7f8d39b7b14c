-- pointed: structs that hold pointers, with the addresses of a device: these are known only when
-- the arrays that they point to are in its memory.

local core = require "gilua.core"

local M = {}

---@class PointersIn of an array of structs: a pointer in each
---@field bytes integer of a struct
---@field at integer byte of it
---@field to userdata the array that they point into
---@field name string of it
---@field step integer bytes of it from one struct's part to the next one's

--- A copy of an array of structs with its pointers set.
---@param array userdata
---@param pointers PointersIn[]
---@param address_of fun(array: userdata, name: string): integer
---@return userdata
function M.array(array, pointers, address_of)
  local copy = array:copy()
  for _, p in ipairs(pointers) do
    local list, base = copy:field("u64", p.bytes, p.at), address_of(p.to, p.name)
    for i = 1, #list do list[i] = base + (i - 1) * p.step end
    copy:set_field(list, "u64", p.bytes, p.at)
  end
  return copy
end

--- The bytes of a struct by value with its pointers set.
---@param value { struct: string, pointers: { at: integer, to: userdata, name: string }[] }
---@param address_of fun(array: userdata, name: string): integer
---@return string
function M.struct(value, address_of)
  local array = core.array.frombytes(value.struct, "u8")
  for _, p in ipairs(value.pointers) do
    array:set_field(core.array.from({ address_of(p.to, p.name) }, "u64"), "u64", #array, p.at)
  end
  return array:bytes()
end

return M
