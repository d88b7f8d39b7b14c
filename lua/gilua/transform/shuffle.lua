--- shuffle: elements that all lanes of a warp read in a loop are loaded for 32 iterations at once,
-- by a lane each, and handed out by shuffles.
--
--   int k = 0;
--   if (__activemask() == 0xffffffffu) {
--     const int lane = threadIdx.x % 32;
--     for (; k + 31 < n; k += 32) {
--       const float x_lane = x[k + lane];
--       #pragma unroll
--       for (int step = 0; step < 32; step++) {
--         const float x_k = __shfl_sync(0xffffffffu, x_lane, step);
--         sum += x_k * a[(k + step) * m + i];
--       }
--     }
--   }
--   for (; k < n; k++) sum += x[k] * a[k * m + i];
--
-- Warps of which some lanes are elsewhere, behind a condition that does not hold for them or at the
-- end of a block, do the loop as it was; so nothing around the loop changes. What is the same for
-- the block is the same for the lanes, or, with `row`, what is the same for those threads that
-- differ by threadIdx.x alone, in blocks whose rows are whole warps. threadIdx.x / 32 is too.

local edit = require "gilua.rewrite.edit"
local elements = require "gilua.rewrite.elements"
local elsewhere = require "gilua.rewrite.elsewhere"
local expression = require "gilua.source.expression"
local forms = require "gilua.facts.forms"
local guarded = require "gilua.rewrite.guarded"
local iterations = require "gilua.rewrite.iterations"
local loop_of = require "gilua.facts.loop"
local settings = require "gilua.base.settings"
local sides_of = require "gilua.facts.sides"
local statement = require "gilua.source.statement"
local types = require "gilua.facts.types"

local LANES = 32
local MASK = "0xffffffffu"
local MOST_UNROLLED = 160 -- tokens of a body of which there are 32 then
-- Sides by which the lanes of a warp do not differ in blocks whose rows are whole warps.
local ROW = { y = true, z = true }

-- ---- what lanes have in common ------------------------------------------------------------------

-- A tree divided by 32; nil of any other.
local function divided(fn, tree)
  local by = tree.kind == "binary" and sides_of.value(fn, tree.b)
  local divides = by and (tree.op == "/" and by == LANES or tree.op == ">>" and 2 ^ by == LANES)
  return divides and tree.a or nil
end

-- Does 32 divide what a tree is into warps: the number of a thread, in its block or in the grid?
-- Second result: where 32 divides blockDim.x alone.
local function is_thread(fn, tree)
  local form, used = forms.of(fn, tree, {}), sides_of.used(fn)
  local asks = used.y or used.z or false
  if not form or form["threadIdx.x"] ~= 1 then return false, asks end
  for monomial, n in pairs(form) do
    local is_length = monomial == "blockDim.x*blockIdx.x"
    local is_whole = monomial == "" and n >= 0 and n % LANES == 0
    if monomial ~= "threadIdx.x" and not is_length and not is_whole then return false, asks end
    asks = asks or is_length
  end
  return true, asks
end

-- The names that are the same for all lanes of a warp; second result: where 32 divides blockDim.x.
local function of_warps(fn)
  local names, asks = {}, false
  for _, name in ipairs(settings.keys(fn.variables)) do
    local d = sides_of.kept(fn, name)
    local tree = d and d.init and not d.parameter and divided(fn, d.init)
    local is_one, is_asked = false, false
    if tree then is_one, is_asked = is_thread(fn, tree) end
    if is_one then names[name], asks = true, asks or is_asked end
  end
  return names, asks
end

-- The names that are the same for all lanes that are at a loop, by what is around it.
local function of_place(loop, free)
  local uniform, asks = of_warps(loop.fn)
  local around, s = {}, loop.statement
  while s.parent do
    s = s.parent
    if s.kind == "for" then table.insert(around, 1, s) end
  end
  for _, one in ipairs(around) do
    if not guarded.parts(loop.fn, one, uniform, free) then uniform[one.loop.variable] = true end
  end
  return uniform, asks
end

-- ---- which elements -----------------------------------------------------------------------------

local PARTS = settings.set("float double int uint long ulong longlong ulonglong short ushort char "
  .. "uchar")

