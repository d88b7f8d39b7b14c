-- sections: a kernel that computes two things which need nothing of each other is parted, and
-- blocks of their own do each, beside each other instead of one after the other (as OpenMP's
-- `sections`).
--
--   int c = …;                              int c = …;
--   if (c >= columns) return;               if (c >= columns) return;
--   float sum = 0;                          float sum = 0;
--   for (…) sum += a[…];                    if (blockIdx.z == 0) {
--   mean[c] = sum / rows;                     for (…) sum += a[…];
--   float m = 0;                              mean[c] = sum / rows;
--   for (…) m = max(m, a[…]);               } else {
--   most[c] = m;                              float m = 0;
--                                             for (…) m = max(m, a[…]);
--                                             most[c] = m;
--                                           }
--
-- Of a list of statements the first are done by all blocks: those that are cheap, and tell nobody
-- anything. Then come the two parts. Whole blocks go one way, so that barriers and shared memory
-- may be in each. Nothing in memory that one part writes may be touched by the other, in whichever
-- thread; no variable, and no element of shared memory, may go from the first part to the second,
-- nor may the second wait in the first, at a barrier, for what is done before both.
-- A loop whose body does two things is there twice, once in each part, and what stands behind it
-- goes where its variables are from.

local apart = require "gilua.facts.apart"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local order = require "gilua.facts.order"
local sides = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local threads = require "gilua.facts.threads"

local M = { name = "sections", first = true, apart = true,
  before = "axes coarsen merge merge_threads grid_stride warp_row",
  doc = "Two results that need nothing of each other, by blocks of their own each." }

local LAUNCH = "grid.z==1 grid.z=2"
local OF_GRID = { blockIdx = true, gridDim = true }
local BUILT_IN = { blockIdx = true, gridDim = true, threadIdx = true, blockDim = true,
  warpSize = true }
local LOOPS = { ["for"] = true, ["while"] = true, ["do"] = true }

local function slice(list, from, to) return table.move(list, from, to, 1, {}) end

