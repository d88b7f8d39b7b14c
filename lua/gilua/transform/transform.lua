-- transform: meaning-preserving rewritings of a kernel, as genes: T:coarsen<12>(4).
--
-- Most are records (gilua.rewrite.rewrite): where they stand, what they need, what the code
-- becomes; the rest follows. Any other is a table (docs/transformations.md):
--   name   what genes call it
--   doc    one sentence for people
--   find   function(kernel) -> { { line = n, args = { "4", … } }, … }: where its conditions hold,
--          in an order that is always the same; line is one of the unmodified source; `score`,
--          where all have one: those with more are drawn more often
--   make   function(kernel, line, args) -> change, or nil and why there is none
--   apart  true where it takes arrays that come in as different parameters for different memory:
--          a promise, as __restrict__ is, which the host's launches may break (gilua.promises)
--   promise  what must be true of the numbers that it changes, and no case can show of all; or nil
--   twice  true where lines stay beside a copy of them for most cases (whole rounds, one value):
--          what else changes these changes what the data may never run (gilua.promises)
--   judged  true where answers and the checked run say whether it keeps the meaning, or how well:
--          roundings, barriers; others keep it wherever they can be made
--   counts  which of its arguments says how many times as much a block, or a thread, does; or nil
--   times  true where there are as many times fewer blocks: a number may have to go down with it
--   first  true where it is made before those without, wherever it stands in a genome
--   before  the kinds of those that it is made before, of others that come first, words; or nil
--   eases  words: what it is made against, of "issue latency memory" (gilua.roofline.binds); or nil
-- and a change is
--   edits    { { first, last, text }, … }: lines of the unmodified source, and what stands in their
--            place; no two overlap
--   launch   what becomes of the grid and the block (gilua.launch), or nil
--   indent   { { first, last, blanks }, … }: lines that stand deeper now, by a level unless told,
--            or less deep where blanks are below 0; or nil
--   says     what it does, for people
--   promise  as a transformation's, of this place alone; or nil
--   alone    true where it declares something outside of functions

local rewrite = require "gilua.rewrite.rewrite"
local settings = require "gilua.base.settings"
local trace = require "gilua.base.trace"

local M = {}

-- Modules of those that come with gilua: one each, or a list; records stand in the room rewrite.
local OWN = [[
  rewrite.axes rewrite.widen rewrite.coarsen rewrite.merge rewrite.merge_threads
  rewrite.grid_stride rewrite.grid_size rewrite.warp_row rewrite.subwarp rewrite.unroll
  rewrite.split_accumulator rewrite.keep rewrite.carry rewrite.hoist rewrite.specialise
  rewrite.vector rewrite.batch rewrite.search rewrite.flash rewrite.stage rewrite.tile
  rewrite.shuffle rewrite.transpose rewrite.float rewrite.narrow rewrite.divide
  rewrite.remainder rewrite.split
  rewrite.fuse_kernels rewrite.warp_atomic rewrite.block_atomic rewrite.tree
  rewrite.warp_loop rewrite.pad
  rewrite.constant
]]

-- What each is made against: too many instructions, too few at a time, too many bytes.
local EASES = {
  issue = "merge merge_threads unroll vector specialise float narrow divide hoist "
    .. "keep block_atomic warp_atomic pad tree stage tile shuffle remainder subwarp flash",
  latency = "warp_row grid_size unroll split_accumulator hoist keep vector tree stage "
    .. "tile shuffle carry widen warp_loop batch search constant split "
    .. "fuse_kernels subwarp flash",
  memory = "axes coarsen merge merge_threads warp_row grid_stride vector stage tile keep hoist "
    .. "float block_atomic warp_atomic transpose fuse_kernels flash",
}

local known, order

local function add_eases()
  for what, names in pairs(EASES) do
    for name in names:gmatch "%S+" do
      local t = known[name]
      t.eases = (t.eases and t.eases .. " " or "") .. what
    end
  end
end

local function check(t)
  if type(t) ~= "table" then trace.misuse("gilua.transform.add: a transformation is a table") end
  for field, kind in pairs { name = "string", doc = "string", find = "function",
                             make = "function" } do
    if type(t[field]) ~= kind then
      trace.misuse("gilua.transform.add: the field '%s' must be a %s", field, kind)
    end
  end
  if not t.name:find "^%l[%w_]*$" then
    trace.misuse("gilua.transform.add: '%s' is no name: small letters, digits and _", t.name)
  end
end

local function put(t)
  if not known[t.name] then order[#order + 1] = t end
  for i, other in ipairs(order) do
    if other.name == t.name then order[i] = t end
  end
  known[t.name] = t
end

-- A transformation: of a record what the engine makes of it.
local function made_of(t)
  return type(t) == "table" and t.becomes and rewrite.of(t) or t
end

local function load_own()
  known, order = {}, {}
  for module in OWN:gmatch "%S+" do
    local given = require("gilua." .. (module:find "%." and module or "transform." .. module))
    for _, t in ipairs(given.name and { given } or given) do put(made_of(t)) end
  end
  add_eases()
end

--- Adds a transformation, or puts it in the place of the one of its name.
---@param t table see the head of this file; or a record
function M.add(t)
  t = made_of(t)
  check(t)
  if not known then load_own() end
  put(t)
end

--- All, in the order in which they were added.
---@return table[]
function M.list()
  if not known then load_own() end
  return order
end

--- The one of a name; nil and a sentence where there is none.
---@param name string
---@return table?
---@return string? message
function M.find(name)
  if not known then load_own() end
  if known[name] then return known[name] end
  return nil, ("no transformation is called '%s'%s"):format(name, settings.meant(name, known))
end

return M
