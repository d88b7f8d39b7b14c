--- nearest: finds the known word that a person most likely meant by an unknown one.

local LONGEST = 200 -- letters of a word that anybody means

-- Optimal string alignment distance: insertions, deletions, substitutions, swaps of neighbours.
local function distance(a, b)
  local before, row = nil, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local last = row
    row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + same)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before = last
  end
  return row[#b]
end

local function letters(word)
  local list = { word:byte(1, -1) }
  table.sort(list)
  return string.char(table.unpack(list))
end

local function common_start(a, b)
  local n = 0
  while n < #a and a:byte(n + 1) == b:byte(n + 1) do n = n + 1 end
  return n
end

-- Of names as near as each other: the one of the same letters, then the one that begins alike.
local function is_likelier(word, a, b)
  local same_a, same_b = letters(a) == letters(word), letters(b) == letters(word)
  if same_a ~= same_b then return same_a end
  return common_start(word, a) > common_start(word, b)
end

--- The name a person most likely meant, or nil when none is near (more than a third differs).
---@param word string
---@param names string[]
---@return string? nearest
local function nearest(word, names)
  if #word > LONGEST then return nil end
  local best, best_distance
  for _, name in ipairs(names) do
    local d = distance(word:lower(), name:lower())
    if not best or d < best_distance or d == best_distance and is_likelier(word, name, best) then
      best, best_distance = name, d
    end
  end
  if best and best_distance <= math.max(1, math.max(#word, #best) // 3) then return best end
  return nil
end

return nearest
