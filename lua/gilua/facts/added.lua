--- added: what does a statement add to memory, and nothing else: atomicAdd(&a[i], v)?
--
-- Yes is the call, its access and the type of the element. No where the statement does anything
-- else, or uses the result; unknown where the element's type is.

local effects = require "gilua.facts.effects"
local types = require "gilua.facts.types"

local M = {}

local ADDED = { int = true, ["unsigned int"] = true, float = true, double = true,
                ["unsigned long long"] = true }

--- What a statement adds: { call, access, type (nil: not known) }; nil of any other statement.
---@return { call: table, access: table, type: string? }?
function M.of(fn, s)
  local call = s.kind == "expression" and s.tree.kind == "call" and s.tree
  local fits = call and call.callee.kind == "name" and call.callee.text == "atomicAdd"
    and #call.args == 2
  for _, access in ipairs(fits and effects.of(fn, s).accesses or {}) do
    if access.atomic then
      local type = types.plain(fn:element_type(access) or "")
      return { call = call, access = access, type = ADDED[type] and type or nil }
    end
  end
end

return M
