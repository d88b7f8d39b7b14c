--- constant: data placement in constant or global memory
--
-- where     arrays
-- needs     memory_of
-- becomes   an array of the file in the other memory of the two
-- promises  nothing
--
-- Constant memory serves one address at a time: what all lanes of a warp read alike comes at once,
-- what they read apart comes one after the other, where global memory's cache would serve a line.
-- The host fills either by cudaMemcpyToSymbol, so that nothing but the declaration changes.

local BEFORE, BEHIND = { ["&"] = true, ["++"] = true, ["--"] = true }, {} -- what is not only read
for word in ("= += -= *= /= %= &= |= ^= <<= >>= ++ --"):gmatch "%S+" do BEHIND[word] = true end

-- The token behind the brackets that follow a name, and how many there are.
local function past_brackets(words, i)
  local n = 0
  i = i + 1
  while words[i] == "[" and words.match[i] do i, n = words.match[i] + 1, n + 1 end
  return i, n
end

-- The declaration that begins at a token of the file's scope: { name, token, sides, spaces (tokens
-- that say which memory), is_constant }; nil of anything but an array.
local function declaration(words, i)
  local first = i
  while words.kind[i] == "name" or words[i] == "::" do i = i + 1 end
  local at = i - 1
  local last, sides = past_brackets(words, at)
  if sides == 0 or at - first < 2 or words[last] ~= ";" and words[last] ~= "=" then return nil end
  local found = { name = words[at], token = at, sides = sides, spaces = {} }
  for k = first, at - 1 do
    if words[k] == "__constant__" or words[k] == "__device__" then
      found.spaces[#found.spaces + 1] = k
      found.is_constant = found.is_constant or words[k] == "__constant__"
    elseif words[k] == "extern" or words[k] == "__managed__" or words[k] == "volatile" then
      return nil
    end
  end
  return #found.spaces > 0 and found or nil
end

-- cudaMemcpyToSymbol(name, … and the like: the same for either memory.
local function is_copied(words, i)
  return words[i - 1] == "(" and (words[i - 2] or ""):find "^cudaMemcpy%a+Symbol" ~= nil
end

-- Does the file do anything with an array but to read its elements, and to fill it?
local function is_only_read(kernel, d)
  local words = kernel.words
  for _, macro in pairs(kernel.macros) do
    for _, name in ipairs(macro.names) do
      if name == d.name then return false end
    end
  end
  for i = 1, #words do
    if words[i] == d.name and i ~= d.token and not is_copied(words, i) then
      local after, sides = past_brackets(words, i)
      while words[after] == "." do after = after + 2 end
      if sides ~= d.sides or BEFORE[words[i - 1]] or BEHIND[words[after]] then return false end
    end
  end
  return true
end

-- Is an array named in a function of the GPU, or in a macro?
local function is_used(kernel, d)
  for _, fn in ipairs(kernel.functions) do
    for i = fn.first, fn.close do
      local macro = kernel.macros[kernel.words[i]]
      if kernel.words[i] == d.name then return true end
      for _, name in ipairs(macro and macro.names or {}) do
        if name == d.name then return true end
      end
    end
  end
  return false
end

-- The arrays of the file's scope (gilua.rewrite.where).
local function arrays(kernel)
  local list, words, i = {}, kernel.words, 1
  while i <= #words do
    local before, kind = words[i - 1], words.kind[i - 1]
    local begins = before == nil or before == ";" or before == "}" or kind == "directive"
    local d = begins and declaration(words, i)
    if d then
      local line = kernel:line_of(d.token)
      list[#list + 1] = { d = d, name = d.name, line = line, last = line }
    end
    i = words[i] == "{" and words.match[i] and words.match[i] + 1 or i + 1
  end
  return list
end

return { name = "constant", where = arrays, set = "arrays",
  none = "no array of the file of that name is there, or one that is only read",
  doc = "An array of the file in global memory in place of constant memory, or the other way.",
  args = { { "array", of = "name" } },
  needs = {
    { "memory_of", function(at) return is_used(at.kernel, at.d) end,
      says = "no array of the file that a function of the GPU reads" },
    { "memory_of", function(at) return at.d.is_constant or is_only_read(at.kernel, at.d) end,
      says = "no array of the file that is only read" },
  },
  becomes = function(at, e)
    local d = at.d
    e:replace(d.spaces[1], d.spaces[1], d.is_constant and "__device__" or "__constant__")
    if d.spaces[2] then e:remove(d.spaces[2], d.spaces[2]) end
    return ("%s lies in %s memory"):format(d.name, d.is_constant and "global" or "constant")
  end,
}
