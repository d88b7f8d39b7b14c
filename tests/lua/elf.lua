-- elf: what a program's headers say, and headers that are wrong.
package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local elf = require "gilua.base.elf"
local gi = require "gilua"

local SECTIONS_AT, SECTION_SIZE = 0x28, 64 -- where the header has the sections' offset
local NAMES, DYNAMIC = 1, 2

-- A program of two sections and no more: their names, and the libraries it wants.
local function program(changes)
  local strings = "\0.nv_fatbin\0libcuda.so.1\0"
  local dynamic = ("<i8i8i8i8"):pack(1, 12, 0, 0)
  local fields = {
    [NAMES] = { name = 0, type = 3, offset = 64, size = #strings, link = 0 },
    [DYNAMIC] = { name = 1, type = 6, offset = 64 + #strings, size = #dynamic, link = NAMES },
  }
  for _, change in ipairs(changes or {}) do fields[change[1]][change[2]] = change[3] end
  local list = { ("\0"):rep(SECTION_SIZE) }
  for _, s in ipairs(fields) do
    list[#list + 1] = ("<I4I4i8i8i8i8I4I4i8i8"):pack(s.name, s.type, 0, 0, s.offset, s.size, s.link,
      0, 0, 0)
  end
  local head = "\127ELF\2\1" .. ("\0"):rep(SECTIONS_AT - 6)
    .. ("<i8I4I2I2I2I2I2I2"):pack(64 + #strings + #dynamic, 0, 64, 0, 0, SECTION_SIZE, #list, NAMES)
  return head .. strings .. dynamic .. table.concat(list)
end

local function read(text)
  local path = os.tmpname()
  gi.textfile.write(path, text)
  local ran, found = pcall(elf.read, path)
  os.remove(path)
  if not ran then return "fails: " .. tostring(found) end
  return found and table.concat(found.needed, " ") .. (found.cuda and " with code" or "") or "none"
end

tap.case("what is said", function()
  tap.is(read(program()), "libcuda.so.1 with code", "libraries and device code")
  local own = elf.read "/proc/self/exe"
  tap.ok(own and #own.needed > 0 and not own.cuda, "gilua itself")
  tap.is(read "\127ELF\1\1", "none", "what is too short")
end)

tap.case("sizes and places that cannot be", function()
  local beyond = { -1, math.mininteger, math.mininteger + 11, math.maxinteger, 1 << 40 }
  for _, field in ipairs { "offset", "size" } do
    for _, value in ipairs(beyond) do
      tap.is(read(program { { DYNAMIC, field, value } }), " with code",
        ("the libraries' %s is %d"):format(field, value))
      tap.is(read(program { { NAMES, field, value } }), "", ("the names' %s is %d"):format(field,
        value))
    end
  end
  local text = program()
  for _, value in ipairs(beyond) do
    tap.is(read(text:sub(1, SECTIONS_AT) .. ("<i8"):pack(value) .. text:sub(SECTIONS_AT + 9)),
      "none", ("the sections are at %d"):format(value))
  end
end)

tap.done()
