-- diff: the differences of two texts, in the format that `diff -u` writes and `patch` reads. It
-- finds the shortest list of removed and added lines (Myers, "An O(ND) difference algorithm and its
-- variations", 1986).

local M = {}

local CONTEXT = 3 -- lines around a change
local MOST_CHANGES = 3000 -- that are looked for: time and memory grow with their square

-- Lines with their ends; the last one may have none.
local function lines_of(text)
  local lines = {}
  for line in text:gmatch "[^\n]*\n" do lines[#lines + 1] = line end
  local rest = text:match "[^\n]+$"
  if rest then lines[#lines + 1] = rest end
  return lines
end

-- How far from (x, y) both are the same.
local function along(a, b, x, y)
  while x < #a and y < #b and a[x + 1] == b[y + 1] do x, y = x + 1, y + 1 end
  return x
end

-- On diagonal k (x - y) with d changes: the further of a line added and a line taken.
local function step(far, k, d)
  if k == -d or k ~= d and far[k - 1] < far[k + 1] then return far[k + 1] end
  return far[k - 1] + 1
end

-- For each number of changes, how far each diagonal gets, until one arrives; nil where none does.
local function search(a, b)
  local far, trace = { [1] = 0 }, {}
  for d = 0, math.min(#a + #b, MOST_CHANGES) do
    local here = {}
    for k = -d, d, 2 do
      local x = step(far, k, d)
      x = along(a, b, x, x - k)
      here[k] = x
      if x >= #a and x - k >= #b then return trace, d end
    end
    trace[d], far = here, here
  end
end

local function all_of(lines)
  local set = {}
  for i in ipairs(lines) do set[i] = true end
  return set
end

-- Which lines of `a` are taken, and before which lines of `b` are added: two sets of numbers.
local function changes(a, b)
  local taken, added = {}, {}
  local trace, d = search(a, b)
  if not trace then return all_of(a), all_of(b) end
  local x, y = #a, #b
  while d > 0 do
    local far, k = trace[d - 1], x - y
    local adds = k == -d or k ~= d and far[k - 1] < far[k + 1]
    local from = adds and k + 1 or k - 1
    x = far[from]
    y = x - from
    if adds then added[y + 1] = true else taken[x + 1] = true end
    d = d - 1
  end
  return taken, added
end

-- The script: { sign, line } for every line of both, in order.
local function script(a, b)
  local taken, added = changes(a, b)
  local list, i, j = {}, 1, 1
  while i <= #a or j <= #b do
    if taken[i] then
      list[#list + 1] = { "-", a[i] }
      i = i + 1
    elseif added[j] then
      list[#list + 1] = { "+", b[j] }
      j = j + 1
    else
      list[#list + 1] = { " ", a[i] }
      i, j = i + 1, j + 1
    end
  end
  return list
end

-- Where a hunk's lines of one side begin and how many they are; an empty side is named by the line
-- before it.
local function range(first, n)
  if n == 1 then return tostring(first) end
  return ("%d,%d"):format(n == 0 and first - 1 or first, n)
end

-- Parts of the script that hold changes, with their context: first and last entry.
local function hunks(list)
  local found = {}
  for i, entry in ipairs(list) do
    if entry[1] ~= " " then
      local last = found[#found]
      if last and i - CONTEXT <= last.last + CONTEXT + 1 then last.last = i
      else found[#found + 1] = { first = i, last = i } end
    end
  end
  for _, h in ipairs(found) do
    h.first, h.last = math.max(1, h.first - CONTEXT), math.min(#list, h.last + CONTEXT)
  end
  return found
end

local function add_hunk(out, list, hunk, before)
  local n = { [" "] = 0, ["-"] = 0, ["+"] = 0 }
  local body = {}
  for i = hunk.first, hunk.last do
    local sign, line = list[i][1], list[i][2]
    n[sign] = n[sign] + 1
    body[#body + 1] = sign .. line
    if line:sub(-1) ~= "\n" then body[#body + 1] = "\n\\ No newline at end of file\n" end
  end
  out[#out + 1] = ("@@ -%s +%s @@\n"):format(range(before.old + 1, n[" "] + n["-"]),
    range(before.new + 1, n[" "] + n["+"]))
  out[#out + 1] = table.concat(body)
end

--- Where two texts differ, in the order of the lines: `first` to `last` of the old one have become
--- `text`. Where lines were only added, last is first - 1, and they stand before line `first`.
---@param old string
---@param new string
---@return { first: integer, last: integer, text: string }[]
function M.pieces(old, new)
  local list, at, open = {}, 1, nil
  for _, entry in ipairs(script(lines_of(old), lines_of(new))) do
    local sign, line = entry[1], entry[2]
    if sign == " " then
      open = nil
    else
      if not open then
        open = { first = at, last = at - 1, text = "" }
        list[#list + 1] = open
      end
      if sign == "-" then open.last = at else open.text = open.text .. line end
    end
    if sign ~= "+" then at = at + 1 end
  end
  return list
end

-- The hunks of a unified diff: what stands there, what is to stand there, and where.
local function hunks_of(patch)
  local found, hunk = {}, nil
  for line in (patch .. "\n"):gmatch "([^\n]*)\n" do
    local sign, rest = line:match "^([ +-])(.*)$"
    local start = line:match "^@@ %-(%d+)[%d,]* %+%d+[%d,]* @@"
    if start then
      hunk = { at = tonumber(start), old = {}, new = {} }
      found[#found + 1] = hunk
    elseif line:find "^diff " or line:find "^%-%-%- " and not hunk then
      hunk = nil
    elseif hunk and sign then
      if sign ~= "+" then table.insert(hunk.old, rest) end
      if sign ~= "-" then table.insert(hunk.new, rest) end
    end
  end
  return found
end

local function stands_at(lines, old, at)
  for i, line in ipairs(old) do
    if lines[at + i - 1] ~= line then return false end
  end
  return true
end

-- The line nearest to `wanted`, from `from` on, where the old lines of a hunk stand.
local function place_of(lines, hunk, wanted, from)
  for distance = 0, #lines do
    for _, at in ipairs { wanted - distance, wanted + distance } do
      if at >= from and at + #hunk.old - 1 <= #lines and stands_at(lines, hunk.old, at) then
        return at
      end
    end
  end
end

--- A text with a unified diff of it applied. Where a hunk stands is looked for, as `patch` does it;
--- all of its lines must be there.
---@param text string
---@param patch string
---@return string? patched
---@return string? message
function M.apply(text, patch)
  local list = hunks_of(patch)
  if #list == 0 then return nil, "it holds no hunk (a line that begins with @@)" end
  local lines, ended = {}, text:sub(-1) == "\n"
  for line in (ended and text or text .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  local out, at, moved = {}, 1, 0
  for n, hunk in ipairs(list) do
    local wanted = hunk.at + (#hunk.old == 0 and 1 or 0) + moved
    local place = place_of(lines, hunk, wanted, at)
    if not place then
      return nil, ("the lines of its hunk %d (line %d) are not there"):format(n, hunk.at)
    end
    table.move(lines, at, place - 1, #out + 1, out)
    table.move(hunk.new, 1, #hunk.new, #out + 1, out)
    at, moved = place + #hunk.old, place - hunk.at
  end
  table.move(lines, at, #lines, #out + 1, out)
  return table.concat(out, "\n") .. (ended and "\n" or "")
end

--- A unified diff of two texts; "" where they are equal.
---@param old string
---@param new string
---@param label string the name that both have in it
---@return string
function M.unified(old, new, label)
  if old == new then return "" end
  local list = script(lines_of(old), lines_of(new))
  local out, before, at = { ("--- %s\n+++ %s\n"):format(label, label) }, { old = 0, new = 0 }, 1
  for _, hunk in ipairs(hunks(list)) do
    for i = at, hunk.first - 1 do
      if list[i][1] ~= "+" then before.old = before.old + 1 end
      if list[i][1] ~= "-" then before.new = before.new + 1 end
    end
    at = hunk.first
    add_hunk(out, list, hunk, before)
  end
  return table.concat(out)
end

return M
