-- lanes: how the lanes of a warp share a loop: each does every n-th iteration, and sums, extremes
-- and where these are go from lane to lane by shuffles until all lanes have them.
--
-- Where a whole block shares a loop, its warps put theirs together so, and then all through shared
-- memory, in the same order in each thread.
--
-- Of a loop with a running sum the lanes do so many iterations at a time: first each has what its
-- own adds, then what those up to it add, by shuffles, and does the rest with that.
--
--   for (i = 0; i < n; i++) { s += a[i]; out[i] = s; }
--
--   for (i = 0; i < n; i += 32) {
--     int at = i + lane;
--     const bool has = at < n;
--     if (!has) at = i;
--     float part = has ? a[at] : 0;
--     for (int step = 1; step < 32; step *= 2) {
--       const float other = __shfl_up_sync(0xffffffffu, part, step);
--       if (lane >= step) part += other;
--     }
--     const float s_here = s + part;
--     if (has) out[at] = s_here;
--     s += __shfl_sync(0xffffffffu, part, 31);
--   }

local effects = require "gilua.facts.effects"
local loop_of = require "gilua.facts.loop"
local threads = require "gilua.facts.threads"

local M = {}

---@class gilua.lane_names names that the text does not have yet
---@field lane string which of the lanes this is: an expression
---@field step string
---@field other string
---@field place string
---@field mask string
---@field wait string the statement by which lanes wait for each other

--- Returns such names for so many lanes.
---@param lane string
---@param lanes integer
---@return gilua.lane_names
function M.names(fn, lane, lanes)
  local names = { lane = lane, step = threads.new_name(fn, "step"),
    other = threads.new_name(fn, "other"), place = threads.new_name(fn, "other_place"),
    mask = lanes >= 32 and "0xffffffffu" or threads.new_name(fn, "mask"),
    warp = threads.new_name(fn, "warp") }
  names.wait = lanes > 32 and "__syncthreads();" or ("__syncwarp(%s);"):format(names.mask)
  return names
end

-- One step of putting the least and where it is together; of equals the first counts.
local function put_place(r, shuffled, names)
  local other, place = names.other, names.place
  return ("{ const %s %s = %s; const %s %s = %s; "):format(r.type, other, shuffled(r.name),
      r.at.type, place, shuffled(r.at.name))
    .. ("if (%s %s %s || %s == %s && %s < %s) "):format(other, r.op, r.name, other, r.name, place,
      r.at.name)
    .. ("{ %s = %s; %s = %s; } }"):format(r.name, other, r.at.name, place)
end

-- The same of an index alone, that of the least element: one that no lane has changed leads nowhere
-- for certain, and is not asked for.
local function put_index(r, shuffled, names)
  local name, other = r.name, names.other
  return ("{ const %s %s = %s; "):format(r.type, other, shuffled(name))
    .. ("if (%s != %s && (%s %s %s || %s == %s && %s < %s)) %s = %s; }"):format(other, name,
      r.element(other), r.op, r.element(name), r.element(other), r.element(name), other, name, name,
      other)
end

-- One step of putting a variable together: shuffled(name) is what another lane has.
local function put_together(r, shuffled, names)
  if r.at then return put_place(r, shuffled, names) end
  if r.element then return put_index(r, shuffled, names) end
  local name, op, other = r.name, r.op, names.other
  if op == "+" then return ("%s += %s;"):format(name, shuffled(name)) end
  if op == ">" or op == "<" then
    return ("{ const %s %s = %s; if (%s %s %s) %s = %s; }"):format(r.type, other, shuffled(name),
      other, op, name, name, other)
  end
  return ("%s = %s(%s, %s);"):format(name, op, name, shuffled(name))
end