-- How many members, x to w, an element has: none of a number; nil of what shuffles do not take. Of
-- a type that comes from elsewhere it is taken for a number, unless somebody asks for a member.
local function members(kernel, access, type)
  local real = types.plain(types.resolved(kernel, type))
  local of, n = real:match "^(%l+)([1-4])$"
  if of and PARTS[of] then return math.tointeger(tonumber(n)) end
  local has_parts = kernel.words.types[real] or real:find "[<:]"
    or kernel.words[access.node.last + 1] == "."
  return not has_parts and 0 or nil
end

local function differs(sides) return sides.x ~= nil end

-- Is it a number that is equal to another one, or to 0?
local function is_equal(tree)
  if tree.kind == "binary" then return tree.op == "==" end
  local of = tree.kind == "unary" and tree.op == "!" and tree.a
  return of and not (of.kind == "binary" and ("< > <= >= == != && ||"):find(of.op, 1, true))
end

-- Does a condition hold for one value of what lanes have their own of?
local function is_of_one(fn, condition)
  for _, part in ipairs(condition and expression.parts(condition, "&&", {}) or {}) do
    local sides = is_equal(part) and sides_of.of(fn, part, (of_warps(fn)))
    if sides and differs(sides) then return true end
  end
  return false
end

-- Does one lane alone come to a statement?
local function is_alone(fn, s)
  while s.parent do
    local above = s.parent
    local is_below = above.kind == "if" and above.body == s
    if is_below and is_of_one(fn, above.condition) then return true end
    s = above
  end
  return false
end

-- What lanes hand out in a loop: elements, and whether 32 has to divide blockDim.x; nil and why
-- nothing.
local function found(loop, row)
  if loop.fn.kind ~= "kernel" then return nil, "it is in no kernel" end
  local why = elements.refusal(loop)
  if why then return nil, why end
  if is_alone(loop.fn, loop.statement) then return nil, "one lane of a warp alone comes to it" end
  local free = row and ROW or {}
  local uniform, asks = of_place(loop, free)
  if not elements.is_same(loop, uniform, free) then
    return nil, "lanes go through it from and to different places"
  end
  local list = elements.of(loop, uniform, differs, function(access, type, sides)
    local n = sides_of.is_within(sides, free) and members(loop.fn.kernel, access, type)
    return n and { members = n } or nil
  end)
  if #list == 0 then return nil, "no element in it is one that all lanes of a warp read" end
  if not elements.is_long(loop, LANES) then return nil, "it has fewer than 32 iterations" end
  return list, row or asks
end

-- ---- what is made of them -----------------------------------------------------------------------

-- The members of an element that are asked for, in order; nil where all of it is.
local function asked(kernel, el)
  local set = {}
  for _, node in ipairs(el.nodes) do
    if kernel.words[node.last + 1] ~= "." then return ("xyzw"):sub(1, el.members) end
    set[kernel.words[node.last + 2]] = true
  end
  return (("xyzw"):gsub(".", function(name) return set[name] and name or "" end))
end

