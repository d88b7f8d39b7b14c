-- blockwise: what a kernel computes from where its block is in the grid, and what is the same in
-- all blocks of a row: what two neighbouring blocks could do once for both. Or the same of threads
-- of a block.
--
--   local known = blockwise.of(fn, "blockIdx", "x", guards)
--
-- A variable or an array in shared memory is a block's own where anything that is assigned to it
-- depends on blockIdx.x, or on what is a block's own, or where that is assigned below a condition
-- that does, or in a loop that a block leaves without another (gilua.facts.single_exit). What is
-- loaded from memory that the kernel writes is taken to be a block's own, for another block may
-- have written it. `guards` are each an `if` that is taken to hold.
--
-- With "threadIdx" shared memory belongs to all threads: a load from a place that is the same for
-- all gives all the same value, as no thread writes there before the next barrier. For threads of
-- one warp their warp's number (`threadIdx.x / 32`) is the same.
--
-- Limits: what `effects` calls opaque (assembler, functions of other files) is not looked into. The
-- caller refuses a kernel that has any.

local effects = require "gilua.facts.effects"
local single_exit = require "gilua.facts.single_exit"

local M = {}

---@class gilua.blockwise
---@field names table<string, true> names of variables and arrays that are a block's own
---@field loops table<table, true> loops that a block may leave earlier than another
---@field why string? why nothing is known
local Known = {}
Known.__index = Known

-- Has a range of tokens the place on this side?
local function names_block(known, first, last)
  local words = known.fn.kernel.words
  for i = first, last do
    if words[i] == known.index and words[i + 2] == known.side and not known.same[i] then
      return true
    end
  end
  return false
end

--- Is an access one of memory that other blocks see?
---@param access table of gilua.effects
function Known:is_global(access)
  local d = access.root and self.fn:declaration(access.root, access.token)
  if not access.root or d and d.parameter then return true end
  return not d and not self.shared[access.root]
end

--- Is what a name means at a token a block's own?
---@param name string
---@param token integer
function Known:owns(name, token)
  if not self.names[name] then return false end
  return self.own[self.fn:declaration(name, token) or name] or false
end

--- Is any of names, each with the tokens where it stands?
---@param names table<string, integer[]> reads or writes of gilua.effects
function Known:owns_any(names)
  for name, tokens in pairs(names) do
    for _, token in ipairs(self.names[name] and tokens or {}) do
      if not self.same[token] and self:owns(name, token) then return true end
    end
  end
  return false
end

--- Is what a tree or a statement says a block's own?
function Known:depends(node)
  if names_block(self, node.first, node.last) then return true end
  local all = effects.of(self.fn, node)
  if all.asks[self.index] or self:owns_any(all.reads) then return true end
  for _, access in ipairs(all.accesses) do
    if access.atomic or access.read and self:is_global(access) and self.written[access.root or ""]
    then
      return true
    end
  end
  return false
end

-- Does a name mean memory that all threads of a block see? Of blocks: no name does.
local function is_common(known, name)
  return known.index == "threadIdx" and name ~= nil and known.shared[name] ~= nil
end

local function mark(known, name, token)
  if not name or is_common(known, name) then return end
  local d = known.fn:declaration(name, token) or name
  if not known.own[d] then known.own[d], known.names[name], known.changed = true, true, true end
end

