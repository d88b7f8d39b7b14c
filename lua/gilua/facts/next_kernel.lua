--- next_kernel: which kernel is launched right behind each launch of another, and may one do both?
--
-- Recordings say which, by `values`. Both may be one where their text can be a function's, and
-- where it is known how the second one's arguments lie. Between two kernels all threads wait, in
-- one they do not: a thread must touch nothing that another touches in the other kernel. The
-- checked run sees races. It is unknown whether it sees all: where a place in memory, or whether it
-- is touched at all, hangs on data, other data may do otherwise.

local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local loaded = require "gilua.facts.loaded"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"
local types = require "gilua.facts.types"

local M = {}

local PROMISE = "no thread touches what another one touches in the other kernel"

-- ---- which ------------------------------------------------------------------------------------

local BYTES = { char = 1, bool = 1, short = 2, int = 4, float = 4, ["unsigned int"] = 4, long = 8,
  ["long long"] = 8, double = 8, ["unsigned long"] = 8, ["unsigned long long"] = 8,
  ["unsigned char"] = 1, ["signed char"] = 1, ["unsigned short"] = 2 }

-- Where a kernel's arguments begin, behind so many bytes; nil where that is not known.
local function beginning(bytes, fn)
  local widest = 1
  for _, p in ipairs(fn.params) do
    local own = p.pointer > 0 and 8 or BYTES[types.plain(p.type)]
    if not own or p.reference or #p.extents > 0 then return nil end
    widest = math.max(widest, own)
  end
  return #fn.params > 0 and (bytes + widest - 1) // widest * widest or nil
end

-- Why a kernel can be no part of another; nil where it can.
local function unfit(fn)
  local words = fn.kernel.words
  if not fn.body then return ("%s is not understood"):format(fn.name) end
  for i = fn.first, fn.head do
    if words[i] == "template" then return fn.name .. " is a template" end
  end
  for i = 1, fn.first - 1 do
    if words[i] == "{" and (words.match[i] or 0) > fn.close then
      return fn.name .. " is in a namespace"
    end
  end
  for i = fn.open, fn.close do
    if words[i] == "extern" and words[i + 1] == "__shared__" then
      return fn.name .. " has shared memory whose size the launch says"
    end
    if words[i] == "this_grid" or words[i] == fn.name then
      return fn.name .. " waits for its grid, or launches itself"
    end
  end
end

--- Returns the kernel that is launched behind each launch of one, and the byte at which its
--- arguments begin behind those; nil and why there is none.
---@return { fn: table, byte: integer }?
---@return string? why
function M.of(fn)
  local ask, other, bytes = fn.kernel.options.values, nil, nil
  for key, value in pairs(ask and ask(fn) or {}) do
    local name = key:match "^before%.(.+)$"
    if name then other, bytes = fn.kernel.by_name[name], value end
  end
  if not other then return nil, "no launch of another kernel stands behind each of its own" end
  local why = unfit(fn) or unfit(other)
  if why then return nil, why end
  local byte = beginning(bytes, other)
  if byte then return { fn = other, byte = byte } end
  return nil, ("how the arguments of %s lie is not known"):format(other.name)
end

-- ---- what hangs on data -----------------------------------------------------------------------

local CONDITIONS = settings.set "if for while do switch"

local within = statement.spans

-- Does a part of a tree hang on a ?:, && or || that asks for what is loaded?
local function is_chosen(fn, tree, token, names)
  return expression.any(tree, function(node)
    local asks = node.kind == "choice" and node.condition
      or node.kind == "binary" and (node.op == "&&" or node.op == "||") and node.a
    local is_behind = asks and within(node, token) and not within(asks, token)
    return is_behind and loaded.of(fn, asks, names)
  end)
end

-- May data say whether a thread comes to a token?
local function is_conditional(fn, token, names)
  for _, s in ipairs(fn.statements) do
    local asks = CONDITIONS[s.kind] and s.condition
    local decides = asks and (within(s, token) or s.first < token and statement.jumps(s))
    if decides and loaded.of(fn, asks, names) then return true end
    for _, tree in ipairs(within(s, token) and statement.trees(s) or {}) do
      if is_chosen(fn, tree, token, names) then return true end
    end
  end
  return false
end

-- Is an element that of the thread's number in the grid alone?
local function is_own(fn, access)
  local index = #access.indices == 1 and access.indices[1]
  for _, one in ipairs(index and index.kind == "name" and threads.indices(fn) or {}) do
    local is_it = one.usual and fn:declaration(index.text, index.first) == one.d
    if is_it and #(effects.of(fn, fn.body).writes[one.name] or {}) == 1 then return true end
  end
  return false
end

-- May an access, with other data, touch what it does not with these?
local function hangs_on_data(fn, access, names)
  local d = access.root and fn.variables[access.root] and fn.variables[access.root][1]
  if d and not d.parameter and #d.extents > 0 then return false end -- no other kernel's
  if not access.indices then return true end
  for _, index in ipairs(access.indices) do
    if loaded.of(fn, index, names) then return true end
  end
  return not is_own(fn, access) and is_conditional(fn, access.token, names)
end

--- Does the checked run see all that a kernel's threads may touch? true; nil and what is promised.
function M.is_seen(fn)
  local all, names = effects.of(fn, fn.body), loaded.names(fn)
  if all.opaque then return nil, PROMISE end
  for _, access in ipairs(all.accesses) do
    if hangs_on_data(fn, access, names) then return nil, PROMISE end
  end
  return true
end

return M
