--- iterations: several iterations of a loop written out, and a second loop for what remains.
--
--   for (i = 0; i < n; i++) body(i);
--
--   i = 0;
--   for (; i + 1 < n; i += 2) { body(i); body(i + 1); }
--   for (; i < n; i++) body(i);
--
-- The bound is compared with the last of the written-out iterations, which holds for types without
-- a sign too.

local edit = require "gilua.rewrite.edit"
local loop_of = require "gilua.facts.loop"
local types = require "gilua.facts.types"

local M = {}

local MOST_TOKENS = 400 -- of all copies of a body together, unless told

--- Returns why the iterations of a loop cannot be counted by its head, or nil if they can.
---@return string?
function M.unfit_head(loop)
  if not loop.counted then return "its head is not one that counts" end
  local upward = loop.sign > 0 and loop.relation:find "^<"
  local downward = loop.sign < 0 and loop.relation:find "^>"
  if not upward and not downward then return "it does not count towards its bound" end
  if downward and not (loop.type == "int" or loop.type == "long" or loop.type == "long long") then
    return "it counts down in a type that may have no numbers below zero"
  end
end

local function refusal(loop)
  local why = M.unfit_head(loop)
  if why then return why end
  if not loop.simple then return "its variable, its bound or the way out of it change within" end
  for _, d in pairs(loop.inside.declares) do
    if d.shared or d.static then return "it declares a shared or static variable" end
  end
end

-- How far n iterations go in a loop of known steps.
local function distance(loop, n)
  local step = math.abs(loop.step)
  if math.type(n) then return step * n end
  return step == 1 and n or ("%d * %s"):format(step, n)
end

--- The loop's variable n iterations on, as text: i + 3, i + 2 * stride.
---@param n integer|string in a loop of known steps it may be a name
---@return string
function M.ahead(loop, n)
  local kernel = loop.fn.kernel
  local sign = loop.sign > 0 and "+" or "-"
  local by = loop.step and distance(loop, n)
  if not by then
    local kind = loop.by.kind
    local is_word = kind == "name" or kind == "member" or loop.by.parens
      or n == 1 and loop.sign > 0
    by = (n == 1 and "" or n .. " * ") .. (is_word and "%s" or "(%s)"):format(kernel:plain(loop.by))
  end
  return ("%s %s %s"):format(loop.variable, sign, by)
end

local ALONE = { ["["] = true, ["]"] = true, ["("] = true, [")"] = true, [","] = true }

--- What stands for a token that is the loop's variable, n iterations on: in brackets where it is
--- part of a sum or product.
---@param token integer
---@param n integer|string as of M.ahead
---@return string
function M.at(loop, token, n)
  local words = loop.fn.kernel.words
  local alone = ALONE[words[token - 1]] and ALONE[words[token + 1]]
  return (alone and "%s" or "(%s)"):format(M.ahead(loop, n))
end

