--- carried: does an iteration of a loop tell the next ones anything but a sum?
--
-- Where it does not, another thread may do any of its iterations. No (false): each variable that
-- the loop writes and did not declare is only added to, or multiplied, or made the greater or the
-- lesser, by what does not ask for it, or made one number, or has a value of the iteration's own at
-- each use, and nothing leaves the loop before its end. Unknown carries the sentence. Of memory
-- nothing is said.

local effects = require "gilua.facts.effects"
local statement = require "gilua.source.statement"

local M = {}

M.KINDS = { ["+="] = "+", ["-="] = "+", ["*="] = "*", ["|="] = "|", ["&="] = "&",
  ["^="] = "^" }
local CALLS = { max = "max", fmaxf = "max", fmax = "max", min = "min", fminf = "min",
  fmin = "min" }

local function is_name(node, name) return node.kind == "name" and node.text == name end

--- What `sum += x`, `sum = sum + x`, `most = max(most, x)` or `found = 1` does with its variable,
--- "+" and so on, and the tokens of it there; nil of anything else.
---@return string? how
---@return integer[]? tokens
function M.folded(kernel, node)
  if node.kind ~= "assign" or node.a.kind ~= "name" then return nil end
  local name, b = node.a.text, node.b
  if node.op ~= "=" then return M.KINDS[node.op], { node.a.token } end
  if b.kind == "number" then return "= " .. b.text, { node.a.token } end
  local kind = b.kind == "binary" and (b.op == "+" or b.op == "*") and b.op
    or b.kind == "call" and b.callee.kind == "name" and #b.args == 2
      and effects.is_of_cuda(kernel, b.callee.text) and CALLS[b.callee.text]
  local parts = kind and (b.args or { b.a, b.b }) or {}
  for _, part in ipairs(parts) do
    if is_name(part, name) then return kind, { node.a.token, part.token } end
  end
end

-- The tokens in a loop where a variable is no more than added to, and how: by name.
local function sums(loop)
  local fine, how = {}, {}
  statement.nodes(loop.fn.statements, function(node, s)
    local kind, tokens = M.folded(loop.fn.kernel, node)
    local name = kind and statement.covers(loop.body, s) and node.a.text
    if name and (how[name] or kind) == kind then
      how[name] = kind
      for _, token in ipairs(tokens) do fine[token] = true end
    end
  end)
  return fine
end

-- Does what comes behind a statement, up to its parent's end, come after it for certain? Not in the
-- other branch of an `if`, nor behind a `case`.
local function leads_on(s)
  local is_fine = s.parent.kind == "block" or s.parent.init == s
  statement.walk(s.parent, function(below) is_fine = is_fine and below.kind ~= "case" end)
  return is_fine
end

--- Where a function gives a name a value in a statement of its own, `name = x;` or the beginning of
--- a `for`, and how far some such value is there for certain: { token, value, last }.
---@param name string
---@return table[]
function M.given(fn, name)
  local list = {}
  for _, s in ipairs(fn.statements) do
    local tree = s.kind == "expression" and s.tree
    local is_one = tree and tree.kind == "assign" and tree.op == "=" and is_name(tree.a, name)
    if is_one and s.parent and leads_on(s) and not effects.of(fn, tree.b).reads[name] then
      list[#list + 1] = { token = tree.a.token, value = tree.b, last = s.parent.last }
    end
  end
  return list
end

--- Is a use of a name, at a token, behind a value that it is given between two tokens?
---@param list table[] of M.given
---@param token integer
---@param first integer
---@param last integer
function M.is_given(list, token, first, last)
  for _, one in ipairs(list) do
    local is_between = first <= one.token and one.token <= last
    if is_between and one.token <= token and token <= one.last then return true end
  end
  return false
end

-- Has each use of a variable in a loop a value of the same iteration, and each behind it another?
local function is_own(loop, name, d)
  local fn, s = loop.fn, loop.statement
  local list, all = M.given(fn, name), effects.of(fn, fn.body)
  if all["goto"] or all.label or fn.addressed[name] then return false end
  for _, tokens in ipairs { all.reads[name] or {}, all.writes[name] or {} } do
    for _, token in ipairs(tokens) do
      local is_inside = statement.spans(s, token)
      local is_before = token < s.first and not statement.is_in_loop(s)
      local is_fine = token == d.token or is_before
        or is_inside and M.is_given(list, token, s.first, s.last) or not is_inside
        and (M.is_given(list, token, fn.open, s.first) or M.is_given(list, token, s.last, fn.close))
      if not is_fine then return false end
    end
  end
  return true
end

--- Does an iteration tell the next ones anything but sums? false; nil and the sentence.
function M.of(loop)
  local fn, fine, least = loop.fn, sums(loop), nil
  if loop.breaks or loop.leaves or loop.writes_variable then
    return nil, ("each thread goes to the end of the loop at line %d"):format(loop.line)
  end
  for name in pairs(loop.inside.writes) do
    for _, list in ipairs { loop.inside.writes[name], loop.inside.reads[name] or {} } do
      for _, token in ipairs(list) do
        local d = fn:declaration(name, token)
        local is_inner = d and loop.statement.first <= d.token and d.token <= loop.statement.last
        local is_memory = d and (d.pointer > 0 or #d.extents > 0)
        local is_told = not is_inner and not is_memory and not fine[token]
        if is_told and (not least or name < least) and not (d and is_own(loop, name, d)) then
          least = name
        end
      end
    end
  end
  if not least then return false end
  return nil, ("no iteration of the loop at line %d asks for `%s` of another"):format(loop.line,
    least)
end

return M
