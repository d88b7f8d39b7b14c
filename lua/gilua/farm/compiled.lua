--- compiled: the results of compilations by the hash of their inputs: nothing is compiled twice.

local core = require "gilua.core"

local KEEP_BYTES = 256 << 20 -- of machine code and PTX kept for the next cases

local M = {}

---@class gilua.unit what is remembered of one compiled text: a failure, or where its code is
---@field status string? what went wrong
---@field message string?
---@field log string? of what failed; of PTX that was edited, the genes that found nothing to change
---@field ptx string? hash of the kept PTX
---@field ir string? hash of LLVM's bitcode that it was made from, kept; where LLVM compiled it
---@field ptx_hash string? of the PTX in its canonical form: equal for equal kernels
---@field code string? hash of what a device is given: machine code, or the PTX
---@field code_hash string? of the kernel's machine code, where there is any
---@field seconds number? that a compiler took for it
---@field tag string? what tells this kernel from others in the same image

---@class gilua.compiled
local Compiled = {}
Compiled.__index = Compiled

---@return gilua.compiled
function M.new()
  return setmetatable({ units = {}, codes = {}, kept_bytes = 0 }, Compiled)
end

---@param hash string of a text
---@return gilua.unit?
function Compiled:of(hash)
  return self.units[hash]
end

--- A kept text, by its own hash, or the ticket of one that an agent keeps (codestore.lua); nil
--- where there is none.
---@return string|table|nil
function Compiled:code(hash)
  return self.codes[hash]
end

--- What an earlier run knew of a text. Its code may not be at hand: then it is compiled again when
--- it is needed.
---@param hash string of the text
---@param unit gilua.unit
function Compiled:recall(hash, unit)
  self.units[hash] = unit
end

--- Its code is wanted and not at hand: it is to be compiled again.
function Compiled:drop(hash)
  self.units[hash] = nil
end

--- Keeps a text that runs may need, or the ticket of one. What is kept elsewhere counts too: so
--- `forget` comes at the same moment.
---@param code string|table
---@return string hash
function Compiled:keep(code)
  local is_text = type(code) == "string"
  local hash = is_text and core.system.hash128(code) or code.hash
  if not self.codes[hash] then
    self.codes[hash] = code
    self.kept_bytes = self.kept_bytes + (is_text and #code or code.bytes)
  end
  return hash
end

--- The agents have it no more.
---@param hash string of a code that was a ticket
function Compiled:miss(hash)
  local ticket = self.codes[hash]
  if type(ticket) ~= "table" then return end
  self.codes[hash], self.kept_bytes = nil, self.kept_bytes - ticket.bytes
end

--- What was a ticket is here.
---@param hash string
---@param text string
function Compiled:fetched(hash, text)
  self.codes[hash] = text
end

--- A compiler has answered.
---@param hash string of the text
---@param r table what it says of it
---@param images string[]? machine code that several share
function Compiled:add(hash, r, images)
  if not r.code then return self:fail(hash, r.status or "compile_error", r.message, r.log) end
  local image = images and images[r.image]
  self.units[hash] = { ptx = self:keep(r.code), ptx_hash = r.hash, code_hash = r.code_hash,
                       code = self:keep(image or r.code), tag = image and r.tag or "",
                       log = r.lost, ir = r.ir and self:keep(r.ir) }
end

--- There is no code, and why.
function Compiled:fail(hash, status, message, log)
  self.units[hash] = { status = status, message = message, log = log }
end

--- Between evaluations: when the kept texts are too many they all go, and a genome that comes back
--- is compiled again. What does not compile is remembered.
function Compiled:forget()
  if self.kept_bytes <= KEEP_BYTES then return end
  for hash, unit in pairs(self.units) do
    if not unit.status then self.units[hash] = nil end
  end
  self.codes, self.kept_bytes = {}, 0
end

return M
