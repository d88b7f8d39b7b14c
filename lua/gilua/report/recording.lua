--- recording: what `gilua record` kept of a program, as data. docs/recording.md says what its lines
--- mean; the file itself is src/record.

local core = require "gilua.core"
local fail = require "gilua.base.fail"

local M = {}

---@class gilua.recording
---@field path string
---@field file userdata core.record's
---@field is_whole boolean the program came to its end
---@field program string[] its command line
---@field events table[] the lines, each a list of words, its kind first
---@field kernels table[] { name, launches, ns }, the longest first
local Recording = {}
Recording.__index = Recording
Recording.__close = function(self) self.file:close() end

local function word(text)
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

local function words_of(line)
  local words = {}
  for text in line:gmatch "%S+" do words[#words + 1] = word(text) end
  return words
end

local function add_launch(kernels, event)
  local name, ns = event[3], tonumber(event[8]) or 0
  local kernel = kernels[name]
  if not kernel then
    kernel = { name = name, launches = 0, ns = 0 }
    kernels[name], kernels[#kernels + 1] = kernel, kernel
  end
  kernel.launches, kernel.ns = kernel.launches + 1, kernel.ns + ns
end

--- Opens a recording; what is none is refused in a sentence.
---@param path string
---@return gilua.recording
function M.open(path)
  local file, why = core.record.open(path)
  if not file then fail("%s", why) end
  local r = setmetatable({ path = path, file = file, is_whole = file:is_whole(), events = {},
                           program = {}, kernels = {} }, Recording)
  for line in file:events():gmatch "[^\n]+" do
    local event = words_of(line)
    r.events[#r.events + 1] = event
    if event[1] == "program" then r.program = table.move(event, 2, #event, 1, {}) end
    if event[1] == "launch" then add_launch(r.kernels, event) end
  end
  table.sort(r.kernels, function(a, b)
    if a.ns ~= b.ns then return a.ns > b.ns end
    return a.name < b.name
  end)
  return r
end

---@param kind string "launch", "read" …
---@return integer how many lines of that kind
function Recording:count(kind)
  local n = 0
  for _, event in ipairs(self.events) do n = n + (event[1] == kind and 1 or 0) end
  return n
end

--- The bytes of a blob.
---@param name string
---@return string
function Recording:blob(name)
  local bytes, why = self.file:blob(name)
  if not bytes then fail("%s", why) end
  return bytes
end

--- The device code that a module was loaded from.
---@param number integer
---@return string ptx
function Recording:module(number)
  for _, event in ipairs(self.events) do
    if event[1] == "module" and event[2] == tostring(number) then return self:blob(event[3]) end
  end
  fail("%s has no module %d", self.path, number)
end

--- Runs it again on the virtual GPU.
---@param options? table { model: string of base/gpu ("h200"), code: { [module] = PTX }, budget,
---  count_uninitialised, check_races } as core.record's r:replay
---@return table { status, ticks, ns, warp_instructions, kernels, reads, warnings, message?,
---  event? }
---@return string? message instead, where it cannot be run
---@return string? code "format", "compile", "nomem"
function Recording:replay(options)
  local rest = {}
  for k, v in pairs(options or {}) do rest[k] = v end
  local model = require("gilua.base.gpu." .. (rest.model or "h200"))
  rest.model = nil
  return self.file:replay(model, rest)
end

--- What it holds, for people.
---@param r gilua.recording
---@return string
function M.line(r)
  local launches, reads = r:count "launch", r:count "read"
  return ("%s has %d launch%s of %d kernel%s and %d piece%s of what was copied out, in %d kB%s")
    :format(r.path, launches, launches == 1 and "" or "es", #r.kernels,
      #r.kernels == 1 and "" or "s", reads, reads == 1 and "" or "s",
      math.ceil(require "lfs".attributes(r.path, "size") / 1000),
      r.is_whole and "" or "; it ends in the middle: the program did not come to its end")
end

return M