--- Is a variable used only by loops that each begin with a value of their own?
---@param name string
function Known:only_counts(name)
  local known = self
  if known.counts[name] ~= nil then return known.counts[name] end
  local loops, all = {}, effects.of(known.fn, known.fn.body)
  for _, s in ipairs(known.fn.statements) do
    if s.kind == "for" and s.init and effects.of(known.fn, s.init).writes[name] then
      loops[#loops + 1] = s
    end
  end
  for _, tokens in ipairs { all.reads[name] or {}, all.writes[name] or {} } do
    for _, token in ipairs(tokens) do
      local d, inside = known.fn:declaration(name, token), false
      for _, s in ipairs(loops) do inside = inside or s.first <= token and token <= s.last end
      if not inside and not (d and d.token == token) then
        known.counts[name] = false
        return false
      end
    end
  end
  local counts = #loops > 0
  for _, s in ipairs(loops) do -- within another of them it changes what that counts
    for _, other in ipairs(loops) do
      if s ~= other and other.first <= s.first and s.last <= other.last then counts = false end
    end
  end
  known.counts[name] = counts
  return counts
end

-- Is what is written perhaps in a variable itself: an array that a struct of the function has?
local function may_be_within(known, access)
  local d = not access.root and access.base and known.fn:declaration(access.base, access.token)
  return d and not d.parameter and d.pointer == 0 and not d.reference or false
end

-- Marks all that a node writes as a block's own. A loop may be a block's own only because of a
-- condition above it. Then a variable that each loop begins anew is not marked in its head: all who
-- go through the loop count alike.
local function mark_written(known, all, is_head)
  for name, tokens in pairs(all.writes) do
    for _, token in ipairs(is_head and known:only_counts(name) and {} or tokens) do
      mark(known, name, token)
    end
  end
  for _, access in ipairs(all.accesses) do
    if access.write and (not known:is_global(access) or may_be_within(known, access)) then
      mark(known, access.root, access.token)
      mark(known, access.base, access.token)
    end
  end
end

-- Does nothing of a declaration but its names get a value?
local function only_declares(known, s)
  for _, d in ipairs(s.declared) do
    local does_more = d.init and next(effects.of(known.fn, d.init).writes)
    if does_more or d.unknown_init or d.init and d.init_form ~= "=" then return false end
  end
  return true
end

-- What begins with a value becomes an assignment, what is declared beside it stays what it is:
-- `int row = blockIdx.y, column = threadIdx.x;`.
local function see_declaration(known, s, below)
  local own, begins, together = below, false, below or not only_declares(known, s)
  for _, d in ipairs(s.declared) do
    own = own or d.init and known:depends(d.init) or known:owns(d.name, d.token)
    begins = begins or d.init ~= nil or d.unknown_init
  end
  if not own or not begins then return end
  if together then return mark_written(known, effects.of(known.fn, s)) end
  for _, d in ipairs(s.declared) do
    if d.init and known:depends(d.init) then mark(known, d.name, d.token) end
  end
end

-- What is declared before a token, and what is shared, and written in a statement behind it: where
-- the guard does not hold, one block's work follows another's.
local function mark_outer(known, s, first)
  local all = effects.of(known.fn, s)
  for name, tokens in pairs(all.writes) do
    local d = known.fn:declaration(name, tokens[1])
    if d and d.token < first and not known:only_counts(name) then mark(known, name, tokens[1]) end
  end
  for _, access in ipairs(all.accesses) do
    local d = access.root and known.fn:declaration(access.root, access.token)
    if access.write and (known.shared[access.root or ""] or d and d.token < first)
      and not known:is_global(access) then
      mark(known, access.root, access.token)
      mark(known, access.base, access.token)
    end
  end
end

local JUMPS = { ["break"] = true, continue = true }

-- One pass; below: the statement is below a condition that is a block's own; head: it is what the
-- head of a loop begins with.
local function pass(known, s, below, head_of)
  local left = JUMPS[s.kind] and below and single_exit.of_jump(s)
  if left and not known.loops[left] then known.loops[left], known.changed = true, true end
  if s.kind == "return" and below then
    known.why = ("line %d returns for some %s"):format(known.fn.kernel:line_of(s.first),
      known.index == "threadIdx" and "threads" or "blocks")
  end
  if s.kind == "declaration" then see_declaration(known, s, below) end
  local depends = s.kind == "expression" and known:depends(s.tree)
  if s.kind == "expression" and (below or depends) then
    mark_written(known, effects.of(known.fn, s.tree), head_of and not depends)
  end
  local inner = below
  for _, head in ipairs { s.condition or false, s.step or false } do
    if head and not known.holding[s] and known:depends(head) then inner = true end
  end
  inner = inner or known.loops[s] or false
  if s.init then pass(known, s.init, inner, s) end
  for _, head in ipairs { s.condition or false, s.step or false } do
    if head and inner then
      mark_written(known, effects.of(known.fn, head), not known:depends(head))
    end
  end
  for _, child in ipairs(s.kind == "block" and s.body or { s.body or nil }) do
    if not known.left_by[child] then pass(known, child, inner) end
  end
  if s.otherwise then pass(known, s.otherwise, inner) end
end

-- Arrays of memory that the kernel writes; all of it, under "", where one is not known.
local function written(known)
  local list = {}
  for _, access in ipairs(effects.of(known.fn, known.fn.body).accesses) do
    if access.write and known:is_global(access) then list[access.root or ""] = true end
  end
  if list[""] then setmetatable(list, { __index = function() return true end }) end
  return list
end

--- Arrays in shared memory: name -> "static", or "dynamic" of one whose size the launch says.
---@return table<string, string>
function M.shared(fn)
  local words, list = fn.kernel.words, {}
  for name, declared in pairs(fn.variables) do
    for _, d in ipairs(declared) do
      if d.shared then list[name] = d.extern and "dynamic" or "static" end
    end
  end
  for i = 1, #words do
    if words[i] == "__shared__" then
      local k = i
      while words[k] and words[k] ~= ";" and words[k] ~= "[" and words[k] ~= "=" do k = k + 1 end
      local name = words.kind[k - 1] == "name" and words[k - 1]
      if name and words[k] == "[" and words[k + 1] == "]" then list[name] = "dynamic" end
      if name and not list[name] then list[name] = "file" end
    end
  end
  return list
end

local MOST_PASSES = 40

--- What is a block's own in a kernel, or a thread's.
---@param index string "blockIdx" or "threadIdx"
---@param side string
---@param guards? { statement: table, leaves: boolean, guarded: table[] }[] each an `if` that is
--- taken to hold, or not to where it leaves the kernel, and the statements that are done by it
---@param same? table<integer, true> tokens of the place, or of what is made of it, where what is
--- asked for is the same for all
---@return gilua.blockwise
function M.of(fn, index, side, guards, same)
  local known = setmetatable({ fn = fn, index = index, side = side, same = same or {},
    names = {}, own = {}, loops = {}, counts = {}, holding = {}, left_by = {},
    shared = M.shared(fn) }, Known)
  for _, guard in ipairs(guards or {}) do
    known[guard.leaves and "left_by" or "holding"][guard.statement] = true
  end
  known.written = written(known)
  for name in pairs(fn.addressed) do
    for _, d in ipairs(fn.variables[name] or {}) do mark(known, name, d.token) end
    if not fn.variables[name] then mark(known, name, fn.open) end
  end
  for _ = 1, MOST_PASSES do
    known.changed = false
    for _, guard in ipairs(guards or {}) do
      for _, s in ipairs(guard.guarded) do mark_outer(known, s, guard.statement.first) end
    end
    pass(known, fn.body, false)
    if known.why or not known.changed then return known end
  end
  known.why = "it is too long a chain of assignments"
  return known
end

return M
