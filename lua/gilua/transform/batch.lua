-- batch: the loads of several iterations are made before any of these does anything else, so that
-- they are under way at once.
--
--   for (; k + 1 < n; k += 2) {
--     const int to_0 = edges[k], to_1 = edges[k + 1];
--     if (!seen[to_0]) level[to_0] = l;
--     if (!seen[to_1]) level[to_1] = l;
--   }
--
-- The compiler leaves a load behind a store or a condition that stands before it. Loads that each
-- iteration makes are taken; with `all` those below a condition, too, which may read what nobody
-- would have read: a promise that it is there.
--
--   search  a loop that looks for the first element of a kind asks for several at once, and goes
--           on one by one where one of them is
--
--     for (; k + 3 < n; k += 4)
--       if ((a[k] > x) | (a[k + 1] > x) | (a[k + 2] > x) | (a[k + 3] > x)) break;
--     for (; k < n; k++) if (a[k] > x) { found = k; break; }

local apart = require "gilua.facts.apart"
local certain = require "gilua.facts.certain"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local expression = require "gilua.source.expression"
local iterations = require "gilua.rewrite.iterations"

local FACTORS = { 4, 8 }
local MOST_TOKENS = 1600 -- of all copies of a body
local PROMISE = "what a loop would have read later, or not at all, may be read"

-- ---- batch ------------------------------------------------------------------------------------

local can_load

-- Can a tree be evaluated before any iteration does anything? Its loads too, then.
local function is_early(loop, tree, depth)
  local all = effects.of(loop.fn, tree)
  if depth > 8 or all.opaque or all.warp or all.barrier or next(all.writes) then return false end
  for _, call in ipairs(all.calls) do
    if not call.name or not effects.is_pure(call.name) then return false end
  end
  for name, tokens in pairs(all.reads) do
    local d = loop.inside.declares[name]
    if d then
      if not d.init or #loop.inside.writes[name] ~= 1 or loop.fn.addressed[name]
        or d.reference or not is_early(loop, d.init, depth + 1) then
        return false
      end
    elseif name ~= loop.variable and loop.inside.writes[name] then
      return false
    end
    if loop.fn.kernel.macros[name] and #tokens > 0 then return false end
  end
  for _, access in ipairs(all.accesses) do
    if not can_load(loop, access, depth + 1) then return false end
  end
  return true
end

function can_load(loop, access, depth)
  local node = access.node
  if not node or node.kind ~= "index" or access.mode ~= "read" or access.atomic or access.cached
    or access.escapes or not access.root or not loop.fn:element_type(access) then
    return false
  end
  for _, other in ipairs(loop.inside.accesses) do
    if other.write and apart.may_meet(loop.fn, other, access) then return false end
  end
  for _, index in ipairs(access.indices) do
    if not is_early(loop, index, depth) then return false end
  end
  return true
end

-- Does a tree change from iteration to iteration?
local function moves(loop, tree)
  local found = false
  expression.walk(tree, function(node)
    local d = node.kind == "name" and loop.inside.declares[node.text]
    found = found or node.kind == "name" and node.text == loop.variable
      or d and d.init and moves(loop, d.init) or false
  end)
  return found
end

local function by_size(a, b)
  local one, two = a.node.last - a.node.first, b.node.last - b.node.first
  if one ~= two then return one < two end
  return a.node.first < b.node.first
end

