--- opaque: statements that are not understood, each with its line and the reason.
--
-- Anything may happen at such a statement: no rewriting moves, merges or removes what stands
-- around it. Of a statement with others below it only its header counts. A function whose body is
-- not understood is one entry.

local effects = require "gilua.facts.effects"
local statement = require "gilua.source.statement"

local M = {}

local COMPOUND = { block = true, ["for"] = true, ["while"] = true, ["do"] = true, ["if"] = true,
                   switch = true }

-- Returns why a statement's own effects are unknown, and the token; nil where they are known.
local function reason(fn, s)
  if s.why then return s.why, s.why_at end
  for _, d in ipairs(s.declared or {}) do
    if d.why then return d.why, d.why_at end
  end
  local nodes = COMPOUND[s.kind] and statement.trees(s) or { s }
  for _, node in ipairs(nodes) do
    local all = effects.of(fn, node)
    if all.opaque then return all.why or "something that is not understood", node.first end
  end
end

--- Returns the statements of a kernel's open functions with unknown effects, in the file's order.
---@return { line: integer, why: string }[]
function M.of(kernel)
  if kernel.why then return { { line = 1, why = kernel.why } } end
  local list, last = {}, 0
  local function add(token, why)
    local line = kernel:line_of(token)
    if line ~= last and kernel:is_open(line, line) then
      list[#list + 1] = { line = line, why = why }
    end
    last = line
  end
  for _, fn in ipairs(kernel.functions) do
    if not fn.body then
      add(fn.first, ("%s: %s at line %d"):format(fn.name, fn.why or "its body is not understood",
        kernel:line_of(fn.why_at or fn.first)))
    end
    for _, s in ipairs(fn.statements) do
      local why, token = reason(fn, s)
      if why then add(token, why) end
    end
  end
  return list
end

return M