--- Returns by how much a loop's body is indented.
function M.unit(loop)
  local kernel = loop.fn.kernel
  local outer = kernel:indent(loop.statement.first)
  local body = loop.body.kind == "block" and loop.body.body[1] or loop.body
  local inner = body and kernel:begins_line(body.first) and kernel:indent(body.first) or ""
  local more = inner:sub(1, #outer) == outer and inner:sub(#outer + 1) or ""
  return more ~= "" and more or "    "
end

-- All lines of a text but the first, further in.
local function indented(text, by) return (text:gsub("\n", "\n" .. by)) end

-- The body once, for the n-th iteration from here: without braces where nothing is declared.
local function copy(loop, tokens, n, others)
  local kernel, instead = loop.fn.kernel, others and others(n) or {}
  for _, token in ipairs(tokens) do
    instead[token] = n > 0 and M.at(loop, token, n) or nil
  end
  local body = loop.body
  local is_bare = body.kind ~= "block" or #body.body > 0 and not next(loop.inside.declares)
  if body.kind == "block" and is_bare and not loop.continues then
    return kernel:source(body.body[1].first, body.body[#body.body].last, instead)
  end
  local text = kernel:source(body.first, body.last, instead)
  if body.kind == "block" then text = indented(text, M.unit(loop)) end
  return loop.continues and "do " .. text .. " while (0);" or text -- `continue` ends a copy
end

local function head_bound(loop)
  local kernel, bound = loop.fn.kernel, loop.bound
  local simple = bound.kind == "name" or bound.kind == "number" or bound.kind == "member"
    or bound.kind == "index" or bound.kind == "call" or bound.parens
  local text = kernel:plain(bound)
  return simple and text or "(" .. text .. ")"
end

local HALF = { int = "int", unsigned = "unsigned int", ["unsigned int"] = "unsigned int" }

-- May several steps of a loop wrap in 32 bits, and does adding them up in 64 give the answer
-- without that? A block's length is too short to wrap.
local function may_wrap(loop)
  if loop.step or loop.fn.kernel:plain(loop.by):find "^blockDim%.[xyz]$" then return false end
  local own = HALF[types.resolved(loop.fn.kernel, loop.type or "")]
  local bound, by = types.of(loop.fn, loop.bound), types.of(loop.fn, loop.by)
  return own ~= nil and HALF[bound or ""] == own and HALF[by or ""] ~= nil
end

-- The last of the iterations that are written out, in the variable's own type: a step of another,
-- `blockDim.x`, would have the bound compared without its sign. One step
-- alone is what the loop itself makes.
local function last_ahead(loop, factor)
  local text = M.ahead(loop, factor - 1)
  if factor > 2 and may_wrap(loop) then return (text:gsub("([+-] %d+) %*", "%1LL *", 1)) end
  local same = loop.step or not loop.type or types.of(loop.fn, loop.by) == loop.type
  return same and text or ("(%s)(%s)"):format(loop.type, text)
end

--- The head of a loop that goes on by several iterations: for (; i + 3 < n; i += 4).
---@param factor integer
---@return string
function M.head(loop, factor)
  local step = M.ahead(loop, factor):gsub("^" .. loop.variable .. " ([+-]) ",
    loop.variable .. " %1= ")
  return ("for (; %s %s %s; %s)"):format(last_ahead(loop, factor), loop.relation, head_bound(loop),
    step)
end

-- for (; i + 3 < n; i += 4) { … }
local function main_loop(loop, tokens, factor, options)
  local indent = loop.fn.kernel:indent(loop.statement.first)
  local inner = indent .. M.unit(loop)
  local lines = { (options.condition and ("if (%s) "):format(options.condition) or "")
    .. M.head(loop, factor) .. " {" }
  for _, line in ipairs(options.first or {}) do lines[#lines + 1] = inner .. line end
  for n = 0, factor - 1 do lines[#lines + 1] = inner .. copy(loop, tokens, n, options.instead) end
  for _, line in ipairs(options.last or {}) do lines[#lines + 1] = inner .. line end
  lines[#lines + 1] = indent .. "}"
  return table.concat(lines, "\n")
end

--- The loop as it is, from where the variable stands, while something else holds too.
---@param also? string
---@return string
function M.plain_loop(loop, also)
  local kernel, s = loop.fn.kernel, loop.statement
  local head = kernel:source(s.header[2] + 1, s.header[3] - 1)
  return ("for (; %s%s%s"):format(head, also and " && " .. also or "",
    kernel:source(s.header[3], s.last))
end

--- The tokens of the loop's variable in its body; nil and why where several iterations cannot be
--- written out.
---@param factor integer how many
---@param most? integer tokens of all copies together
function M.tokens(loop, factor, most)
  local why = refusal(loop)
  if why then return nil, why end
  local size = loop.body.last - loop.body.first + 1
  if size * factor > (most or MOST_TOKENS) then return nil, "its body is too long" end
  if loop.trips and loop.trips < factor then return nil, "it has fewer iterations" end
  local tokens = loop_of.variable_tokens(loop, loop.body)
  if not tokens then return nil, "its variable is hidden in a macro or declared again" end
  return tokens
end

--- The same of a place of a loop, at[1] times (gilua.rewrite.rewrite).
function M.can_be_written(at) return M.tokens(at.loop, at[1]) end

-- Before the loop, the loop that is written out, the one for the rest, behind them.
local function parts(loop, tokens, factor, options)
  local kernel, s, list = loop.fn.kernel, loop.statement, {}
  for _, line in ipairs(options.before or {}) do list[#list + 1] = line end
  if loop.start then list[#list + 1] = kernel:source(s.init.first, s.init.last) end
  if options.while_also then list[#list + 1] = M.plain_loop(loop, options.while_also) end
  list[#list + 1] = main_loop(loop, tokens, factor, options)
  list.has_rest = options.while_also or options.condition or not loop.trips
    or loop.trips % factor ~= 0
  if list.has_rest then list[#list + 1] = M.plain_loop(loop) end
  for _, line in ipairs(options.after or {}) do list[#list + 1] = line end
  return list
end

--- Puts lines in the place of a loop, in braces where something of its own is declared there.
---@param lines string[]
---@param is_block? boolean in braces in any case
function M.put(e, loop, lines, is_block)
  local s, indent = loop.statement, loop.fn.kernel:indent(loop.statement.first)
  local text = table.concat(lines, "\n" .. indent)
  if loop.declares or is_block or not edit.is_listed(s) then
    text = indented("{\n" .. indent .. text, M.unit(loop)) .. "\n" .. indent .. "}"
  end
  for _, pragma in ipairs(loop.pragmas) do e:replace(pragma.first, pragma.last, "") end
  e:replace(s.first, s.last, text)
end

--- Writes out `factor` iterations of a loop.
---@param tokens integer[] of M.tokens
---@param factor integer
---@param options? table before, after: lines around all loops; instead(n): token -> text, other
--- words in the n-th copy of the body (0: the first), as kernel:source takes them; first, last:
--- lines of the main loop's body around the copies; condition: without which the main loop is
--- left out; while_also: the loop is first done as it is while this holds too
function M.write(e, loop, tokens, factor, options)
  options = options or {}
  local list = parts(loop, tokens, factor, options)
  M.put(e, loop, list, options.before ~= nil)
  e.twice = list.has_rest
end

local LEVEL = "    "
local MOST_TWICE = 2000 -- tokens of a loop that is there twice

--- Can a loop be there twice? true; nil and a sentence.
function M.fits_twice(loop)
  if loop.statement.last - loop.statement.first > MOST_TWICE then
    return nil, "it is too long to be there twice"
  end
  for _, d in pairs(loop.inside.declares) do
    if d.shared or d.extern or d.static then return nil, "it declares shared memory" end
  end
  return true
end

--- Writes a loop twice: with other words and lines before it where questions hold, else as it is.
---@param asks string[] conditions
---@param before string[] lines
---@param instead? table words, as kernel:source takes them
---@return table change { indent }
function M.put_twice(e, loop, asks, before, instead)
  local kernel, s = loop.fn.kernel, loop.statement
  local first = loop.pragmas[1] and loop.pragmas[1].first or s.first
  local lines = { ("if (%s) {"):format(table.concat(asks, " && ")) }
  for _, line in ipairs(before) do lines[#lines + 1] = LEVEL .. line end
  local other = kernel:source(first, s.last, instead):gsub("\n" .. kernel:indent(s.first), "\n")
  lines[#lines + 1] = LEVEL .. other:gsub("\n", "\n" .. LEVEL)
  lines[#lines + 1] = "} else {"
  e:around(s, lines, { "}" })
  e:before(first, LEVEL)
  if first ~= s.first then e:before(s.first, LEVEL) end
  e.twice = true
  return { indent = { e:deepen(s.first, s.last, LEVEL) } }
end

return M
