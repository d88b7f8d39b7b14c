--- mergeable: may a block do what several did, or a thread what several of its block did, statement
-- by statement?
--
-- Yes (true), where all is understood that tells of blocks, or threads, and no lanes, votes or
-- pointers to shared memory tell them apart otherwise. No is false and the sentence. What is done
-- for each of them is merge_plan's.

local blockwise = require "gilua.facts.blockwise"
local effects = require "gilua.facts.effects"
local settings = require "gilua.base.settings"
local threads = require "gilua.facts.threads"

local M = {}

-- What tells one from another, and how many there are.
local WORDS = { blockIdx = settings.set "blockIdx gridDim",
                threadIdx = settings.set "threadIdx blockDim" }

local VOTES = settings.set("__syncthreads_count __syncthreads_or __syncthreads_and "
  .. "__barrier_sync sync")

-- What a warp's lanes tell each other, by shuffles or, as they run in step, by volatile memory, or
-- a barrier that counts them.
local function knows_lanes(fn)
  if effects.of(fn, fn.body).warp then return "lanes of a warp tell each other something" end
  for i = fn.head, fn.close do
    local word = fn.kernel.words[i]
    if VOTES[word] then return word .. " counts threads" end
    if word == "__syncwarp" and fn.kernel.words[i + 2] ~= ")" then
      return "__syncwarp waits for some lanes of a warp"
    end
    if word == "volatile" then return "volatile memory tells other lanes something" end
  end
end

-- How many indices stand behind a name.
local function indices_behind(words, token)
  local n, at = 0, token + 1
  while words[at] == "[" do n, at = n + 1, words.match[at] + 1 end
  return n
end

-- Is shared memory used otherwise than element by element, so that a pointer may hold it?
local function lends_shared(fn)
  local words, shared = fn.kernel.words, blockwise.shared(fn)
  for token = fn.open, fn.close do
    local name = words[token]
    for _, inside in ipairs((fn.kernel.macros[name] or {}).names or {}) do
      if shared[inside] then return true end
    end
    local d = shared[name] and fn:declaration(name, token)
    local is_declared = d and d.token == token
    local n = shared[name] and not is_declared and indices_behind(words, token)
    if n and (words[token - 1] == "&" or n < (d and #d.extents or 1)) then return true end
  end
  return false
end

-- Does a kernel access memory that may be shared memory, which each block has for itself?
local function hides_shared(fn)
  for _, access in ipairs(lends_shared(fn) and effects.of(fn, fn.body).accesses or {}) do
    if not access.root then return "what a pointer in it points to may be shared memory" end
  end
end

local function not_understood(fn)
  local all = effects.of(fn, fn.body)
  if all.opaque or all["goto"] or all.label then return "something in it is not understood" end
  for _, s in ipairs(fn.statements) do
    if s.kind == "switch" or s.kind == "unknown" or s.unknown_header then
      return ("line %d is not understood"):format(fn.kernel:line_of(s.first))
    end
  end
  if not fn.kernel:begins_line(fn.close) then return "its braces share lines with statements" end
end

local function refusal(fn, index, side)
  local uses, hidden = threads.uses(fn), threads.hidden(fn, WORDS[index])
  local whole = uses.whole or uses.grid
  if hidden or whole then return hidden or ("%s is used as a whole"):format(whole) end
  if #uses[index][side] == 0 then return ("it does not ask for %s.%s"):format(index, side) end
  return (index == "threadIdx" and knows_lanes or hides_shared)(fn) or not_understood(fn)
end

--- May blocks, or threads, become one along a side?
---@param index "blockIdx"|"threadIdx"
---@param side string
function M.of(fn, index, side)
  local why = refusal(fn, index, side)
  return not why, why
end

return M