-- The lines that give all lanes an element of one.
local function handed(kernel, el, step)
  local function of(member)
    return ("__shfl_sync(%s, %s%s, %s)"):format(MASK, el.lane, member, step)
  end
  if el.members == 0 then return { ("const %s %s = %s;"):format(el.type, el.name, of "") } end
  local lines = { ("%s %s;"):format(el.type, el.name) }
  for member in asked(kernel, el):gmatch "." do
    lines[#lines + 1] = ("%s.%s = %s;"):format(el.name, member, of("." .. member))
  end
  return lines
end

-- The lines by which a lane loads.
local function loads(loop, list, lane)
  local names = elsewhere.names(loop.fn, {
    [loop.variable] = ("(%s)"):format(iterations.ahead(loop, lane)) })
  local lines, before = {}, {}
  for _, el in ipairs(list) do
    local text = elements.elsewhere(loop, el, names, before)
    lines[#lines + 1] = ("const %s %s = %s;"):format(el.type, el.lane, text)
  end
  return table.move(lines, 1, #lines, #before + 1, before)
end

-- The body as lines, without its braces.
local function body_lines(loop, instead)
  local kernel, body = loop.fn.kernel, loop.body
  local list = body.kind == "block" and body.body or { body }
  local first, last = list[1].first, list[#list].last
  local lines = elements.split(loop, kernel:source(first, last, instead))
  local deeper = kernel:begins_line(first)
    and kernel:indent(first):sub(#kernel:indent(loop.statement.first) + 1) or ""
  for i = 2, #lines do
    if lines[i]:sub(1, #deeper) == deeper then lines[i] = lines[i]:sub(#deeper + 1) end
  end
  return lines
end

-- Is a body short enough to be there 32 times?
local function is_short(loop)
  local has_loop = false
  statement.walk(loop.body, function(s) has_loop = has_loop or s.loop ~= nil end)
  return not has_loop and loop.body.last - loop.body.first < MOST_UNROLLED
end

local function shuffled(loop, list, o)
  local kernel, put = loop.fn.kernel, elements.put
  local instead = {}
  for _, token in ipairs(loop_of.variable_tokens(loop, loop.body)) do
    instead[token] = iterations.at(loop, token, o.step)
  end
  for _, el in ipairs(list) do
    for _, node in ipairs(el.nodes) do instead[node.first] = { el.name, node.last } end
  end
  local lines = { kernel:source(loop.statement.init.first, loop.statement.init.last),
    ("if (__activemask() == %s) {"):format(MASK),
    ("\1const int %s = %s %% %d;"):format(o.lane, o.thread, LANES),
    "\1" .. iterations.head(loop, LANES) .. " {" }
  put(lines, loads(loop, list, o.lane), "\1\1")
  if is_short(loop) then lines[#lines + 1] = "\1\1#pragma unroll" end
  lines[#lines + 1] = ("\1\1for (int %s = 0; %s < %d; %s++) {"):format(o.step, o.step, LANES,
    o.step)
  for _, el in ipairs(list) do put(lines, handed(kernel, el, o.step), "\1\1\1") end
  put(lines, body_lines(loop, instead), "\1\1\1")
  put(lines, { "\1\1}", "\1}", "}" }, "")
  return put(lines, elements.split(loop, iterations.plain_loop(loop)), "")
end

-- Which of its warp's lanes a thread is, and what that asks of the launch.
local function lane_of(fn, is_whole)
  if is_whole then return "threadIdx.x", ("block.x%%%d"):format(LANES) end
  local thread, _, launch = elements.block_of(sides_of.used(fn))
  return thread:find "^%w+%.x$" and thread or "(" .. thread .. ")", launch
end

local function made(loop, row)
  local list, is_whole = found(loop, row)
  if not list then return nil, is_whole end
  local kernel, names = loop.fn.kernel, loop.fn.kernel:names()
  local thread, launch = lane_of(loop.fn, is_whole)
  for _, el in ipairs(list) do
    el.lane, el.name = names(el.base .. "_lane"), names(el.base .. "_" .. loop.variable)
  end
  local o = { thread = thread, lane = names "lane", step = names "step" }
  local e = edit.new(kernel)
  elements.stand_in(loop, shuffled(loop, list, o), e, loop.declares)
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  return { edits = edits, launch = launch ~= "" and launch or nil,
    says = ("lanes load %s for 32 iterations of the loop at line %d, and hand them out"):format(
      list[1].base, loop.line) }
end

local M = { name = "shuffle", apart = true, twice = true,
  doc = "Elements that all lanes of a warp read, loaded by one each and handed out by shuffles." }

-- Can blocks have rows of whole warps, as far as that is known?
local function has_rows(fn)
  local ask, used = fn.kernel.options.values, sides_of.used(fn)
  local length = ask and ask(fn)["blockDim.x"]
  return (used.y or used.z) and (not length or length % LANES == 0)
end

function M.find(kernel)
  local list = {}
  for _, loop in ipairs(kernel:open_loops()) do
    local all = found(loop, false)
    if all then list[#list + 1] = { line = loop.line, args = {} } end
    local more = has_rows(loop.fn) and found(loop, true)
    if more and #more > (all and #all or 0) then
      list[#list + 1] = { line = loop.line, args = { "row" } }
    end
  end
  return list
end

function M.make(kernel, line, args)
  if args[2] or args[1] and args[1] ~= "row" then
    return nil, "it is written shuffle<LINE>() or shuffle<LINE>(row)"
  end
  return kernel:first_loop(line, function(loop) return made(loop, args[1] == "row") end)
end

return M
