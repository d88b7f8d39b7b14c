-- promises: what a winner promises the compiler of every launch of its kernel, where its case shows
-- one: that no array it writes is the memory of another (`__restrict__`), that no block has more
-- threads than `__launch_bounds__` says. The host's code that the kernel came from is asked, read
-- and not run; where it cannot tell, the promise is a person's to keep.

local csource = require "gilua.new.csource"
local headers = require "gilua.new.headers"
local hostcode = require "gilua.new.hostcode"
local parts = require "gilua.new.parts"
local tablecase = require "gilua.problem.tablecase"

local M = {}

-- The host's code of the file that a problem was made of; nil where it was made of none.
local function host_of(t)
  if not t.made_from then return nil end
  local found = parts.of(t.made_from.path, t.kernel)
  local text = found.host and found.host.text or found.text
  return hostcode.read(text, headers.of(text, t.include or {}), t.defines)
end

-- What a genome gives each rule of a type: texts, of a rule that is given several the last.
local function texts_of(problem, genome, type)
  local given, texts = {}, {}
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    local rule = gene.target
    if rule and rule.type == type then given[rule.name] = gene.source and gene.source.text or "" end
  end
  for _, text in pairs(given) do texts[#texts + 1] = text end
  return texts
end

--------------------------------------------------------------------------------------------------
-- __restrict__

local NOWHERE = csource.set "NULL nullptr"

-- The memory that an argument of a launch leads to, as it is written there: without casts and what
-- is added to it. Nil for none.
local function memory(text)
  local e = text:gsub("%s+", ""):gsub("%->", ".")
  while e:find "^%([^()]*%*%)" do e = e:gsub("^%([^()]*%*%)", "") end
  local path, behind = e:match "^[(&]*([%a_][%w_.:%[%]]*)(.?)"
  if e:find "^%(*&" and path then path = path:gsub("%[.*", "") end
  if behind == "(" or behind == "<" then return e end -- a call: the same where all is
  return path and not NOWHERE[path] and path or nil
end

-- Two arrays of a launch in one memory, of which the kernel writes one: their names, and it.
local function shared(t, launch)
  local first = {}
  for i, arg in ipairs(t.args) do
    local at = arg.count and memory(launch.args[i])
    local other = at and first[at]
    if other and (tablecase.is_written(arg) or tablecase.is_written(other)) then
      return other.name, arg.name, at
    end
    if at then first[at] = other and tablecase.is_written(other) and other or arg end
  end
end

local function of_restrict(t, launches, tell)
  for _, launch in ipairs(launches) do
    if #launch.args == #t.args then
      local a, b, at = shared(t, launch)
      if a then tell("`__restrict__`, but %s launches it with `%s` as both %s and %s", launch.place,
        at, a, b) end
    else
      tell("`__restrict__`, and what %s launches it with is not understood", launch.place)
    end
  end
end

--------------------------------------------------------------------------------------------------
-- __launch_bounds__

local function threads(host, launch)
  local block = launch.block and host:dimensions(launch.block)
  return block and block[1] * block[2] * block[3]
end

local function of_bounds(host, launches, texts, tell)
  for _, text in ipairs(texts) do
    local most = tonumber(text:match "__launch_bounds__%s*%(%s*(%d+)")
    for _, launch in ipairs(most and launches or {}) do
      local n = threads(host, launch)
      if not n then
        tell("%s, and how many threads a block of %s has is not known", text, launch.place)
      elseif n > most then
        tell("%s, but %s launches blocks of %d", text, launch.place, n)
      end
    end
  end
end

--------------------------------------------------------------------------------------------------

--- What a winner promises and the host's code breaks, or may break for all that can be known of it.
--- Nothing of a problem that a person wrote, whose promises are his.
---@param problem gilua.problem
---@param genome string
---@return string[] sentences
function M.open(problem, genome)
  local t = problem.definition.kernel_table and problem.definition.kernel_table.table
  local bounds = texts_of(problem, genome, "launchbounds")
  local restrict = table.concat(texts_of(problem, genome, "optrestrict")):find "__restrict__"
  local host = t and (restrict or #bounds > 0) and host_of(t)
  if not host then return {} end
  local list, launches = {}, host:every_launch(t.kernel)
  local function tell(...) list[#list + 1] = string.format(...) end
  if restrict and #launches == 0 then
    tell("`__restrict__`, and no launch says whether its arrays may be one memory")
  end
  if restrict then of_restrict(t, launches, tell) end
  of_bounds(host, launches, bounds, tell)
  return list
end

return M
