-- held: every proposal for a kernel, each applied alone and held against the kernel as it is, on
-- the virtual GPU with bounds and races watched. For tests of the facts that proposals stand on.
--
-- The kernel is one of rewritten.source: k(out, a, b, n). `wrong` lists those that end otherwise
-- or answer otherwise; kinds whose rounding may differ are held to their end and to a tolerance.

local kernel = require "gilua.transform.kernel"
local launch = require "gilua.transform.launch"
local lines = require "gilua.transform.lines"
local rewritten = require "rewritten"
local transform = require "gilua.transform.transform"

local M = {}

local ROUNDS = { divide = true, power = true, unsigned = true, vector = true,
  split_accumulator = true, warp_row = true, warp_loop = true, subwarp = true, tree = true,
  warp_atomic = true, block_atomic = true, merge_threads = true, widen = true }
local JUDGED = { warp_barrier = true, float = true } -- by the checked run, or by a tolerance
local SIZES = { 0, 1, 2, 5, 33 }
M.SIZES = SIZES

--- All proposals for a source: { gene, kind, text, launch, promise }.
---@param source string
---@param options? table of kernel.read
---@return table[]
function M.proposals(source, options)
  local known, list = kernel.of_text(source, options), {}
  local before = lines.of(source)
  for _, kind in ipairs(transform.list()) do
    for _, place in ipairs(kind.find(known)) do
      local change = kind.make(known, place.line, place.args or {})
      local edited = change and change.edits and lines.edited(before, change.edits)
      if edited then
        list[#list + 1] = { kind = kind.name, text = (lines.text(edited)), launch = change.launch,
          promise = change.promise or kind.promise,
          gene = ("%s<%d>(%s)"):format(kind.name, place.line, table.concat(place.args or {}, ",")) }
      end
    end
  end
  return list
end

-- Can the launch be what a proposal wants of it?
local function can_launch(options, words)
  return not words or (pcall(launch.changed, options, words))
end

-- The proposals that are held: of a kind at a line that with the first arguments.
local function chosen(source, options, run)
  local list, seen = {}, {}
  local kinds = options.kinds and " " .. options.kinds .. " "
  for _, one in ipairs(M.proposals(source)) do
    local place = one.gene:match "^[^(]*"
    local is_asked = not kinds or kinds:find(" " .. one.kind .. " ", 1, true)
    if is_asked and not JUDGED[one.kind] and not seen[place] and can_launch(run, one.launch) then
      seen[place] = true
      list[#list + 1] = one
    end
  end
  return list
end

--- The proposals whose kernel answers or ends otherwise than the source: "gene: how"; and how many
--- were held.
---@param source string
---@param options? table of rewritten.run: grid, block, type; sizes; kinds: those alone
---@return string[] wrong
---@return integer held
function M.wrong(source, options)
  options = options or {}
  local run = { grid = options.grid or 1, block = options.block or 32, type = options.type,
                races = options.races ~= false, limit = 0 }
  local list, tried = {}, chosen(source, options, run)
  local texts = { source }
  for _, one in ipairs(tried) do texts[#texts + 1] = one.text end
  rewritten.compile_all(texts)
  for _, one in ipairs(tried) do
    run.limit, run.launch = ROUNDS[one.kind] and 0.01 or 0, one.launch
    local ok, how = pcall(rewritten.difference, source, one.text, options.sizes or SIZES, run)
    local is_no_kernel = ok and how and how:find "^line %d+:" -- of the compiler
    if not ok or how and not is_no_kernel then
      list[#list + 1] = one.gene .. ": " .. tostring(how)
    end
  end
  return list, #tried
end

return M
