--- sharedcode: what a winner changed in device functions that others in the user's file call too:
-- other kernels, which the problem did not have, or the host's code. Theirs stay as they were, and
-- the winner's kernels call a copy, which stands behind.
--
--   local text, copies, seen = sharedcode.apart(old, new, { "softmax" })
--
-- Where that cannot be done, and of macros, `seen` says what others get to see.

local copying = require "gilua.facts.copies"
local kernels = require "gilua.transform.kernel"
local settings = require "gilua.base.settings"

local M = {}

local function sources(list)
  local parts = {}
  for i, fn in ipairs(list) do parts[i] = fn.kernel:source(fn.first, fn.close) end
  return table.concat(parts, "\n")
end

-- What kernels call, with themselves.
local function reached_by(known, names)
  local list, seen = {}, {}
  for _, fn in ipairs(known.functions) do
    for _, one in ipairs(names[fn.name] and copying.reached(fn) or {}) do
      if not seen[one] then
        seen[one] = true
        list[#list + 1] = one
      end
    end
  end
  return list
end

-- The device functions that are not what they were.
local function changed_of(reached, old, new)
  local changed = {}
  for _, fn in ipairs(reached) do
    local was = old[fn.name]
    local is_changed = was and sources(was) ~= sources(new[fn.name])
    if fn.kind == "device" and is_changed then changed[fn] = true end
  end
  return changed
end

-- A function as it stands, with other names at some tokens.
local function text_of(fn, instead)
  local kernel, parts, at = fn.kernel, {}, fn.kernel.first[fn.first]
  for token = fn.first, fn.close do
    if instead[token] then
      parts[#parts + 1] = kernel.text:sub(at, kernel.first[token] - 1) .. instead[token]
      at = kernel.last[token] + 1
    end
  end
  parts[#parts + 1] = kernel.text:sub(at, kernel.last[fn.close])
  return table.concat(parts)
end

-- The text with the functions of `reached` as they are to be.
local function with_copies(known, reached, names, old, stop)
  table.sort(reached, function(a, b) return a.first > b.first end)
  local text = known.text
  for _, fn in ipairs(reached) do
    local instead = {}
    for _, call in ipairs(copying.calls(fn)) do instead[call.token] = names[call.fn] end
    instead[fn.head - 1] = names[fn]
    local own = text_of(fn, instead)
    if names[fn] then own = text_of(old[fn.name][1], {}) .. stop .. stop .. own end
    text = text:sub(1, known.first[fn.first] - 1) .. own .. text:sub(known.last[fn.close] + 1)
  end
  return text
end

-- The lines that define each macro, as they stand.
local function definitions(known)
  local list, words = {}, known.words
  for i = 1, #words do
    local inside = words.kind[i] == "directive" and known.tokens:inside(i)
    if inside and inside[1] == "define" and inside[2] then
      local text = known.text:sub(known.first[i], known.last[i])
      list[inside[2]] = (list[inside[2]] or "") .. text
    end
  end
  return list
end

-- A function that is not reached and uses a macro; nil where there is none.
local function user_of(known, reached, macro)
  local inside = {}
  for _, fn in ipairs(reached) do inside[fn] = true end
  for _, fn in ipairs(known.functions) do
    for token = fn.first, inside[fn] and 0 or fn.close do
      local word = known.words[token]
      if word == macro then return fn.name end
      for _, name in ipairs((known.macros[word] or {}).names or {}) do
        if name == macro then return fn.name end
      end
    end
  end
end

-- Sentences about macros that are not what they were, and that others use.
local function changed_macros(before, known, reached)
  local was, is, seen = definitions(before), definitions(known), {}
  for _, macro in ipairs(settings.keys(was)) do
    local user = is[macro] and is[macro] ~= was[macro] and user_of(known, reached, macro)
    if user then
      seen[#seen + 1] = ("the macro %s is changed, and %s uses it"):format(macro, user)
    end
  end
  return seen
end

--- The user's file with a winner's changes, in which others than the winner's kernels have what
--- they had.
---@param old string the file as it is
---@param new string with the changes
---@param list string[] the winner's kernels
---@return string text
---@return { name: string, copy: string }[] copies that were made
---@return string[] seen sentences: what is changed that others use, and have no other of
function M.apart(old, new, list)
  local names = {}
  for _, name in ipairs(list) do names[name:match "[%w_]*$"] = true end
  local before, known = kernels.of_text(old), kernels.of_text(new)
  local was, reached = copying.named(before), reached_by(known, names)
  local seen = changed_macros(before, known, reached)
  local set, why = copying.of(known, reached, changed_of(reached, was, copying.named(known)))
  if not set then
    table.insert(seen, "a function is changed that others call: " .. why)
    return new, {}, seen
  end
  local copy_names, made = {}, {}
  for _, fn in ipairs(reached) do
    if set[fn] then
      copy_names[fn] = known:fresh(("%s_%s"):format(fn.name, (list[1]:match "[%w_]*$")))
      made[#made + 1] = { name = fn.name, copy = copy_names[fn] }
    end
  end
  if #made == 0 then return new, made, seen end
  local tail, stop = new:sub(#known.text + 1), new:match "\r?\n" or "\n"
  return with_copies(known, reached, copy_names, was, stop) .. tail, made, seen
end

return M
