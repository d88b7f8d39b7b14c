--- elf: reads the headers of a Linux program: the libraries it needs, and whether it contains CUDA
--- code. It runs nothing. It accepts 64-bit little-endian ELF files only.

local M = {}

local DYNAMIC, STRINGS = 6, 3 -- section types
local NEEDED, RPATH, RUNPATH, END = 1, 15, 29, 0 -- tags of .dynamic

local function bytes(f, offset, n)
  if n == 0 then return "" end
  if offset < 0 or n < 0 or n > 2 ^ 26 or not f:seek("set", offset) then return nil end
  local text = f:read(n)
  return text and #text == n and text or nil
end

-- Section headers: { name, type, offset, size, link }.
local function sections(f)
  local head = bytes(f, 0, 64)
  if not head or head:sub(1, 6) ~= "\127ELF\2\1" then return nil end
  local offset = ("<I8"):unpack(head, 41)
  local size, n, names = ("<I2I2I2"):unpack(head, 59)
  if size ~= 64 then return nil end
  local list = {}
  for i = 0, n - 1 do
    local text = bytes(f, offset + i * size, size)
    if not text then return nil end
    local name, kind, _, _, at, length, link = ("<I4I4I8I8I8I8I4"):unpack(text)
    list[i] = { name = name, type = kind, offset = at, size = length, link = link }
  end
  return list, list[names]
end

local function text_of(f, section)
  return section and section.type == STRINGS and bytes(f, section.offset, section.size) or ""
end

local function string_at(text, offset)
  return text:match("^[^\0]*", offset + 1) or ""
end

-- Adds what .dynamic tells to the answer.
local function read_dynamic(f, section, strings, found)
  local text = bytes(f, section.offset, section.size) or ""
  for i = 1, #text - 15, 16 do
    local tag, value = ("<i8I8"):unpack(text, i)
    if tag == END then return end
    if tag == NEEDED then found.needed[#found.needed + 1] = string_at(strings, value) end
    if tag == RPATH then found.rpath = string_at(strings, value) end
    if tag == RUNPATH then found.runpath = string_at(strings, value) end
  end
end

--- Reads a program or library.
---@param path string
---@return { needed: string[], rpath: string?, runpath: string?, cuda: boolean }? found `cuda`: it
---  holds device code; nil: no such file, or none of this format
function M.read(path)
  local f <close> = io.open(path, "rb")
  if not f then return nil end
  local list, names = sections(f)
  if not list then return nil end
  local found, known = { needed = {}, cuda = false }, text_of(f, names)
  for i = 0, #list do
    local s = list[i]
    if s and string_at(known, s.name) == ".nv_fatbin" then found.cuda = true end
    if s and s.type == DYNAMIC then read_dynamic(f, s, text_of(f, list[s.link]), found) end
  end
  return found
end

return M
