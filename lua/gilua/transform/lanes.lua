-- lanes: how the lanes of a warp share a loop: each does every n-th iteration, and sums, extremes
-- and where these are go from lane to lane by shuffles until all lanes have them.

local effects = require "gilua.transform.effects"

local M = {}

---@class gilua.lane_names names that the text does not have yet
---@field lane string which of the lanes this is: an expression
---@field step string
---@field other string
---@field place string
---@field mask string

-- One step of putting the least and where it is together; of equals the first counts.
local function put_place(r, shuffled, names)
  local other, place = names.other, names.place
  return ("{ const %s %s = %s; const %s %s = %s; "):format(r.type, other, shuffled(r.name),
      r.at.type, place, shuffled(r.at.name))
    .. ("if (%s %s %s || %s == %s && %s < %s) "):format(other, r.op, r.name, other, r.name, place,
      r.at.name)
    .. ("{ %s = %s; %s = %s; } }"):format(r.name, other, r.at.name, place)
end

-- The same of an index alone, that of the least element.
local function put_index(r, shuffled, names)
  local name, other = r.name, names.other
  return ("{ const %s %s = %s; "):format(r.type, other, shuffled(name))
    .. ("if (%s %s %s || %s == %s && %s < %s) %s = %s; }"):format(r.element(other), r.op,
      r.element(name), r.element(other), r.element(name), other, name, name, other)
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

--- The lines behind it, which put together what the lanes have.
---@param row gilua.row_loop
---@param names gilua.lane_names
---@param lanes integer
---@param lines string[] to which they are added
function M.behind(row, names, lanes, lines)
  if #row.reductions == 0 then return end
  lines[#lines + 1] = ("for (int %s = %d; %s > 0; %s /= 2) {"):format(names.step, lanes // 2,
    names.step, names.step)
  local function shuffled(name)
    return ("__shfl_xor_sync(%s, %s, %s)"):format(names.mask, name, names.step)
  end
  for _, r in ipairs(row.reductions) do
    lines[#lines + 1] = "    " .. put_together(r, shuffled, names)
  end
  lines[#lines + 1] = "}"
end

local function is_simple(tree)
  return tree.kind == "name" or tree.kind == "number"
end

--- Makes the loop's head one of each lane's own iterations.
---@param row gilua.row_loop
---@param names gilua.lane_names
---@param lanes integer
---@param e table gilua.edit
function M.head(row, names, lanes, e)
  local loop = row.loop
  local start = loop.start
  local mine = loop.step == 1 and names.lane or ("%d * %s"):format(loop.step, names.lane)
  if start.kind == "number" and start.text == "0" then
    e:replace(start.first, start.last, mine)
  else
    if not is_simple(start) then e:before(start.first, "(") end
    e:after(start.last, (is_simple(start) and "" or ")") .. " + " .. mine)
  end
  e:replace(loop.statement.step.first, loop.statement.step.last,
    ("%s += %d"):format(loop.variable, lanes * loop.step))
end

return M
