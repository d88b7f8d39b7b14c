--- copies: device functions that become others for one kernel, and that others call too: those keep
-- theirs, and the kernel calls a copy.
--
--   local copied = copies.of(kernel, { fn, … }, { [fn] = true })
--   copies.calls(fn)    the functions of the file that one mentions, and at which tokens
--
-- Where one cannot be copied, because its name is another's too, or a macro's body has it, the
-- second result says which, and why.

local M = {}

--- The functions of each name: several may have it, for other types.
---@return table<string, table[]>
function M.named(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    list[fn.name] = list[fn.name] or {}
    table.insert(list[fn.name], fn)
  end
  return list
end

-- Is a token a name by itself, no member of something?
local function is_free(words, token)
  local before = words[token - 1]
  return words.kind[token] == "name" and before ~= "." and before ~= "->"
end

--- The functions of the file that one mentions, by call or as what another calls: { fn, token }.
---@return { fn: table, token: integer }[]
function M.calls(fn)
  local words, list = fn.kernel.words, {}
  for token = fn.open, fn.close do
    local other = fn.kernel.by_name[words[token]]
    if other and other ~= fn and is_free(words, token) then
      list[#list + 1] = { fn = other, token = token }
    end
  end
  return list
end

--- A function, and all that it calls: each once.
---@return table[]
function M.reached(fn)
  local list, seen = { fn }, { [fn] = true }
  local i = 1
  while list[i] do
    for _, call in ipairs(M.calls(list[i])) do
      if not seen[call.fn] then
        seen[call.fn] = true
        list[#list + 1] = call.fn
      end
    end
    i = i + 1
  end
  return list
end

-- The names that are mentioned outside of some functions.
local function outside(kernel, reached)
  local words, inside, names = kernel.words, {}, {}
  for _, fn in ipairs(reached) do
    for token = fn.first, fn.close do inside[token] = true end
  end
  for token = 1, #words do
    if not inside[token] and is_free(words, token) then names[words[token]] = true end
  end
  return names
end

-- Those that others than the kernel call, or that one of these calls.
local function called_by_others(kernel, reached)
  local names, set, list = outside(kernel, reached), {}, {}
  local function add(fn)
    if set[fn] or fn.kind == "kernel" then return end
    set[fn] = true
    list[#list + 1] = fn
  end
  for _, fn in ipairs(reached) do
    if names[fn.name] then add(fn) end
  end
  for i = 1, #reached do
    for _, call in ipairs(list[i] and M.calls(list[i]) or {}) do add(call.fn) end
  end
  return set
end

local function mentions(fn, set)
  for _, call in ipairs(M.calls(fn)) do
    if set[call.fn] then return true end
  end
  return false
end

-- Why a function has no copy; nil where it has.
local function unfit(kernel, fn, names)
  local n = #names[fn.name]
  if n > 1 then return ("there are %d functions %s"):format(n, fn.name) end
  for name, macro in pairs(kernel.macros) do
    for _, inside in ipairs(macro.names) do
      if inside == fn.name then return ("the macro %s calls %s"):format(name, fn.name) end
    end
  end
end

--- The functions that are to be copied.
---@param reached table[] kernels and what they call
---@param changed table<table, true> those of them that change; their callers are added
---@return table<table, true>? copied
---@return string? message
function M.of(kernel, reached, changed)
  local names, others = M.named(kernel), called_by_others(kernel, reached)
  local copied, again = {}, true
  while again do
    again = false
    for _, fn in ipairs(reached) do
      if changed[fn] and others[fn] and not copied[fn] then
        local why = unfit(kernel, fn, names)
        if why then return nil, why end
        copied[fn], again = true, true
      elseif not changed[fn] and mentions(fn, copied) then
        changed[fn], again = true, true
      end
    end
  end
  return copied
end

return M
