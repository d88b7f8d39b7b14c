--- apart: are two accesses of different memory?
--
-- Yes (true): each points into an array of its own. No (false): both point into one array, or into
-- two names of one. Unknown (nil) carries the sentence that would have to be promised: the host's
-- launches decide whether two arrays from outside alias. memory_of says where a pointer points.
--
-- Limits: two accesses of one array are never apart here; order and ranges compare their indices.

local effects = require "gilua.facts.effects"

local M = {}

-- What memory a root is: "own" (the thread's), "shared", "dynamic" (shared, its size the launch's),
-- "constant", "parameter", "file" (an array of the file), "pointer" (one of the file); the
-- declaration.
local function kind_of(fn, root)
  local d = fn.variables[root] and fn.variables[root][1]
  if d then
    if d.parameter then return "parameter", d end
    if d.shared then return d.extern and "dynamic" or "shared", d end
    return "own", d
  end
  d = fn.kernel.globals[root]
  if not d then return "pointer" end
  if d.shared then return d.extern and "dynamic" or "shared", d end
  if d.constant then return "constant", d end
  return d.pointer > 0 and #d.extents == 0 and "pointer" or "file", d
end

local SHARED = { shared = true, dynamic = true }

-- By what two different roots are: true, false, or nil where only a promise helps.
local function by_kind(fn, a, b)
  local one, d = kind_of(fn, a)
  local other, e = kind_of(fn, b)
  if one == "own" or other == "own" then return true end
  if one == "dynamic" and other == "dynamic" then return false end
  if SHARED[one] and SHARED[other] then return true end
  if SHARED[one] or SHARED[other] then
    local outer = SHARED[one] and other or one
    if outer == "file" or outer == "constant" or outer == "parameter" and fn.kind == "kernel" then
      return true
    end
    return nil
  end
  if one == "constant" or other == "constant" then return true end
  if one == "file" and other == "file" then return true end
  local is_restrict = d and d.restrict and d.pointer == 1 or e and e.restrict and e.pointer == 1
  return is_restrict or nil
end

--- Are two roots different memory? true, false, or nil and the sentence.
---@param a string? a root
---@param b string?
function M.roots(fn, a, b)
  if not a or not b then return nil, "a pointer that is not understood leads to no other array" end
  if a == b then return false end
  local answer = by_kind(fn, a, b)
  if answer == nil then
    return nil, ("`%s` and `%s` are different memory"):format(a, b)
  end
  return answer
end

--- Are two accesses of different memory?
---@param a table access
---@param b table access
function M.of(fn, a, b) return M.roots(fn, a.root, b.root) end

-- ---- what is taken for granted -----------------------------------------------------------------

local noted -- what is noted now: { asked, [fn] = { ["a b"] = true } }; nil: nothing

local function key_of(a, b) return a < b and a .. " " .. b or b .. " " .. a end

local function note(fn, key)
  noted[fn] = noted[fn] or {}
  noted[fn][key] = true
end

--- Notes again what was noted once, where an answer is used that was kept.
---@param notes table of M.noting
function M.note(notes)
  if not noted then return end
  noted.asked = noted.asked or notes.asked
  for fn, keys in pairs(notes) do
    for key in pairs(fn ~= "asked" and keys or {}) do note(fn, key) end
  end
end

--- Returns what a question answers, and notes of it: asked, whether anything hangs on two arrays'
--- being apart, and which arrays were taken for different memory though that is unknown (M.pairs).
---@param ask fun(…): any
---@return any answer
---@return table notes
function M.noting(ask, ...)
  local outer, own = noted, {}
  local _ <close> = setmetatable({}, { __close = function() noted = outer end })
  noted = own
  local answer = ask(...)
  noted = outer
  M.note(own)
  return answer, own
end

--- Returns what a question answers, asked once for each key of a table that keeps the answers.
---@param kept table
---@param key any
---@param ask fun(…): any
function M.kept(kept, key, ask, ...)
  if kept[key] then M.note(kept[key][2]) else kept[key] = table.pack(M.noting(ask, ...)) end
  return kept[key][1]
end

--- The same where what the host decides is promised, which M.noting notes and M.pairs says of a
--- whole function. Never of a pointer that is not understood.
---@param a table access
---@param b table access
---@return boolean
function M.promised(fn, a, b)
  local answer = M.of(fn, a, b)
  local is_taken = answer == nil and a.root ~= nil and b.root ~= nil
  if noted and (answer or is_taken) then noted.asked = true end
  if noted and is_taken then note(fn, key_of(a.root, b.root)) end
  return answer or is_taken
end

--- May two accesses be of the same memory, whatever the host keeps of what is promised?
function M.may_meet(fn, a, b) return not M.promised(fn, a, b) end

--- May an access be of the memory of a root?
function M.may_touch(fn, access, root) return M.may_meet(fn, access, { root = root }) end

-- The roots that a function reads or writes, in order, and which of them it writes.
local function roots_of(fn)
  local list, written = {}, {}
  for _, access in ipairs(fn.body and effects.of(fn, fn.body).accesses or {}) do
    local root = access.root
    if root and written[root] == nil then
      written[root] = false
      list[#list + 1] = root
    end
    if root and access.write then written[root] = true end
  end
  table.sort(list)
  return list, written
end

-- Returns the places of two roots among a launch's arguments; nil where one is no argument.
local function places_of(fn, a, b)
  local at = {}
  for i, param in ipairs(fn.is_entry and fn.params or {}) do at[param.name] = i end
  return at[a] and at[b] and { at[a], at[b] }
end

--- Returns the pairs of a function's arrays whose relation is unknown and where one is written:
--- what it has to promise if its arrays are taken for different memory.
---@param notes? table of M.noting: the pairs that were taken for granted alone
---@return { [1]: string, [2]: string, ours: boolean, promise: string, args?: integer[] }[] ours: no
---  launch keeps it, for one is a pointer of the file; args: which arguments of a launch they are
function M.pairs(fn, notes)
  local list, taken = {}, notes and (notes[fn] or {})
  local roots, written = roots_of(fn)
  for i, one in ipairs(roots) do
    for k = i + 1, #roots do
      local other = roots[k]
      local answer, promise = M.roots(fn, one, other)
      local is_ours = kind_of(fn, one) == "pointer" or kind_of(fn, other) == "pointer"
      local is_asked = not taken or taken[key_of(one, other)]
      if answer == nil and (written[one] or written[other]) and is_asked then
        list[#list + 1] = { one, other, ours = is_ours, promise = promise,
          args = places_of(fn, one, other) }
      end
    end
  end
  return list
end

return M
