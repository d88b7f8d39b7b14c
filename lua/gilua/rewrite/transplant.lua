--- transplant: code transplantation (a part of another function, under the names of the place)
--
-- where     statements and calls
-- needs     borrowed
-- becomes   a part of another kernel, a device function, or a donor's file stands there
-- promises  nothing
--
--   T:transplant<17>(halves:31-35)            instead of the statement at line 17, those that the
--                                             function halves has at lines 31 to 35
--   T:transplant<17>(fast.cu:31@6f1c9a,before)   before it, of a donor that has this text
--   …,condition   instead of the condition at line 17; …,value of the value that is assigned there
--   …,call        a call at line 17 is of the function at that line
--
-- Its variables become those of the place that have the same type and are used most alike. Nothing
-- says that it means the same: answers do. (The wish for code from other programs is in Langdon and
-- Harman's UCL RN/14/02, section 12.)

local borrowed = require "gilua.facts.borrowed"
local edit = require "gilua.rewrite.edit"
local parts = require "gilua.rewrite.donor_parts"
local settings = require "gilua.base.settings"
local statement = require "gilua.source.statement"
local uses = require "gilua.facts.uses"

local set = settings.set

local MOST_LINES = 1000 -- of places
local MOST_OF_LINE = { instead = 6, before = 2, condition = 2, value = 2, call = 3 }
local MOST_FOUND = 64
local WAYS = { "instead", "before", "condition", "value", "call" }

-- ---- places -----------------------------------------------------------------------------------

local REPLACED = set "expression if for while do"

-- Does a way take a statement?
local function takes(kernel, way, s)
  if parts.TREES[way] then return parts.TREES[way](s) ~= nil end
  if way == "call" then return s.kind ~= "block" and s.kind ~= "directive" end
  if not kernel:begins_line(s.first) then return false end
  return REPLACED[s.kind] and (way == "instead" or edit.is_listed(s))
    or way == "before" and s.kind == "declaration" and edit.is_listed(s)
end

-- For each line of a function that evolves, and each way, the first statement that it takes; all of
-- those at which calls may be.
local function places(kernel)
  local list, seen, lines = {}, {}, 0
  for _, fn in ipairs(kernel.functions) do
    for _, s in ipairs((fn.kind == "device" or fn.is_entry) and fn.statements or {}) do
      local line = kernel:line_of(s.first)
      if not seen[line] then lines = lines + 1 end
      seen[line] = true
      for _, way in ipairs(lines <= MOST_LINES and WAYS or {}) do
        if not seen[way .. line] and takes(kernel, way, s) then
          seen[way .. line] = way ~= "call" or nil
          list[#list + 1] = { fn = fn, s = s, way = way, line = line, from = fn.line,
            last = fn.last_line }
        end
      end
    end
  end
  for _, at in ipairs(list) do at.lines = lines end
  return list
end

-- ---- calls ------------------------------------------------------------------------------------

local NO_TYPE = set("__device__ __host__ __forceinline__ __noinline__ static inline constexpr "
  .. "extern const volatile")

-- What a function returns and takes, as a text.
local function signature(fn)
  if fn.signature then return fn.signature end
  local words, list = fn.kernel.words, {}
  for i = fn.first, fn.head - 2 do
    if words.kind[i] == "name" and not NO_TYPE[words[i]] or words[i] == "*" then
      list[#list + 1] = words[i]
    end
  end
  local result = { table.concat(list, " ") }
  for i, p in ipairs(fn.params) do
    result[i + 1] = ("%s%s%s%s"):format(p.target_const and "const " or "", uses.type(fn, p),
      ("*"):rep(p.pointer), p.reference and "&" or "")
  end
  fn.signature = table.concat(result, ",")
  return fn.signature
end

-- The calls of a statement of functions that have this signature: nodes, and functions.
local function calls_of(kernel, s, wanted)
  local list = {}
  statement.nodes({ s }, function(node)
    local name = node.kind == "call" and node.callee.kind == "name" and node.callee.text
    local fn = name and not node.callee.template and kernel.by_name[name]
    if fn and fn.kind == "device" and signature(fn) == wanted then
      list[#list + 1] = { node = node, fn = fn }
    end
  end)
  return list
end

-- What a function needs to be called from another; nil and why it cannot be.
local function callable(fn, other)
  if other == fn then return nil, "it would call itself" end
  local is_template = other.kernel.words[other.first] == "template"
  if is_template then return nil, other.name .. " is a template" end
  return borrowed.needs(fn, other, { other.name })
end

-- The calls that become those of a donor's function: { calls, fn }; nil and why none do.
local function calls_at(at, spec)
  local fns, why = parts.functions(at.kernel, spec)
  if not fns then return nil, why end
  for _, fn in ipairs(fns) do
    if fn.line == spec.first and fn.kind == "device" and fn.body then
      local calls = calls_of(at.kernel, at.s, signature(fn))
      if #calls == 0 then return nil, "no call there is of a function with the same parameters" end
      for _, call in ipairs(calls) do
        if call.fn ~= fn then return { calls = calls, fn = fn, was = call.fn.name } end
      end
      return nil, "it is called there already"
    end
  end
  return nil, ("no device function begins at line %d of %s"):format(spec.first, spec.name)
end

-- ---- needs ------------------------------------------------------------------------------------

-- May what leaves a part leave this place? false and why not.
local function may_leave(part, fn, s)
  if part.jumps and not statement.is_in_loop(s) then
    return false, "it leaves a loop, and there is none"
  elseif part.returns and not (fn.kind == "kernel" and part.fn.kind == "kernel") then
    return false, "it returns from a kernel"
  end
  return true
end

local function part_of(at)
  if at.way == "call" then return calls_at(at, at[2]) end
  local part, why = parts.at(at.kernel, at[2], at.way)
  if part and part.fn == at.fn then return nil, "it is of the same function" end
  return part, why
end

local function can_leave(at)
  if at.way == "call" then return true end
  return may_leave(at.part, at.fn, at.s)
end

local function fit_of(at)
  if at.way == "call" then return callable(at.fn, at.part.fn) end
  return borrowed.fit(at.part, at.fn, borrowed.known_at(at.fn, edit.beginning(at.s)))
end

-- ---- edits ------------------------------------------------------------------------------------

local DEEPER = "    " -- of what stands on its function's own level

-- The text of statements; in braces of their own where they declare, or one was alone.
local function run_text(at, indent)
  local nodes, needs_braces = at.part.nodes, #at.part.nodes > 1 and not edit.is_listed(at.s)
  for _, s in ipairs(nodes) do needs_braces = needs_braces or s.kind == "declaration" end
  if not needs_braces then return borrowed.text(at.part, at.fit, indent) end
  local level = at.fn.body.body[1] and at.kernel:indent(at.fn.body.body[1].first) or ""
  local inner = indent .. (level ~= "" and level or DEEPER)
  return ("{\n%s%s\n%s}"):format(inner, borrowed.text(at.part, at.fit, inner), indent)
end

-- "a as b, c as d", of those that have another name.
local function as(part, fit)
  local list = {}
  for _, d in ipairs(part.free) do
    if fit.names[d] ~= d.name then list[#list + 1] = d.name .. " as " .. fit.names[d] end
  end
  return #list > 0 and ", with " .. table.concat(list, ", ") or ""
end

local SAYS = {
  instead = "instead of the statement at line %d comes %s of %s%s",
  before = "before line %d comes %s of %s%s",
  condition = "the condition at line %d is that of %s of %s%s",
  value = "the value at line %d is that of %s of %s%s",
}

local function named(spec, fn)
  return spec.is_file and ("%s in %s"):format(fn.name, spec.name) or fn.name
end

local function put_part(at, e)
  local spec, s = at[2], at.s
  local tree = parts.TREES[at.way] and parts.TREES[at.way](s)
  local first, indent = edit.beginning(s), at.kernel:indent(s.first)
  if tree then
    local text = borrowed.text(at.part, at.fit, ""):gsub("%s+", " ")
    local is_loose = tree.parens and not at.part.tree.parens
    e:replace(tree.first, tree.last, is_loose and "(" .. text .. ")" or text)
  elseif at.way == "before" then
    e:before(first, run_text(at, indent) .. "\n" .. indent)
  else
    e:replace(first, s.last, run_text(at, indent))
  end
  local lines = spec.last > spec.first and ("lines %d to %d"):format(spec.first, spec.last)
    or ("line %d"):format(spec.first)
  return SAYS[at.way]:format(at.line, lines, named(spec, at.part.fn), as(at.part, at.fit))
end

local function put_calls(at, e)
  local fn = at.part.fn
  local name = at.fit.renamed[fn.name] or fn.name
  for _, call in ipairs(at.part.calls) do
    local callee = call.node.callee
    if call.fn ~= fn then e:replace(callee.first, callee.last, name) end
  end
  return ("line %d calls %s instead of %s"):format(at.line, named(at[2], fn), at.part.was)
end

local function becomes(at, e)
  local says = (at.way == "call" and put_calls or put_part)(at, e)
  local before = borrowed.before(at.fit)
  for _, text in ipairs(before) do e:before(at.fn.first, text .. "\n\n") end
  return says, { alone = #before > 0 or nil }
end

-- ---- proposals --------------------------------------------------------------------------------

-- Functions that could be called in the place of others.
local function callables(at)
  local list = {}
  for _, source in ipairs(parts.sources(at.kernel)) do
    local other = source.fn
    local calls = other.kind == "device" and calls_of(at.kernel, at.s, signature(other)) or {}
    if calls[1] and calls[1].fn ~= other and callable(at.fn, other)
      and #list < MOST_OF_LINE.call then
      list[#list + 1] = { text = parts.named(source, other.line, other.line), score = 2,
        order = math.maxinteger }
    end
  end
  return list
end

local function proposed(at)
  local list = at.way == "call" and callables(at)
    or parts.best(at, at.lines, MOST_OF_LINE[at.way], may_leave)
  for i, one in ipairs(list) do
    list[i] = { one.text, at.way ~= "instead" and at.way or nil, score = one.score,
      order = one.order }
  end
  return list, #list == 0 and "no part of another function suits it" or nil
end

-- The likeliest of all, by their lines.
local function likeliest(list)
  for _, one in ipairs(list) do one.score, one.order = one.args.score, one.args.order end
  table.sort(list, parts.by_score)
  list = table.move(list, 1, math.min(MOST_FOUND, #list), 1, {})
  table.sort(list, function(a, b)
    if a.line ~= b.line then return a.line < b.line end
    return parts.by_score(a, b)
  end)
  return list
end

local USAGE = "it is written (FUNCTION:LINE) or (FILE:FIRST-LAST@HASH), with before, condition, "
  .. "value or call behind a comma"

local function read(args)
  local spec, way = parts.spec(args[1]), args[2] or "instead"
  if not spec or not MOST_OF_LINE[way] or args[2] == "instead" or #args > 2 then
    return nil, USAGE
  end
  return { way, spec }
end

-- Why a gene is none here, though it is written well: its donor is gone, or is another text.
local function refuses(gene, donors)
  local spec = parts.spec(gene.args[1])
  if not spec or not spec.is_file then return nil end
  if not donors then return "there are no donors here" end
  local _, why = donors:find(spec.name, spec.hash)
  return why
end

return { name = "transplant", where = places, set = "statements and calls", judged = true,
  donated = true, refuses = refuses, named = "way", args = proposed, read = read,
  best = likeliest, none = "no statement there can have one of another function",
  doc = "A part of another function, under the names of the place.",
  needs = {
    { "borrowed", part_of, gives = "part" },
    { "borrowed", can_leave },
    { "borrowed", fit_of, gives = "fit" },
  },
  becomes = becomes,
}