local function append(list, more) return table.move(more, 1, #more, #list + 1, list) end

local function line_of(fn, s) return fn.kernel:line_of(s.first) end

--------------------------------------------------------------------------------------------------
-- Memory

-- The declaration of a block's own array, or a thread's, that an access is of; nil of any other.
local function own_array(fn, access)
  local d = access.root and fn:declaration(access.root, access.token)
  if not d or d.pointer > 0 or d.reference or #d.extents == 0 then return nil end
  local is_plain = access.indices and #access.indices <= #d.extents
    or not fn.kernel.words.types[d.type]
  return is_plain and d or nil
end

-- The memory that other blocks see too: { root (nil: any), read, write }. Variables of the file
-- are some of it.
local function outside(fn, inside)
  local list = {}
  for _, access in ipairs(inside.accesses) do
    if not own_array(fn, access) then
      local d = access.root and fn:declaration(access.root, access.token)
      local root = not (d and not d.parameter) and access.root or nil
      list[#list + 1] = { root = root, write = access.write }
    end
  end
  for _, names in ipairs { inside.reads, inside.writes } do
    for name, tokens in pairs(names) do
      local is_known = fn:declaration(name, tokens[1]) or BUILT_IN[name] or fn.kernel.macros[name]
      if not is_known then
        list[#list + 1] = { root = name, write = names == inside.writes }
      end
    end
  end
  return list
end

-- May what is written in one of two lists be touched in the other?
local function meets(fn, a, b)
  for _, one in ipairs(a) do
    for _, two in ipairs(b) do
      if (one.write or two.write) and apart.may_meet(fn, one, two) then return true end
    end
  end
  return false
end

local function writes(list)
  for _, access in ipairs(list) do
    if access.write then return true end
  end
  return false
end

--------------------------------------------------------------------------------------------------
-- What all blocks do

-- Does it call functions of the file, or go round?
local function is_long(fn, s)
  for _, call in ipairs(effects.of(fn, s).calls) do
    if fn.kernel.by_name[call.name or ""] then return true end
  end
  local found = false
  statement.walk(s, function(below) found = found or LOOPS[below.kind] or false end)
  return found
end

-- May all blocks do a statement: does it tell no other block anything, and take little?
local function is_common(fn, s)
  local all = effects.of(fn, s)
  return s.kind ~= "directive" and not is_long(fn, s) and not writes(outside(fn, all))
end

local function common_prefix(fn, list)
  local n = 0
  while list[n + 1] and is_common(fn, list[n + 1]) do n = n + 1 end
  return n
end

-- The lists of a kernel that may be parted: its own, and those below conditions at its end; with
-- what all blocks do before each.
local function lists(fn)
  local found, list, before = {}, fn.body.body, {}
  while list do
    local prefix = common_prefix(fn, list)
    found[#found + 1] = { list = list, before = before, prefix = prefix }
    local last = list[#list]
    local is_guard = last and last.kind == "if" and last.condition and not last.otherwise
      and last.body.kind == "block" and prefix >= #list - 1
      and not writes(outside(fn, effects.of(fn, last.condition)))
    before = is_guard and append(append(slice(before, 1, #before), slice(list, 1, #list - 1)),
      { last.condition })
    list = is_guard and last.body.body or nil
  end
  return found
end

--------------------------------------------------------------------------------------------------
-- What goes from one part to the other

-- The statements of a part, and all that it does.
local function part_of(fn, list)
  local part = { list = list, inside = effects.all(fn, list) }
  part.outside = outside(fn, part.inside)
  for _, s in ipairs(list) do part.is_long = part.is_long or is_long(fn, s) end
  return part
end

local function within(s, token) return s.first <= token and token <= s.last end

-- The name to which a statement gives a value first of all; and what it computes that of.
local function given(s)
  if s.kind == "for" then s = s.init or s end
  local tree = s.kind == "expression" and s.tree
  if tree and tree.kind == "assign" and tree.op == "=" then return tree.a, tree.b end
end

-- The tokens of a part that mean a variable, of its reads or its writes.
local function tokens_of(fn, names, d)
  local list = {}
  for _, token in ipairs(names[d.name] or {}) do
    if fn:declaration(d.name, token) == d then list[#list + 1] = token end
  end
  return list
end

-- Is a variable given a value in a part before anything there asks for it?
local function is_given(fn, part, d)
  local tokens, setter = tokens_of(fn, part.inside.reads, d), nil
  append(tokens, tokens_of(fn, part.inside.writes, d))
  table.sort(tokens)
  for _, s in ipairs(fn.statements) do
    local target, value = given(s)
    if target and target.kind == "name" and target.first == tokens[1]
      and not effects.of(fn, value).reads[d.name] then
      setter = setter or s
    end
  end
  local block = setter and setter.parent
  if block and block.kind == "for" then -- its init: what is behind the loop comes after it, too
    block = block.parent
  end
  return block ~= nil and block.kind == "block" and tokens[#tokens] <= block.last
    and not (block.parent and block.parent.kind == "switch")
end

-- The elements of an array are written in a part at one place, which is each thread's: its indices.
local function own_place(fn, part, d)
  local text
  for _, access in ipairs(part.inside.accesses) do
    if access.write and own_array(fn, access) == d then
      local words = {}
      for i, index in ipairs(access.indices or {}) do
        if not sides.of(fn, index) then return nil end
        words[i] = fn.kernel:plain(index)
      end
      text = text or table.concat(words, "][")
      if text ~= table.concat(words, "][") then return nil end
    end
  end
  return text
end

-- Does a part begin with an array by storing, in all threads, at a place that is each one's?
local function is_stored_first(fn, part, d, place)
  local first
  for _, access in ipairs(part.inside.accesses) do
    if own_array(fn, access) == d and (not first or access.token < first.token) then
      first = access
    end
  end
  for _, s in ipairs(part.list) do
    local target, value = nil, nil
    if s.kind == "expression" then target, value = given(s) end
    if target and first and target == first.node and within(s, first.token) then
      for _, access in ipairs(effects.of(fn, value).accesses) do
        if own_array(fn, access) == d or not access.root then return false end
      end
      local words = {}
      for i, index in ipairs(first.indices) do words[i] = fn.kernel:plain(index) end
      return #words == #d.extents and table.concat(words, "][") == place
    end
  end
  return false
end

-- The array that takes something from the first part to the second; nil: none.
local function array_between(fn, a, b)
  for _, one in ipairs(a.inside.accesses) do
    local d = one.write and own_array(fn, one)
    for _, two in ipairs(d and b.inside.accesses or {}) do
      if two.read and own_array(fn, two) == d then
        local place = own_place(fn, a, d)
        if not place or not is_stored_first(fn, b, d, place) then return d.name end
      end
    end
  end
end

-- The variable that takes something from the first part to the second, or is declared in the first
-- and used in the second; nil: none.
local function variable_between(fn, a, b)
  local first, last = a.list[1].first, a.list[#a.list].last
  for name, tokens in pairs(a.inside.writes) do
    for _, token in ipairs(tokens) do
      local d = fn:declaration(name, token)
      local asked = d and #tokens_of(fn, b.inside.reads, d) > 0
      local used = asked or d and #tokens_of(fn, b.inside.writes, d) > 0
      if used and first <= d.token and d.token <= last or asked and not is_given(fn, b, d) then
        return name
      end
    end
  end
end

-- Arrays and variables in shared memory that are used: whether they are written, by declaration.
local function shared_uses(fn, inside, into)
  for _, access in ipairs(inside.accesses) do
    local d = own_array(fn, access)
    if d and d.shared then into[d] = into[d] or access.write end
  end
  for _, names in ipairs { inside.reads, inside.writes } do
    for name, tokens in pairs(names) do
      local d = fn:declaration(name, tokens[1])
      if d and d.shared and #d.extents == 0 then into[d] = into[d] or names == inside.writes end
    end
  end
  return into
end

-- Does the second part use shared memory as all blocks left it, and wait for that in the first one?
local function waits_before(fn, common, a, b)
  local left = {}
  for _, s in ipairs(a.inside.barrier and common or {}) do
    if statement.is_barrier(s) then left = {} end
    shared_uses(fn, effects.of(fn, s), left)
  end
  for d, is_written in pairs(shared_uses(fn, b.inside, {})) do
    if left[d] ~= nil and (left[d] or is_written) then return true end
  end
  return false
end

-- Why two parts cannot be done beside each other, before which all blocks do `common`; nil where
-- they can.
local function bound(fn, common, a, b)
  local both = outside(fn, effects.all(fn, common))
  local name = array_between(fn, a, b) or variable_between(fn, a, b)
  if not writes(a.outside) or not writes(b.outside) then
    return "one part leaves nothing in memory"
  elseif not a.is_long and not b.is_long then
    return "neither part has a loop, or calls a function"
  elseif name then
    return ("the second part uses %s as the first one leaves it"):format(name)
  elseif waits_before(fn, common, a, b) then
    return "the second part needs what the first one waits for"
  elseif meets(fn, a.outside, b.outside) then
    return "one part may use memory that the other writes"
  elseif meets(fn, both, a.outside) or meets(fn, both, b.outside) then
    return "both parts need what one of them writes to"
  end
end

--------------------------------------------------------------------------------------------------
-- Kernels

local function unfit(fn)
  if not fn.is_entry or not fn.body then return "it is in no kernel that is launched" end
  local all, uses = effects.of(fn, fn.body), threads.uses(fn)
  local grid = #uses.blockIdx.z > 0 and "blockIdx.z" or #uses.gridDim.z > 0 and "gridDim.z"
    or OF_GRID[uses.whole or ""] and uses.whole or uses.grid
  local hidden = threads.hidden(fn, OF_GRID)
  if hidden then return hidden end
  if grid then return ("it uses %s"):format(grid) end
  if all.opaque then return "it does what is not understood" end
  if all.conditional or all["goto"] or all.label then return "it has an #if or a goto" end
  if order.is_waited_for(fn, all) then return "other threads may wait for what it does" end
end

--------------------------------------------------------------------------------------------------
-- A list in two

-- How many of a list's first statements all blocks do, where the first part ends at `last`: not
-- those that load what it writes, unless they have to.
local function shared_prefix(fn, of, last)
  local from = math.min(of.prefix, last)
  local made = outside(fn, effects.all(fn, slice(of.list, from + 1, last)))
  for n = 1, from do
    if meets(fn, outside(fn, effects.of(fn, of.list[n])), made) then return n - 1 end
  end
  return from
end

-- The parts of a list before its statement of that number and from it on: { first (the number of
-- the first part's first statement), last }; nil and why there are none.
local function parted(fn, of, number)
  local list, last = of.list, number - 1
  while last > 0 and list[last].kind == "directive" do last = last - 1 end
  local from = shared_prefix(fn, of, last)
  if from == last then return nil, "nothing stands before it but what both parts do" end
  local a, b = part_of(fn, slice(list, from + 1, last)), part_of(fn, slice(list, last + 1, #list))
  if a.inside["return"] then return nil, "the first part may leave the kernel" end
  for _, s in ipairs(a.list) do
    if s.kind == "type" then return nil, "the first part declares a type" end
  end
  local why = bound(fn, append(slice(of.before, 1, #of.before), slice(list, 1, from)), a, b)
  if why then return nil, why end
  return { first = from + 1, last = last }
end

-- Moves in what stands on the lines of statements, the first of which is moved in already where it
-- is told so.
local function deepen(state, first, last, is_in)
  local kernel, e = state.fn.kernel, state.e
  if not is_in and kernel:begins_line(first) then e:before(first, state.unit) end
  state.deeper[#state.deeper + 1] = e:deepen(first, last, state.unit)
end

-- Moves in the lines between two tokens, comments.
local function deepen_between(state, one, other)
  local kernel = state.fn.kernel
  local from, to = kernel:line_of(one) + 1, kernel:line_of(other) - 1
  if from <= to then table.insert(state.deeper, { from, to, #state.unit }) end
end

-- The end of what stands up to a token, on a line of its own.
local function close(state, stop, indent)
  local kernel = state.fn.kernel
  if kernel:begins_line(stop + 1) then
    state.e:lead(stop + 1, indent .. "}\n" .. kernel:indent(stop + 1))
  else
    state.e:after(stop, "\n" .. indent .. "}")
  end
end

local QUESTION = "if (blockIdx.z == 0) {\n"

local function state_of(fn)
  return { fn = fn, e = edit.new(fn.kernel), unit = edit.unit(fn), deeper = {} }
end

local function change_of(state, says)
  local edits = state.e:lines()
  if not edits then return nil, "two changes overlap" end
  return { edits = edits, launch = LAUNCH, indent = state.deeper, says = says }
end

local function write_list(fn, of, plan)
  local kernel, list, state = fn.kernel, of.list, state_of(fn)
  local first, last = list[plan.first].first, list[plan.last].last
  local second, stop = list[plan.last + 1].first, list[#list].last
  local at = plan.first
  while list[at].kind == "directive" do at = at + 1 end
  local e, indent = state.e, kernel:indent(list[at].first)
  e:lead(first, indent .. QUESTION .. indent .. state.unit)
  deepen(state, first, last, true)
  e:after(last, "\n" .. indent .. "} else {")
  deepen_between(state, last, second)
  deepen(state, second, stop)
  close(state, stop, indent)
  return change_of(state, ("blocks of z = 0 do what is before line %d, others what is from there "
    .. "on"):format(kernel:line_of(second)))
end

--------------------------------------------------------------------------------------------------
-- A loop in two

-- How many of a loop's first statements only declare what an iteration needs.
local function declaring_prefix(fn, body)
  local n = 0
  for i, s in ipairs(body) do
    if s.kind ~= "declaration" or not is_common(fn, s) then break end
    n = i
  end
  return n
end

local function uses_of(fn, inside)
  local used = {}
  for _, names in ipairs { inside.reads, inside.writes } do
    for name, tokens in pairs(names) do
      used[fn:declaration(name, tokens[1]) or name] = true
    end
  end
  return used
end

local function written_in(fn, inside, into)
  for name, tokens in pairs(inside.writes) do
    into[fn:declaration(name, tokens[1]) or name] = true
  end
  for _, access in ipairs(inside.accesses) do
    local d = access.write and own_array(fn, access)
    if d then into[d] = true end
  end
  return into
end

local function has_any(set, of)
  for key in pairs(set) do
    if of[key] then return true end
  end
  return false
end

-- Gives the statements behind a loop to the parts whose variables they use: two lists; nil and why
-- they cannot be.
local function share_out(fn, list, from, one, other)
  local made = { written_in(fn, one, {}), written_in(fn, other, {}) }
  local given_to = { {}, {} }
  for i = from, #list do
    local s = list[i]
    local inside = effects.of(fn, s)
    local used = uses_of(fn, inside)
    local first, second = has_any(used, made[1]), has_any(used, made[2])
    if first and second then
      return nil, ("line %d needs what both parts make"):format(line_of(fn, s))
    elseif s.kind == "directive" or s.kind == "type" or inside.barrier or inside.warp
      or inside["return"] then
      return nil, ("line %d is of both parts"):format(line_of(fn, s))
    end
    local part = first and 1 or 2
    table.insert(given_to[part], s)
    written_in(fn, inside, made[part])
  end
  return given_to
end

-- Do both touch an array, or a variable, that one of them writes?
local function shares(fn, a, b)
  if order.shares_variable(fn, a.inside, b.inside) then return true end
  for _, one in ipairs(a.inside.accesses) do
    local d = own_array(fn, one)
    for _, two in ipairs(d and b.inside.accesses or {}) do
      if (one.write or two.write) and own_array(fn, two) == d then return true end
    end
  end
  return false
end

-- Does a part change what statements ask for that both parts do in each iteration?
local function changes(fn, part, asking)
  for name, tokens in pairs(part.inside.writes) do
    for _, token in ipairs(tokens) do
      local d = fn:declaration(name, token)
      if d and #tokens_of(fn, asking.reads, d) > 0 then return true end
    end
  end
  for _, one in ipairs(part.inside.accesses) do
    local d = one.write and own_array(fn, one)
    for _, two in ipairs(d and asking.accesses or {}) do
      if own_array(fn, two) == d then return true end
    end
  end
  return false
end

-- The parts of a loop in a list, cut before that statement of its body: { declaring (how many
-- statements of the body are in both), cut, one, other (what stands behind it) }.
local function loop_parted(fn, of, at, cut)
  local loop = of.list[at].loop
  local body = loop.body.body
  local before = at - 1 - #loop.pragmas
  if not order.is_plain(loop) then return nil, "the loop does more than count through its body" end
  if of.prefix < before then return nil, "something is done before the loop" end
  local declaring = math.min(declaring_prefix(fn, body), cut - 1)
  if cut - 1 <= declaring then return nil, "the first part does nothing" end
  for i = 1, #body do
    if body[i].kind == "directive" or body[i].kind == "type" then
      return nil, "the loop's body has a directive"
    end
  end
  local a, b = slice(body, declaring + 1, cut - 1), slice(body, cut, #body)
  local behind, why = share_out(fn, of.list, at + 1, effects.all(fn, a), effects.all(fn, b))
  if not behind then return nil, why end
  local one, other = part_of(fn, append(a, behind[1])), part_of(fn, append(b, behind[2]))
  one.is_long, other.is_long = true, true
  local asking = effects.all(fn, slice(body, 1, declaring))
  if shares(fn, one, other) or changes(fn, one, asking) or changes(fn, other, asking) then
    return nil, "one part uses a variable that the other changes"
  end
  local head = loop.statement
  local common = append(slice(of.before, 1, #of.before), slice(of.list, 1, before))
  for _, tree in ipairs { head.condition, head.step, loop.start or nil } do
    common[#common + 1] = tree
  end
  why = bound(fn, append(common, slice(body, 1, declaring)), one, other)
  if why then return nil, why end
  return { declaring = declaring, cut = cut, one = behind[1], other = behind[2] }
end

local function write_loop(fn, of, at, plan)
  local kernel, state, s = fn.kernel, state_of(fn), of.list[at]
  local loop, body, e, unit = s.loop, s.loop.body.body, state.e, state.unit
  local first = (loop.pragmas[1] or s).first
  local indent = kernel:indent(s.first)
  local inner, lines = indent .. unit, { "}" }
  for _, own in ipairs(plan.one) do
    lines[#lines + 1] = (kernel:source(own.first, own.last):gsub("\n", "\n" .. unit))
    e:remove(own.first, own.last)
  end
  lines[#lines + 1] = false
  for _, pragma in ipairs(loop.pragmas) do
    lines[#lines + 1] = kernel:source(pragma.first, pragma.last)
  end
  lines[#lines + 1] = kernel:source(s.first, s.header[4]) .. " {"
  local text = ""
  for _, line in ipairs(lines) do
    text = text .. "\n" .. (line and inner .. line or indent .. "} else {")
  end
  for i = 1, plan.declaring do
    text = text .. "\n" .. inner .. unit .. kernel:source(body[i].first, body[i].last)
  end
  local last, second = body[plan.cut - 1].last, body[plan.cut].first
  e:lead(first, indent .. QUESTION .. inner)
  deepen(state, first, last, true)
  e:after(last, text)
  deepen_between(state, last, second)
  deepen(state, second, s.last)
  for _, other in ipairs(plan.other) do deepen(state, other.first, other.last) end
  close(state, of.list[#of.list].last, indent)
  return change_of(state, ("blocks of z = 0 do what is before line %d in each iteration, others "
    .. "what is from there on"):format(kernel:line_of(second)))
end

--------------------------------------------------------------------------------------------------
-- The transformation

-- Calls try(line, plan, write) for each place of a kernel where it may be cut; plan() is the plan
-- or nil and why there is none, write(plan) the change. Ends where that returns true.
local function each_cut(fn, try)
  for _, of in ipairs(lists(fn)) do
    for number, s in ipairs(of.list) do
      if number > 1 and s.kind ~= "directive" and try(line_of(fn, s),
        function() return parted(fn, of, number) end,
        function(plan) return write_list(fn, of, plan) end) then
        return
      end
      local body = s.loop and s.loop.body.kind == "block" and s.loop.body.body or {}
      for cut = 2, #body do
        if try(line_of(fn, body[cut]), function() return loop_parted(fn, of, number, cut) end,
          function(plan) return write_loop(fn, of, number, plan) end) then
          return
        end
      end
    end
  end
end

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    local is_open = fn.is_entry and kernel:is_open(fn.line, fn.last_line) and not unfit(fn)
    local seen = {}
    for _, of in ipairs(is_open and { fn } or {}) do
      each_cut(of, function(line, plan)
        if not seen[line] and plan() then
          seen[line] = true
          list[#list + 1] = { line = line, args = {} }
        end
      end)
    end
  end
  return list
end

function M.make(kernel, line, args)
  if args[1] then return nil, "it is written sections<LINE>()" end
  local why, change
  for _, fn in ipairs(kernel.functions) do
    local is_there = fn.line <= line and line <= fn.last_line
    why = is_there and (why or unfit(fn)) or why
    if is_there and not unfit(fn) then
      each_cut(fn, function(at, plan, write)
        if at ~= line then return false end
        local made, reason = plan()
        if made then change, reason = write(made) end
        why = why or reason
        return change ~= nil
      end)
    end
  end
  if change then return change end
  return nil, why or "no statement of a kernel's list, or of a loop's in it, begins there"
end

return M
