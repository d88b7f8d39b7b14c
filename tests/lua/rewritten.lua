-- rewritten: a source and what a transformation makes of it, both run on the virtual GPU.
--
-- The kernel under test is `extern "C" __global__ void k(T *out, const T *a, const T *b, int n)`,
-- T float unless told: out has MOST elements and is written or updated, a and b have as many.

local gi = require "gilua"
local kernel = require "gilua.transform.kernel"
local launch = require "gilua.transform.launch"
local tap = require "tap"
local transform = require "gilua.transform.transform"

local M = {}

local MOST = 4096

local device = gi.device "emu"

--- The kernel's body in its usual frame, so that a test shows what matters. The body's first line
--- is line 3.
---@param body string
---@param type? string of the arrays
function M.source(body, type)
  type = type or "float"
  return ('extern "C" __global__ void k(%s *out, const %s *a, const %s *b, int n)\n{\n%s\n}\n')
    :format(type, type, type, body)
end

-- The transformation of a name, or of a module of transformations.
local function named(name) return transform.find(name) or require("gilua.transform." .. name) end

--- The text with a change made; nil and why where a transformation refuses.
---@param transformation string|table its module's name
---@param source string
---@param line integer
---@param args? string[]
---@return string? text
---@return string? why_or_says
---@return string? launch what becomes of it
function M.text(transformation, source, line, args)
  if type(transformation) == "string" then transformation = named(transformation) end
  local known = kernel.of_text(source)
  local change, why = transformation.make(known, line, args or {})
  if not change then return nil, why end
  local lines = table.move(known.lines, 1, #known.lines, 1, {})
  local n = #lines
  for _, e in ipairs(change.edits) do
    for i = e[1], e[2] do lines[i] = nil end
    lines[e[1]] = e[3]
  end
  local list = {}
  for i = 1, n do list[#list + 1] = lines[i] end
  return table.concat(list, "\n") .. "\n", change.says, change.launch
end

--- What `find` proposes, as words: "3(2) 3(4)".
function M.found(transformation, source)
  if type(transformation) == "string" then transformation = named(transformation) end
  local list = {}
  for _, found in ipairs(transformation.find(kernel.of_text(source))) do
    list[#list + 1] = ("%d(%s)"):format(found.line, table.concat(found.args, ","))
  end
  return table.concat(list, " ")
end

local function filled(type, factor, offset)
  local array = gi.array(type, MOST)
  for i = 1, MOST do
    local value = (i * factor + offset) % 97 - 40
    array[i] = type:find "^f" and value / 8 or value
  end
  return array
end

local compiled = {} -- by source: tests ask for the same before several changes of it

--- Compiles several sources in one call, for what is asked of them later.
---@param sources string[]
function M.compile_all(sources)
  local units = {}
  for _, source in ipairs(sources) do
    if not compiled[source] then units[#units + 1] = { source = source, names = { "k" } } end
  end
  local list = #units > 1 and gi.compile.batch(units, { target = device:target() }) or {}
  for i, one in ipairs(list) do
    if one.code then compiled[units[i].source] = { one.code } end
  end
end

local function loaded(source)
  if not compiled[source] then
    compiled[source] = table.pack(gi.compile(source, { target = device:target() }))
  end
  local code, why = table.unpack(compiled[source])
  if not code then return nil, why end
  return assert(device:load(code))
end

-- The answers of a module for one n, and its ticks.
local function answers(module, n, options)
  options = options or {}
  local type = options.type or "f32"
  local out = device:buffer(filled(type, 5, 3))
  local m = module:launch {
    kernel = "k", grid = options.grid or 2, block = options.block or 32,
    check_races = options.races and "global" or nil,
    args = { out, device:buffer(filled(type, 7, 1)), device:buffer(filled(type, 11, 5)),
             { "i32", n } },
  }
  if m.status ~= "ok" then return nil, m.status .. ": " .. tostring(m.message) end
  return out:read(), m.ticks
end

--- Runs a source for one n; its answers and ticks, or nil and why.
---@param source string
---@param n integer
---@param options? { type: string, grid: integer|integer[], block: integer|integer[],
---  races: boolean } races: those are looked for
function M.run(source, n, options)
  local module, why = loaded(source)
  if not module then return nil, why end
  return answers(module, n, options)
end

--- nil where two sources answer the same for every n; else what differs.
---@param before string
---@param after string
---@param sizes integer[]
---@param options? table as of run; limit: how far answers may be apart; launch: what becomes of the
---  second one's (gilua.launch)
function M.difference(before, after, sizes, options)
  local limit = options and options.limit or 0
  local one = assert(loaded(before))
  local other, message = loaded(after)
  if not other then return message end
  local changed = options
  if options and options.launch then
    changed = launch.changed(options, options.launch)
  end
  for _, n in ipairs(sizes) do
    local want = assert(answers(one, n, options))
    local got, why = answers(other, n, changed)
    if not got then return ("n = %d: %s"):format(n, why) end
    for i = 1, MOST do
      local apart = got[i] == want[i] and 0 or math.abs(got[i] - want[i])
      if apart > limit or apart ~= apart then
        return ("n = %d, element %d: %s, not %s"):format(n, i, got[i], want[i])
      end
    end
  end
end

--- Two checks. right(what, transformation, source, line, args, options): it is made, and its
--- answers are right at all sizes (of options.sizes, else these), with options.launched as its
--- launch becomes; its text. refused(what, transformation, source, line, args, why): it is not, and
--- a sentence says why.
---@param sizes integer[]
function M.judge(sizes)
  local function right(what, transformation, source, line, args, options)
    local text, why, becomes = M.text(transformation, source, line, args)
    if options and options.launched then options.launch = becomes end
    if not text then return tap.ok(false, what .. ": refused: " .. why) end
    tap.ok(text ~= source, what .. ": it changes the text")
    local asked = options and options.sizes or sizes
    tap.is(M.difference(source, text, asked, options), nil, what .. ": right at all sizes")
    return text
  end
  local function refused(what, transformation, source, line, args, why)
    local text, reason = M.text(transformation, source, line, args)
    tap.is(text, nil, what)
    tap.has(reason or "", why, what .. ": why")
  end
  return right, refused
end

return M
