--- elsewhere: a source as it is for another thread of the block, or in another iteration: names
-- are others there, and variables that are made of these are declared once more.
--
--   local names = elsewhere.names(fn, { k = "(k_from + part)", ["threadIdx.x"] = "thread" })
--   local before = {}
--   local text = elsewhere.text(fn, first, last, names, before)
--
-- For `b[at]`, of `int at = k * n + col`, text is `b[at_of]`, and before has one line,
-- `const int at_of = (k_from + part) * n + col;`.

local effects = require "gilua.facts.effects"
local sides = require "gilua.facts.sides"

local M = {}

-- Has a tree one of the names, by itself or by what it is made of?
local function has_any(fn, tree, instead, steps)
  local words = fn.kernel.words
  for name, tokens in pairs(effects.of(fn, tree).reads) do
    if instead[name] then return true end
    for _, token in ipairs(tokens) do
      local member = words[token + 1] == "." and name .. "." .. words[token + 2]
      if member and instead[member] then return true end
    end
    local d = sides.kept(fn, name)
    if d and d.init and steps < 12 and has_any(fn, d.init, instead, steps + 1) then return true end
  end
  return false
end

--- What names are elsewhere.
---@param instead table<string, string> of names, and of members: threadIdx.x
function M.names(fn, instead)
  return { fn = fn, instead = instead, known = {} }
end

-- The name of a variable there, declared in `before`; nil where it is the same.
local function other_name(names, word, before)
  local fn = names.fn
  local d = sides.kept(fn, word)
  if names.known[word] == nil then
    names.known[word] = d and not d.parameter and has_any(fn, d.init, names.instead, 0) or false
  end
  if not names.known[word] then return nil end
  local other = fn.kernel:fresh(word .. "_of")
  if not before[word] then
    before[word] = true
    local value = M.text(fn, d.init.first, d.init.last, names, before)
    before[#before + 1] = ("const %s %s%s = %s;"):format(d.type, ("*"):rep(d.pointer), other,
      value)
  end
  return other
end

--- The source of tokens elsewhere, on one line; what has to be declared for it is added to
--- `before`.
---@param first integer
---@param last integer
---@param names table of M.names
---@param before string[]
---@return string
function M.text(fn, first, last, names, before)
  local kernel, instead, i = fn.kernel, {}, first
  while i <= last do
    local w, ahead = kernel.words[i], kernel.words[i - 1]
    local member = kernel.words[i + 1] == "." and names.instead[w .. "." .. kernel.words[i + 2]]
    if ahead ~= "." and ahead ~= "->" then
      if member then
        instead[i] = { member, i + 2 }
        i = i + 2
      else
        instead[i] = names.instead[w] or other_name(names, w, before)
      end
    end
    i = i + 1
  end
  return (kernel:source(first, last, instead):gsub("%s+", " "))
end

return M
