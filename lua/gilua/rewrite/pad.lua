--- pad: array padding against bank conflicts
--
-- where     declarations
-- needs     types, memory_of, effects
-- becomes   the rows of a shared array one element longer, so that a column lies in other banks
-- promises  nothing

local affine = require "gilua.source.affine"
local effects = require "gilua.facts.effects"
local types = require "gilua.facts.types"

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

-- Does a call use one element alone, of the address that it begins with? An atomic operation, or a
-- copy of no more bytes than that.
local function takes_one(kernel, call, d)
  if not call.name then return false end
  if call.name:find "^atomic%u" then return true end
  local bytes = call.name == "__pipeline_memcpy_async" and affine.integer(call.node.args[3])
  local own = types.bytes(kernel, d.type)
  return bytes and own and bytes <= own or false
end

-- Is the address of a reference to an element taken, here or in a function that is given one?
local function leads_on(fn, d)
  for _, list in pairs(fn.variables) do
    for _, r in ipairs(list) do
      local is_it = r.reference and r.init and effects.root_name(r.init) == d.name
      if is_it and fn.addressed[r.name] then return true end
    end
  end
  for _, call in ipairs(effects.of(fn, fn.body).calls) do
    local callee = call.name and fn.kernel.by_name[call.name]
    for i, p in ipairs(callee and callee.params or {}) do
      local arg = call.node.args[i]
      local is_it = p.reference and arg and effects.root_name(arg) == d.name
      if is_it and callee.addressed[p.name] then return true end
    end
  end
  return false
end

-- Is no address of an element taken by which more than that element is reached? Wide loads would
-- lose their alignment, and a pointer that goes on would come to what lies between rows.
local function is_by_element(at)
  local d, words, one = at.d, at.kernel.words, {}
  for _, call in ipairs(effects.of(at.fn, at.fn.body).calls) do
    local arg = call.node.args[1]
    if arg and takes_one(at.kernel, call, d) then one[arg.first] = true end
  end
  for i = at.fn.open, at.fn.close do
    local is_address = words[i] == d.name and words[i - 1] == "&" and not one[i - 1]
    if is_address and not words[i - 2]:find "^[%w_%]]" then return false end
  end
  return not leads_on(at.fn, d)
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
    { "effects", is_by_element, says = "an element's address may lead to other elements" },
  },
  becomes = function(at, e)
    e:before(last_bracket(at.kernel, at.d), " + 1")
    return ("the rows of %s are one element longer"):format(at.name)
  end,
}
