-- held: every proposal for a kernel, each applied alone and held against the kernel as it is, on
-- the virtual GPU with all checks on. For tests of the facts that proposals stand on, and for the
-- fuzzer of rewritings (tests/fuzz/readers.lua rewritings).
--
-- The kernel is one of rewritten.source: k(out, a, b, n). The kernel and all that is made of it are
-- compiled in one call, by a compiler that optimises little: that takes a seventh of the time, and
-- hides nothing that a source says. A proposal with a promise is MARKED, and is not
-- held.

local gi = require "gilua"
local kernel = require "gilua.transform.kernel"
local launch = require "gilua.transform.launch"
local lines = require "gilua.source.lines"
local transform = require "gilua.transform.transform"

local M = {}

-- Kinds that compute in another order or with other roundings.
local ROUNDS = { divide = true, power = true, vector = true, split_accumulator = true,
  warp_row = true, warp_loop = true, subwarp = true, tree = true, warp_atomic = true,
  block_atomic = true, merge_threads = true, widen = true, coarsen = true, merge = true,
  grid_stride = true, grid_size = true, sections = true, axes = true }
local MOST = 4096 -- elements of each array
local MOST_INSTRUCTIONS = 200 * 1000 -- of warps in a run of the kernel
local MOST_TIMES = 64 -- so many times as many of what is made of it: lanes have a row each
local GRAVE = { uninitialised_read = true, local_overrun = true, undefined_shuffle = true,
  undefined_value = true }
local SIZES = { 0, 1, 2, 5, 33 }
M.SIZES = SIZES

local device = gi.device "emu"

-- ---- proposals --------------------------------------------------------------------------------

--- All proposals for a source but those of other functions' parts, which claim nothing:
--- { gene, kind, place, text, launch, promise }.
---@param source string
---@param options? table of kernel.read
---@return table[]
function M.proposals(source, options)
  local known, list = kernel.of_text(source, options), {}
  local before = lines.of(source)
  for _, kind in ipairs(transform.list()) do
    for _, place in ipairs(kind.donated and {} or kind.find(known)) do
      local change = kind.make(known, place.line, place.args or {})
      local edited = change and change.edits and lines.edited(before, change.edits)
      if edited then
        local at = ("%s<%d>"):format(kind.name, place.line)
        list[#list + 1] = { kind = kind.name, place = at, text = (lines.text(edited)),
          launch = change.launch, promise = change.promise or kind.promise,
          gene = ("%s(%s)"):format(at, table.concat(place.args or {}, ",")) }
      end
    end
  end
  return list
end

-- Can the launch be what a proposal wants of it?
local function can_launch(options, words)
  return not words or (pcall(launch.changed, options, words))
end

