--- sections: kernel fission into concurrent sections (OpenMP's sections)
--
-- where     cuts
-- needs     threads, effects, order, cuts, separate
-- becomes   blocks of z = 0 do the first of two results, others the second, beside each other
-- promises  apart
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
-- A loop whose body makes two results is there twice, once in each part.

local cuts = require "gilua.facts.cuts"
local edit = require "gilua.rewrite.edit"
local effects = require "gilua.facts.effects"
local order = require "gilua.facts.order"
local separate = require "gilua.facts.separate"
local threads = require "gilua.facts.threads"

local OF_GRID = { blockIdx = true, gridDim = true }
local QUESTION = "if (blockIdx.z == 0) {\n"

-- Does a kernel not ask for the grid's third side?
local function is_flat(at)
  local uses, why = threads.uses(at.fn), threads.hidden(at.fn, OF_GRID)
  local grid = #uses.blockIdx.z > 0 and "blockIdx.z" or #uses.gridDim.z > 0 and "gridDim.z"
    or OF_GRID[uses.whole or ""] and uses.whole or uses.grid
  return not why and not grid, why or grid and "it uses " .. grid
end

local function is_understood(at)
  local all = effects.of(at.fn, at.fn.body)
  if all.opaque then return nil, "it does what is not understood" end
  if all.conditional or all["goto"] or all.label then return nil, "it has an #if or a goto" end
  return true
end

-- ---- edits ------------------------------------------------------------------------------------

-- Moves in what stands on the lines of statements; the first is, where `is_in`, already.
local function deepen(at, e, first, last, is_in)
  if not is_in and at.kernel:begins_line(first) then e:before(first, at.unit) end
  table.insert(at.deeper, e:deepen(first, last, at.unit))
end

-- Moves in the lines between two tokens, comments.
local function deepen_between(at, one, other)
  local from, to = at.kernel:line_of(one) + 1, at.kernel:line_of(other) - 1
  if from <= to then table.insert(at.deeper, { from, to, #at.unit }) end
end

-- The end of what stands up to a token, on a line of its own.
local function close(at, e, stop, indent)
  if at.kernel:begins_line(stop + 1) then
    e:lead(stop + 1, indent .. "}\n" .. at.kernel:indent(stop + 1))
  else
    e:after(stop, "\n" .. indent .. "}")
  end
end

local function write_list(at, e)
  local kernel, list, first, last = at.kernel, at.of.list, at.parts.first, at.parts.last
  local from, to, stop = list[first].first, list[last].last, list[#list].last
  local second = list[last + 1].first
  while list[first].kind == "directive" do first = first + 1 end
  local indent = kernel:indent(list[first].first)
  e:lead(from, indent .. QUESTION .. indent .. at.unit)
  deepen(at, e, from, to, true)
  e:after(to, "\n" .. indent .. "} else {")
  deepen_between(at, to, second)
  deepen(at, e, second, stop)
  close(at, e, stop, indent)
  return second, ("blocks of z = 0 do what is before line %d, others what is from there on")
end

-- The end of the first part and the head of the second, between statements of a loop's body.
local function between(at, e, indent)
  local kernel, s = at.kernel, at.of.list[at.number]
  local inner, text, body = indent .. at.unit, "", s.loop.body.body
  local function add(line) text = text .. "\n" .. line end
  add(inner .. "}")
  for _, own in ipairs(at.parts.behind[1]) do
    add(inner .. kernel:source(own.first, own.last):gsub("\n", "\n" .. at.unit))
    e:remove(own.first, own.last)
  end
  add(indent .. "} else {")
  for _, pragma in ipairs(s.loop.pragmas) do
    add(inner .. kernel:source(pragma.first, pragma.last))
  end
  add(inner .. kernel:source(s.first, s.header[4]) .. " {")
  for i = 1, at.parts.declaring do
    add(inner .. at.unit .. kernel:source(body[i].first, body[i].last))
  end
  return text
end

local function write_loop(at, e)
  local list, s = at.of.list, at.of.list[at.number]
  local body, indent = s.loop.body.body, at.kernel:indent(s.first)
  local first, last = (s.loop.pragmas[1] or s).first, body[at.cut - 1].last
  local second = body[at.cut].first
  e:lead(first, indent .. QUESTION .. indent .. at.unit)
  deepen(at, e, first, last, true)
  e:after(last, between(at, e, indent))
  deepen_between(at, last, second)
  deepen(at, e, second, s.last)
  for _, other in ipairs(at.parts.behind[2]) do deepen(at, e, other.first, other.last) end
  close(at, e, list[#list].last, indent)
  return second, ("blocks of z = 0 do what is before line %d in each iteration, others what is "
    .. "from there on")
end

local function becomes(at, e)
  at.unit, at.deeper = edit.unit(at.fn), {}
  local second, says = (at.cut and write_loop or write_list)(at, e)
  return says:format(at.kernel:line_of(second)), { indent = at.deeper }
end

return { name = "sections", where = "cuts", launch = "grid.z==1 grid.z=2",
  before = "axes coarsen merge merge_threads grid_stride warp_row",
  doc = "Two results that need nothing of each other, by blocks of their own each.",
  needs = {
    { "threads", is_flat },
    { "effects", is_understood },
    { "order", says = "other threads may wait for what it does",
      function(at) return not order.is_waited_for(at.fn, effects.of(at.fn, at.fn.body)) end },
    { "cuts", cuts.parted, gives = "parts" },
    { "separate", function(at)
      return separate.of(at.fn, at.parts.common, at.parts.one, at.parts.other)
    end },
  },
  becomes = becomes,
}
