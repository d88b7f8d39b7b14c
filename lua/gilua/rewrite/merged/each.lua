--- each: the loop over the blocks, or threads, that become one (gilua.rewrite.merge), and what
-- stands at its beginning, so that statements in it stay as they are.
--
--   #pragma unroll
--   for (int part = 0; part < 2; part++) {
--       const unsigned int block = blockIdx.x * 2 + part;
--       auto &column = column_all[part];

local effects = require "gilua.facts.effects"
local settings = require "gilua.base.settings"
local teams = require "gilua.facts.teams"
local threads = require "gilua.facts.threads"

local M = {}

--- Is a name that of an array in shared memory whose size the launch says?
function M.is_dynamic(plan, name) return plan.known.shared[name] == "dynamic" end

--- Returns the directives in which a name is declared, `#ifdef padded`, and as many #endif: where
--- it is not there, no reference to it is.
---@param plan gilua.merge_plan
---@param d table
---@return string[] before
---@return string[] behind
function M.directives(plan, d)
  local kernel, levels, before, behind = plan.fn.kernel, {}, {}, {}
  for i = plan.fn.open, d.token or plan.fn.open do
    if kernel.words.kind[i] == "directive" then
      local name, text = kernel.words.directive(i), kernel:source(i, i)
      if name:find "^if" then levels[#levels + 1] = { text } end
      if name:find "^el" and #levels > 0 then table.insert(levels[#levels], text) end
      if name == "endif" then levels[#levels] = nil end
    end
  end
  for _, level in ipairs(levels) do
    table.move(level, 1, #level, #before + 1, before)
    behind[#behind + 1] = "#endif"
  end
  return before, behind
end

--- Returns those of names that the work behind a guard reads alone, as they come into it: numbers,
--- not arrays.
---@param plan gilua.merge_plan
---@param names table<string, any>
---@param guard gilua.merge_guard
---@return table<string, true>
function M.only_read(plan, names, guard)
  local work = table.move(guard.guarded, 1, #guard.guarded, 2, { guard.statement })
  local list, written = {}, effects.all(plan.fn, work).writes
  for name in pairs(names) do
    local d = plan.spread[name]
    if d and not M.is_dynamic(plan, name) and #d.extents == 0 and not written[name]
      and not plan.fn.addressed[name] and #M.directives(plan, d) == 0 then
      list[name] = true
    end
  end
  return list
end

-- Adds the lines that give names the values of the block whose turn it is. One element of an array
-- by a number that the compiler does not know would have the whole array in memory.
local function add_picked(plan, list, names)
  local sorted, moves = settings.keys(names), {}
  if #sorted == 0 then return end
  for i, name in ipairs(sorted) do
    list[#list + 1] = ("%sauto %s = %s[0];"):format(plan.step, name, plan.all[name])
    moves[i] = ("%s = %s[%s];"):format(name, plan.all[name], plan.other)
  end
  local text, other = table.concat(moves, " "), plan.other
  list[#list + 1] = plan.step .. "#pragma unroll"
  list[#list + 1] = ("%sfor (int %s = 1; %s < %d; %s++)"):format(plan.step, other, other,
    plan.count, other)
  list[#list + 1] = ("%s%sif (%s == %s) %s"):format(plan.step, plan.step, plan.part, other,
    #moves > 1 and "{ " .. text .. " }" or text)
end

-- Which thread, or block, a part is.
local function place_of(plan, part)
  local at, team = plan.what.index .. "." .. plan.side, plan.team
  if plan.what.index == "threadIdx" and not team then
    return ("%s + blockDim.%s * %s"):format(at, plan.side, part)
  elseif not team or team.size == plan.count and not team.is_named then
    return ("%s * %d + %s"):format(at, plan.count, part)
  end
  local n = teams.fewer_text(team, plan.count)
  return ("%s / %s * %s + %s %% %s + %s * %s"):format(at, n, team.text, at, n, n, part)
end

-- The line that declares a name in the loop; nil where it is declared already.
local function named(plan, name, read, filled)
  local d, all, part = plan.spread[name], plan.all[name], plan.part
  if not d then return nil end
  if M.is_dynamic(plan, name) then
    return ("auto *const %s = %s + %s * %s;"):format(name, all, part, plan.length[name])
  elseif filled and filled.read[name] then
    return ("const auto %s = %s[%s] ? %s[%s] : %s[0];"):format(name, filled.active, part, all, part,
      all)
  elseif not read[name] then
    return ("auto &%s = %s[%s];"):format(name, all, part)
  end
end

--- Returns the lines that begin the loop.
---@param plan gilua.merge_plan
---@param names table<string, true> what it reads
---@param has_block boolean it reads which block or thread it is
---@param options? { read?: table<string, true>, times?: string, filled?: gilua.merge_guard }
---  read: names that each turn has a copy of; times: how often it is unrolled (wholly); filled:
---  the guard that is done for all of a team
---@return string[]
function M.head(plan, names, has_block, options)
  local o, part = options or {}, plan.part
  local read, filled = o.read or {}, o.filled
  local list = { "#pragma unroll" .. (o.times and " " .. o.times or ""),
    ("for (int %s = 0; %s < %d; %s++) {"):format(part, part, plan.count, part) }
  if has_block then
    local own = filled and ("(%s[%s] ? %s : 0)"):format(filled.active, part, part) or part
    list[#list + 1] = ("%sconst unsigned int %s = %s;"):format(plan.step, plan.block,
      place_of(plan, own))
  end
  add_picked(plan, list, read)
  for _, name in ipairs(settings.keys(names)) do
    local line = named(plan, name, read, filled)
    local is_reference = line and line:find("&", 1, true)
    local before, behind = M.directives(plan, is_reference and plan.spread[name] or {})
    table.move(before, 1, #before, #list + 1, list)
    list[#list + 1] = line and plan.step .. line
    table.move(behind, 1, #behind, #list + 1, list)
  end
  return list
end

--- Returns the tokens of a range that say which block it is, and of how many, as kernel:source
--- takes them; does any say which?
---@param plan gilua.merge_plan
---@param first integer
---@param last integer
---@return table<integer, table> instead
---@return boolean has_block
function M.other(plan, first, last)
  local instead, uses = {}, threads.uses(plan.fn)
  local function take(tokens, text)
    local any = false
    for _, token in ipairs(tokens) do
      if first <= token and token <= last then
        instead[token], any = { text, token + 2 }, true
      end
    end
    return any
  end
  take(uses[plan.what.length][plan.side], plan.whole)
  return instead, take(uses[plan.what.index][plan.side], plan.block)
end

return M