-- The proposals that are held: of a kind at a line every one, or one, drawn with a generator, else
-- the first; and how many have a promise, which are not.
local function chosen(source, options)
  local list, at, marked = {}, {}, 0
  local kinds = options.kinds and " " .. options.kinds .. " "
  for _, one in ipairs(M.proposals(source)) do
    local is_asked = not kinds or kinds:find(" " .. one.kind .. " ", 1, true)
    if is_asked and one.promise then
      marked = marked + 1
    elseif is_asked and can_launch(options, one.launch) then
      local same = at[one.place] or {}
      if #same == 0 then list[#list + 1] = same end
      at[one.place], same[#same + 1] = same, one
    end
  end
  local drawn = {}
  for _, same in ipairs(list) do
    local some = options.every and same or { options.rng and options.rng:pick(same) or same[1] }
    table.move(some, 1, #some, #drawn + 1, drawn)
  end
  return drawn, marked
end

-- ---- data -------------------------------------------------------------------------------------

-- Small multiples of an eighth, so that sums are exact; what a kernel may stumble over between.
local SPECIAL = {
  plain = {}, whole = {},
  nan = { 0 / 0, 1 / 0, -1 / 0, 0 / 0, 0.0 },
  ties = { 0.0, 0.0, -0.0, 1.0, 1.0, -1.0, 2.0 },
}

local function filled(type, factor, offset, data)
  local array, special = gi.array(type, MOST), SPECIAL[data]
  local is_whole = data == "whole" or not type:find "^f"
  for i = 1, MOST do
    local value = (i * factor + offset) % 97 - 40
    array[i] = is_whole and value or value / 8
    if #special > 0 and i * (factor + 2) % 16 < 5 then
      array[i] = special[(i * factor + i // 16) % #special + 1]
    end
  end
  return array
end

local made = {} -- by type and data: { out, a, b }; a and b are the device's

local function data_of(type, data)
  local key = type .. data
  made[key] = made[key] or { out = filled(type, 5, 3, data),
    a = device:buffer(filled(type, 7, 1, data)), b = device:buffer(filled(type, 11, 5, data)) }
  return made[key]
end

-- ---- runs -------------------------------------------------------------------------------------

local FAST = { "--Ofast-compile=max" } -- of NVRTC 12.9 or later

-- Codes of several sources, by one call; of one that does not compile false.
local function compiled(texts)
  local units, codes = {}, {}
  for i, text in ipairs(texts) do units[i] = { source = text, names = { "k" } } end
  local target = device:target()
  local list = gi.compile.batch(units, { target = target, options = FAST })
    or assert(gi.compile.batch(units, { target = target }))
  for i, one in ipairs(list) do codes[i] = one.code or false end
  return codes, list
end

-- The answers of a module on one { n, data } and its measurement; nil and why.
local function answers(module, run, shape, options, budget, benign)
  local type = options.type or "f32"
  local data = data_of(type, run[2])
  local out = device:buffer(data.out:copy())
  local m = module:launch { kernel = "k", grid = shape.grid, block = shape.block, budget = budget,
    check_races = options.races and "global" or nil, benign_races = benign, print = false,
    count_uninitialised = true, args = { out, data.a, data.b, { "i32", run[1] } } }
  if m.status ~= "ok" then return nil, m.status .. ": " .. tostring(m.message) end
  local grave = {}
  for _, w in ipairs(m.warnings or {}) do grave[w.kind] = GRAVE[w.kind] and w.message or nil end
  return out:read(), grave
end

-- How answers differ from those of the kernel as it is; nil where they do not.
local function difference(got, grave, want, rounds)
  for kind, message in pairs(grave) do
    if not want.grave[kind] then return message end
  end
  local is_float = got:dtype():find "^f"
  local c = gi.array.compare(got, want.out, { limit = rounds and is_float and 0.01 or 0,
    rel_error = rounds and is_float and 1e-3 or nil })
  local at = c.wrong > 0 and c.first_wrong
  return at and ("element %d: %s, not %s"):format(at, got[at], want.out[at]) or nil
end

-- Those of some runs on which the kernel as it is does nothing wrong, with its answers; why not.
local function possible(code, options)
  local list, why = {}, nil
  local module = assert(device:load(code))
  for _, run in ipairs(options.runs) do
    local out, grave = answers(module, run, options, options, MOST_INSTRUCTIONS, "refuse")
    if out then
      list[#list + 1] = { run = run, out = out, grave = grave }
    else
      why = why or ("n = %d: %s"):format(run[1], grave)
    end
  end
  return list, why
end

local function judged(one, code, runs, options)
  local shape = one.launch and launch.changed(options, one.launch) or options
  local module, why = device:load(code)
  if not module then return why end
  for _, want in ipairs(runs) do
    local got, grave = answers(module, want.run, shape, options, MOST_TIMES * MOST_INSTRUCTIONS,
      "warn")
    local how = got and difference(got, grave, want, ROUNDS[one.kind]) or not got and grave
    if how then return ("n = %d, %s data: %s"):format(want.run[1], want.run[2], how) end
  end
end

---@class Held
---@field held integer proposals that were run
---@field marked integer those with a promise, which were not
---@field runs integer on which the kernel as it is does nothing wrong
---@field why? string why it is not run, on the others
---@field broken table[] proposals that do not compile, or cannot be launched, with `how`
---@field wrong table[] those that answer otherwise, or end otherwise, with `how`

--- Holds the proposals for a source.
---@param source string
---@param options { grid: integer, block: integer, races: boolean, runs: table[], type: string?,
---  kinds: string?, rng: table?, every: boolean? } runs: { n, data } each
---@return Held
function M.examine(source, options)
  local tried, marked = chosen(source, options)
  local texts = { source }
  for i, one in ipairs(tried) do texts[i + 1] = one.text end
  local codes, list = compiled(texts)
  local result = { held = 0, marked = marked, runs = 0, broken = {}, wrong = {} }
  if not codes[1] then
    result.why = list[1].log
    return result
  end
  local runs, why = possible(codes[1], options)
  result.runs, result.why = #runs, why
  for i, one in ipairs(#runs > 0 and tried or {}) do
    local code = codes[i + 1]
    one.how = not code and list[i + 1].log or code and judged(one, code, runs, options)
    if not code or one.how and one.how:find "launch refused" then
      table.insert(result.broken, one)
    else
      result.held = result.held + 1
      if one.how then table.insert(result.wrong, one) end
    end
  end
  return result
end

--- The proposals whose kernel answers or ends otherwise than the source: "gene: how"; and how many
--- were held.
---@param source string
---@param options? table as of examine; sizes in the place of runs
---@return string[] wrong
---@return integer held
function M.wrong(source, options)
  local all = { grid = 1, block = 32, races = true, runs = {} }
  for key, value in pairs(options or {}) do all[key] = value end
  for i, n in ipairs(all.sizes or SIZES) do all.runs[i] = { n, "plain" } end
  local found = M.examine(source, all)
  assert(found.runs > 0, found.why)
  local list = {}
  for i, one in ipairs(found.wrong) do list[i] = one.gene .. ": " .. one.how end
  return list, found.held
end

return M