-- Is a sum zero where the loop begins? Then no lane counts twice what was there before.
local function begins_at_zero(row, reduction)
  local d, writes = reduction.d, effects.of(row.loop.fn, row.loop.fn.body).writes[reduction.name]
  for _, token in ipairs(writes or {}) do
    local s = row.loop.statement
    if token ~= d.token and not (s.first <= token and token <= s.last) then return false end
  end
  local text = d.init and d.init.kind == "number" and d.init.text:gsub("[fFuUlL]+$", "")
  return tonumber(text or "1") == 0
    and d.statement.parent == row.loop.statement.parent -- not begun before a loop around
end

--- The lines before a shared loop: a sum that is not zero there is one lane's alone.
---@param row gilua.row_loop
---@param names gilua.lane_names
---@param lines string[] to which they are added
function M.before(row, names, lines)
  for _, r in ipairs(row.reductions) do
    if r.op == "+" and not begins_at_zero(row, r) then
      lines[#lines + 1] = ("if (%s != 0) %s = 0;"):format(names.lane, r.name)
    end
  end
end

-- The variables that a reduction puts together, { name, type }.
local function parts_of(r)
  local list = { { name = r.name, type = r.type } }
  if r.at then list[2] = { name = r.at.name, type = r.at.type } end
  return list
end

-- Adds the lines that put together what the warps of a block have, through shared memory.
local function between_warps(row, names, lanes, unit, lines)
  local fn, arrays, warps = row.loop.fn, {}, lanes // 32
  local function put(text, ...) lines[#lines + 1] = unit .. text:format(...) end
  local function each(text)
    for _, r in ipairs(row.reductions) do
      for _, part in ipairs(parts_of(r)) do
        put(text:gsub("%$(%l+)", { name = part.name, type = part.type, array = arrays[part.name],
          lane = names.lane, warps = tostring(warps) }))
      end
    end
  end
  for _, r in ipairs(row.reductions) do
    for _, part in ipairs(parts_of(r)) do
      arrays[part.name] = threads.new_name(fn, part.name .. "_of")
    end
  end
  lines[#lines + 1] = "{"
  each "__shared__ $type $array[$warps];"
  each "if ($lane %% 32 == 0) $array[$lane / 32] = $name;"
  put "__syncthreads();"
  each "$name = $array[0];"
  put("for (int %s = 1; %s < %d; %s++) {", names.warp, names.warp, warps, names.warp)
  for _, r in ipairs(row.reductions) do
    put("%s%s", unit, put_together(r, function(name)
      return ("%s[%s]"):format(arrays[name], names.warp)
    end, names))
  end
  put "}"
  put "__syncthreads();"
  lines[#lines + 1] = "}"
end

--- The lines behind it, which put together what the lanes have: those of a warp or a part of one,
--- or a whole block of warps.
---@param row gilua.row_loop
---@param names gilua.lane_names
---@param lanes integer
---@param lines string[] to which they are added
---@param unit string? a level of what the file is moved in by
function M.behind(row, names, lanes, lines, unit)
  if #row.reductions == 0 then return end
  lines[#lines + 1] = ("for (int %s = %d; %s > 0; %s /= 2) {"):format(names.step,
    math.min(lanes, 32) // 2, names.step, names.step)
  local function shuffled(name)
    return ("__shfl_xor_sync(%s, %s, %s)"):format(names.mask, name, names.step)
  end
  for _, r in ipairs(row.reductions) do
    lines[#lines + 1] = "    " .. put_together(r, shuffled, names)
  end
  lines[#lines + 1] = "}"
  if lanes > 32 then between_warps(row, names, lanes, unit, lines) end
end

local function is_simple(tree)
  return tree.kind == "name" or tree.kind == "number"
end

--------------------------------------------------------------------------------------------------
-- Running sums

-- Returns a lane's own iteration, where so many are done at a time and `first` is the first.
local function own_place(loop, first, lane)
  local by = math.abs(loop.step)
  return ("%s %s %s"):format(first, loop.step < 0 and "-" or "+",
    by == 1 and lane or ("%d * %s"):format(by, lane:find " " and "(" .. lane .. ")" or lane))
end

-- The step of a loop whose lanes do so many iterations at a time.
local function long_step(loop, lanes)
  return ("%s %s= %d"):format(loop.variable, loop.step < 0 and "-" or "+",
    lanes * math.abs(loop.step))
end

-- Returns what stands for some tokens of the body: the lane's own iteration for the loop's
-- variable, and for the running sum what it is by then. `asked` notes which of the two sums are
-- read.
local function instead_of(row, own, asked)
  local kernel, r, instead = row.loop.fn.kernel, row.running, {}
  for _, token in ipairs(loop_of.variable_tokens(row.loop, row.loop.body) or {}) do
    instead[token] = own.at
  end
  for token = row.loop.body.first, row.loop.body.last do
    local is_own = r.tree.first <= token and token <= r.tree.last
    if not is_own and kernel:is_name(token, r.name) then
      local which = token < r.statement.first and "prior" or "here"
      instead[token], asked[which] = own[which], true
    end
  end
  if r.statement.tree ~= r.tree and not r.condition then
    instead[r.tree.first], asked.here = { own.here, r.tree.last }, true
  end
  return instead
end

-- Returns the lines that compute each lane's prefix sum of its own iteration's summands.
local function scan_lines(row, own, names, lanes, what)
  local type, width = row.running.type, lanes < 32 and ", " .. lanes or ""
  return {
    ("%s %s = %s ? %s : 0;"):format(type, own.part, own.has, what),
    ("for (int %s = 1; %s < %d; %s *= 2) {"):format(names.step, names.step, lanes, names.step),
    ("%sconst %s %s = __shfl_up_sync(%s, %s, %s%s);"):format(own.unit, type, names.other,
      names.mask, own.part, names.step, width),
    ("%sif (%s >= %s) %s += %s;"):format(own.unit, names.lane, names.step, own.part, names.other),
    "}",
  }, width
end

local function added_text(r, kernel, instead)
  local text = kernel:source(r.added.first, r.added.last, instead):gsub("%s+", " ")
  local is_word = is_simple(r.added) or r.added.kind == "index" or r.added.parens
  if r.condition then
    local asked = kernel:source(r.condition.first, r.condition.last, instead):gsub("%s+", " ")
    return ("((%s) ? %s : 0)"):format(asked, (r.is_less and "-(%s)" or "(%s)"):format(text))
  end
  if r.is_less then return (is_word and "-%s" or "-(%s)"):format(text) end
  return r.added.kind == "choice" and "(" .. text .. ")" or text
end

-- Statements of the body that are done with the sum, as they stand.
local function rest_of(row, instead)
  local kernel, r, list = row.loop.fn.kernel, row.running, {}
  local body = row.loop.body
  for i, s in ipairs(body.kind == "block" and body.body or { body }) do
    local is_done = s == r.statement and (r.condition or s.tree == r.tree)
    if not r.before[i] and not is_done then
      list[#list + 1] = kernel:source(s.first, s.last, instead)
    end
  end
  return list
end

local function put_rest(lines, rest, own)
  if #rest == 0 then return end
  if #rest == 1 and not rest[1]:find "\n" and not rest[1]:find "^%s*if" then
    lines[#lines + 1] = ("if (%s) %s"):format(own.has, rest[1])
    return
  end
  lines[#lines + 1] = ("if (%s) {"):format(own.has)
  for _, text in ipairs(rest) do
    lines[#lines + 1] = own.unit .. text:gsub("\n", "\n" .. own.unit)
  end
  lines[#lines + 1] = "}"
end

-- A statement that declares, as it stands, but for what only iterations that there are may load.
local function declared_text(row, s, instead, own)
  local kernel = row.loop.fn.kernel
  for _, d in ipairs(s.declared) do
    if row.running.guarded[d] then
      local text = kernel:source(d.init.first, d.init.last, instead)
      if d.init.kind == "choice" then text = "(" .. text .. ")" end
      instead[d.init.first] = { ("%s ? %s : 0"):format(own.has, text), d.init.last }
    end
  end
  return kernel:source(s.first, s.last, instead)
end

-- The lines of the body of so many iterations at a time.
local function running_body(row, names, lanes, own)
  local loop, r, asked = row.loop, row.running, {}
  local kernel, lines = loop.fn.kernel, {}
  local instead = instead_of(row, own, asked)
  local function put(text, ...) lines[#lines + 1] = text:format(...) end
  local c, x = loop.statement.condition, loop.variable
  local side = c.a.kind == "name" and c.a.text == x and c.a or c.b
  put("%s %s = %s;", loop.type, own.at, own_place(loop, x, names.lane))
  put("const bool %s = %s;", own.has, kernel:source(c.first, c.last, { [side.first] = own.at }))
  put("if (!%s) %s = %s;", own.has, own.at, x)
  for _, s in ipairs(r.before) do put("%s", declared_text(row, s, instead, own)) end
  local scan, width = scan_lines(row, own, names, lanes, added_text(r, kernel, instead))
  for _, line in ipairs(scan) do put("%s", line) end
  if asked.here then put("const %s %s = %s + %s;", r.type, own.here, r.name, own.part) end
  if asked.prior then
    put("%s %s = __shfl_up_sync(%s, %s, 1%s);", r.type, own.prior, names.mask, own.part, width)
    put("%s = %s > 0 ? %s + %s : %s;", own.prior, names.lane, r.name, own.prior, r.name)
  end
  put_rest(lines, rest_of(row, instead), own)
  put("%s += __shfl_sync(%s, %s, %d%s);", r.name, names.mask, own.part, lanes - 1, width)
  return lines
end

-- Makes a loop with a running sum one of so many iterations at a time, a lane each.
local function share_running(row, names, lanes, unit, e)
  local loop, own = row.loop, { unit = unit }
  local kernel = loop.fn.kernel
  for field, wanted in pairs { has = "has", at = "at", part = "part",
    here = row.running.name .. "_here", prior = row.running.name .. "_prior" } do
    own[field] = threads.new_name(loop.fn, wanted)
  end
  local indent = kernel:indent(loop.statement.first)
  local inner = indent .. unit
  local text = table.concat(running_body(row, names, lanes, own), "\n" .. inner)
  e:replace(loop.statement.step.first, loop.statement.step.last, long_step(loop, lanes))
  e:replace(loop.statement.header[4], loop.body.last,
    (") {\n%s%s\n%s}"):format(inner, text, indent))
end

--------------------------------------------------------------------------------------------------

-- Makes the loop's head one of each lane's own iterations.
local function share_head(loop, lane, lanes, e)
  local start = loop.start
  if start.kind == "number" and start.text == "0" then
    e:replace(start.first, start.last, (own_place(loop, "", lane):gsub("^ %+ ", "")))
  else
    if not is_simple(start) then e:before(start.first, "(") end
    e:after(start.last, own_place(loop, is_simple(start) and "" or ")", lane))
  end
  e:replace(loop.statement.step.first, loop.statement.step.last, long_step(loop, lanes))
end

--- Makes a loop one whose iterations the lanes share; where it has an inner one that is shared,
--- too, the warps share it, and the lanes of each the inner.
---@param row gilua.row_loop
---@param names gilua.lane_names
---@param lanes integer
---@param unit string a level of what the file is moved in by
---@param e table gilua.edit
function M.share(row, names, lanes, unit, e)
  if row.running then return share_running(row, names, lanes, unit, e) end
  if not row.inner then return share_head(row.loop, names.lane, lanes, e) end
  share_head(row.loop, names.lane .. " / 32", lanes // 32, e)
  share_head(row.inner.loop, names.lane .. " % 32", 32, e)
end

return M