-- The loads of an iteration that can be made early, smaller ones first: { access, … }.
local function loads(loop, all)
  local list, always = {}, certain.set(loop)
  if loop.opaque or loop.conditional or loop.barrier or loop.warp then return list end
  for _, access in ipairs(loop.inside.accesses) do
    if access.node and (all or always[access.node]) and can_load(loop, access, 0)
      and moves(loop, access.node) then
      list[#list + 1] = access
    end
  end
  table.sort(list, by_size)
  return list
end

-- Other words for what stands in an iteration: the loads' names, and, where a tree is evaluated
-- early, the loop's variable and what the loop declares.
local function words_of(loop, names, n, tree)
  local instead, kernel = {}, loop.fn.kernel
  for _, load in ipairs(names) do
    instead[load.node.first] = { load.name .. "_" .. n, load.node.last }
  end
  for i = tree and tree.first or 0, tree and tree.last or -1 do
    local word, before = kernel.words[i], kernel.words[i - 1]
    if not instead[i] and before ~= "." and before ~= "->" then
      local d = loop.inside.declares[word]
      if word == loop.variable and n > 0 then
        instead[i] = iterations.at(loop, i, n)
      elseif d and d.init then
        local text = kernel:source(d.init.first, d.init.last, words_of(loop, names, n, d.init))
        instead[i] = text:find "^[%w_]+$" and text or "(" .. text:gsub("%s+", " ") .. ")"
      end
    end
  end
  return instead
end

local function names_of(loop, list)
  local kernel, names, by_text, taken = loop.fn.kernel, {}, {}, {}
  for _, access in ipairs(list) do
    local text = kernel:plain(access.node)
    local same = by_text[text]
    local name = same and same.name or kernel:fresh(access.base .. "_early")
    while not same and taken[name] do name = kernel:fresh(name .. "_too") end
    taken[name] = true
    names[#names + 1] = { node = access.node, name = name, is_again = same ~= nil,
                          type = loop.fn:element_type(access) }
    by_text[text] = names[#names]
  end
  return names
end

-- The lines that make the loads of all iterations, each load's together.
local function load_lines(loop, names, factor)
  local kernel, lines = loop.fn.kernel, {}
  for i, load in ipairs(names) do
    local before, parts = table.move(names, 1, i - 1, 1, {}), {}
    for n = 0, load.is_again and -1 or factor - 1 do
      local text = kernel:source(load.node.first, load.node.last,
        words_of(loop, before, n, load.node)):gsub("%s+", " ")
      parts[#parts + 1] = ("%s_%d = %s"):format(load.name, n, text)
    end
    if #parts > 0 then
      lines[#lines + 1] = ("const %s %s;"):format(load.type, table.concat(parts, ", "))
    end
  end
  return lines
end

local function batched(loop, factor, all)
  local tokens, why = iterations.tokens(loop, factor, MOST_TOKENS)
  if not tokens then return nil, why end
  local list = loads(loop, all)
  if #list == 0 then return nil, "no load of an iteration can be made before the one before it" end
  if all and #list == #loads(loop, false) then return nil, "all its loads are certain" end
  local names = names_of(loop, list)
  return iterations.edits(loop, factor, {
    first = load_lines(loop, names, factor), most = MOST_TOKENS,
    instead = function(n) return words_of(loop, names, n) end,
  })
end

-- Is there anything behind which a load could not go? Else unrolling does as much. What is written
-- in shared memory the compiler knows to be none of what is loaded from elsewhere.
local function is_held(loop)
  local held = false
  for _, access in ipairs(loop.inside.accesses) do
    local d = access.base and loop.fn:declaration(access.base, access.token)
    held = held or access.write and not (d and #d.extents > 0)
  end
  for _, s in ipairs(loop.fn.statements) do
    local inside = loop.body.first <= s.first and s.last <= loop.body.last
    held = held or inside and (s.kind == "if" or s.kind == "continue")
  end
  return held
end

local batch = { name = "batch", twice = true, apart = true,
  doc = "The loads of several iterations before what these do." }

function batch.find(kernel)
  local list = {}
  for _, loop in ipairs(kernel:open_loops()) do
    for _, factor in ipairs(is_held(loop) and FACTORS or {}) do
      if batched(loop, factor) then
        list[#list + 1] = { line = loop.line, args = { tostring(factor) } }
      end
      if batched(loop, factor, true) then
        list[#list + 1] = { line = loop.line, args = { tostring(factor), "all" } }
      end
    end
  end
  return list
end

function batch.make(kernel, line, args)
  local factor, all = math.tointeger(tonumber(args[1])), args[2] == "all"
  if not factor or factor < 2 or factor > 32 or args[3] or args[2] and not all then
    return nil, "it is written batch<LINE>(ITERATIONS) or batch<LINE>(ITERATIONS,all), with 2 to 32"
  end
  return kernel:first_loop(line, function(loop)
    local edits, why = batched(loop, factor, all)
    if not edits then return nil, why end
    return { edits = edits, promise = all and PROMISE or nil,
      says = ("the loop at line %d loads for %d iterations at a time"):format(line, factor) }
  end)
end

-- ---- search -----------------------------------------------------------------------------------

local WIDTHS = { 4, 8, 16 }
local MOST_WIDTH = 70 -- of a condition on one line

local function last_of(s)
  if s.kind == "block" then return s.body[#s.body] and last_of(s.body[#s.body]) end
  return s
end

-- The condition on which a loop that does nothing else ends; nil and why there is none.
local function end_of(loop)
  local list = loop.body.kind == "block" and loop.body.body or { loop.body }
  local s, fn = list[1], loop.fn
  local last = s and s.kind == "if" and not s.otherwise and last_of(s.body)
  if #list ~= 1 or not last or not (last.kind == "break" or last.kind == "return") then
    return nil, "it does more than to look for what ends it"
  end
  local all = effects.of(fn, s.condition)
  if all.opaque or all.warp or all.barrier or next(all.writes) or #all.accesses == 0 then
    return nil, "what it looks for is not in memory, or not understood"
  end
  for _, access in ipairs(all.accesses) do
    if access.write or access.atomic or not access.root or not fn:element_type(access) then
      return nil, "what it looks at may change"
    end
  end
  return s.condition
end

-- Is a condition 0 or 1, so that `|` joins several?
local function is_truth(tree)
  return tree.kind == "binary" and (("< > <= >= == != && ||"):find(tree.op, 1, true) ~= nil)
end

-- The loop that asks for several at once, as text.
local function ahead_loop(loop, condition, width)
  local kernel, parts = loop.fn.kernel, {}
  for n = 0, width - 1 do
    local instead = {}
    for i = condition.first, n > 0 and condition.last or -1 do
      local before = kernel.words[i - 1]
      if kernel.words[i] == loop.variable and before ~= "." and before ~= "->" then
        instead[i] = iterations.at(loop, i, n)
      end
    end
    parts[#parts + 1] = (is_truth(condition) and "(" or "!!(")
      .. kernel:source(condition.first, condition.last, instead):gsub("%s+", " ") .. ")"
  end
  local text = table.concat(parts, " | ")
  if #text > MOST_WIDTH then
    text = table.concat(parts, "\n" .. kernel:indent(loop.statement.first) .. "        | ")
  end
  return { iterations.head(loop, width), "    if (" .. text .. ") break;" }
end

local function searched(loop, width)
  local condition, why = end_of(loop)
  if not condition then return nil, why end
  local kernel, s = loop.fn.kernel, loop.statement
  local unfit = iterations.unfit_head(loop)
  if unfit then return nil, unfit end
  if not loop.invariant or not loop.balanced or loop.writes_variable or loop.continues then
    return nil, "its variable or its bound change within"
  end
  for i = condition.first, condition.last do
    if kernel.macros[kernel.words[i]] then return nil, "its condition has a macro" end
  end
  local e, lines = edit.new(kernel), {}
  if loop.start then lines[1] = kernel:source(s.init.first, s.init.last) end
  for _, line in ipairs(ahead_loop(loop, condition, width)) do lines[#lines + 1] = line end
  lines[#lines + 1] = iterations.plain_loop(loop)
  local indent = kernel:indent(s.first)
  local text = table.concat(lines, "\n" .. indent)
  if loop.declares or not edit.is_listed(s) then
    text = "{\n" .. indent .. "    " .. text:gsub("\n", "\n    ") .. "\n" .. indent .. "}"
  end
  for _, pragma in ipairs(loop.pragmas) do e:replace(pragma.first, pragma.last, "") end
  e:replace(s.first, s.last, text)
  return e:lines()
end

local search = { name = "search", twice = true,
  doc = "A loop that looks for an element asks for several at once." }

function search.find(kernel) return kernel:loop_places(WIDTHS, searched) end

function search.make(kernel, line, args)
  local width = math.tointeger(tonumber(args[1]))
  if not width or width < 2 or width > 32 or args[2] then
    return nil, "it is written search<LINE>(ELEMENTS), with 2 to 32"
  end
  return kernel:first_loop(line, function(loop)
    local edits, why = searched(loop, width)
    if not edits then return nil, why end
    return { edits = edits, promise = PROMISE,
      says = ("the loop at line %d asks for %d elements at once"):format(line, width) }
  end)
end

return { batch, search }
