--- pad: rows of a shared array one element longer, so that a column lies in different banks.

local edit = require "gilua.rewrite.edit"

local function is_indexed(fn, d)
  local words = fn.kernel.words
  for i = fn.open, fn.close do
    if words[i] == d.name and i ~= d.token and fn:declaration(d.name, i) == d then
      local at = i + 1
      for _ = 1, #d.extents do
        if words[at] ~= "[" or not words.match[at] then return false end
        at = words.match[at] + 1
      end
      if words[at] == "[" then return false end
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

local function padded(fn, d)
  return d.shared and #d.extents >= 2 and d.extents[#d.extents] and not d.init
    and is_indexed(fn, d)
end

local function each_array(kernel, visit)
  for _, fn in ipairs(kernel.functions) do
    for _, s in ipairs(fn.statements) do
      for _, d in ipairs(s.declared or {}) do
        local line = kernel:line_of(d.token)
        if padded(fn, d) and kernel:is_open(line, line) then visit(d, line) end
      end
    end
  end
end

local M = { name = "pad", doc = "Rows of a shared array one element longer: other banks." }

function M.find(kernel)
  local list = {}
  each_array(kernel, function(d, line) list[#list + 1] = { line = line, args = { d.name } } end)
  return list
end

function M.make(kernel, line, args)
  local e, found = edit.new(kernel), false
  each_array(kernel, function(d, at)
    if at == line and d.name == args[1] and not found then
      e:before(last_bracket(kernel, d), " + 1")
      found = true
    end
  end)
  if not found then return nil, "no shared array of two dimensions of that name is there" end
  return { edits = e:lines(), says = ("the rows of %s are one element longer"):format(args[1]) }
end

return M
