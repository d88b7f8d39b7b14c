--- pad: array padding against bank conflicts
--
-- where     declarations
-- needs     types, memory_of
-- becomes   the rows of a shared array one element longer, so that a column lies in other banks
-- promises  nothing

-- Is a shared array, of two dimensions or more, without first values?
local function has_rows(at)
  local d = at.d
  return d.shared and #d.extents >= 2 and d.extents[#d.extents] and not d.init
end

-- Has each use of the array all its indices?
local function is_indexed(at)
  local d, words = at.d, at.kernel.words
  for i = at.fn.open, at.fn.close do
    if words[i] == d.name and i ~= d.token and at.fn:declaration(d.name, i) == d then
      local behind = i + 1
      for _ = 1, #d.extents do
        if words[behind] ~= "[" or not words.match[behind] then return false end
        behind = words.match[behind] + 1
      end
      if words[behind] == "[" then return false end
    end
  end
  return true
end

-- The last ']' of a declared array.
local function last_bracket(kernel, d)
  local at = d.token + 1
  for _ = 1, #d.extents - 1 do at = kernel.words.match[at] + 1 end
  return kernel.words.match[at]
end

return { name = "pad", where = "declarations",
  doc = "Rows of a shared array one element longer: other banks.",
  args = { { "array", of = "name" } },
  needs = {
    { "types", has_rows, says = "it is no shared array of two dimensions without first values" },
    { "memory_of", is_indexed, says = "it is no shared array whose uses all have all its indices" },
  },
  becomes = function(at, e)
    e:before(last_bracket(at.kernel, at.d), " + 1")
    return ("the rows of %s are one element longer"):format(at.name)
  end,
}
