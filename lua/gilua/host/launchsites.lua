-- launchsites: where a text launches kernels, as tokens, for those who read launches and those who
-- write them:
--
--   kernel<<<grid, block, shared>>>(…)
--   cudaLaunchKernel(kernel, grid, block, arguments, shared, stream), the cooperative one, too
--   cudaLaunchKernelEx(&configuration, kernel, …), where each field of the configuration is given
--     once and one launch alone has it

local csource = require "gilua.source.csource"

local M = {}

local MOST_WORDS = 400 -- of a launch: one that has more is not understood
local MOST_BACK = 4000 -- words before a launch among which its arguments and configuration are
local NOT_IN_LAUNCHES = csource.set "; { } <<<"
local FIELDS = { "gridDim", "blockDim", "dynamicSmemBytes" } -- of a configuration, in their order

---@alias TokenRange { [1]: integer, [2]: integer } the first token and the last

---@class LaunchSite
---@field t userdata tokens
---@field line integer
---@field kernel string
---@field name integer the token of its name
---@field template string[] its arguments
---@field grid? TokenRange these four are nil where the launch is not understood
---@field block? TokenRange
---@field shared? TokenRange nil also where it gives none
---@field args? string[]
---@field open? integer of kernel<<<…>>>(…) the bracket of the arguments
---@field close? integer

-- The name launched by the <<< at a token, its token, and the arguments of its template.
local function launched(t, i)
  if t:kind(i - 1) == "name" then return t[i - 1], i - 1, {} end
  local depth, k = 0, i - 1
  while t[k] and k > i - MOST_WORDS do
    local word = t[k]
    if word:find "^>+$" then depth = depth + #word
    elseif word == "<" then depth = depth - 1
    elseif NOT_IN_LAUNCHES[word] then return nil end
    if depth <= 0 then break end
    k = math.min(t:match(k) or k, k) - 1
  end
  if t[k] ~= "<" or t:kind(k - 1) ~= "name" then return nil end
  return t[k - 1], k - 1, csource.split(t:text(k + 1, i - 1):sub(1, -2)) -- without the last >
end

local function by_brackets(t, i)
  local kernel, name, template = launched(t, i)
  if not kernel then return nil end
  local site, close = { t = t, line = t:line(i), kernel = kernel, name = name,
    template = template }, i + 1
  while t[close] ~= ">>>" do
    if not t[close] or NOT_IN_LAUNCHES[t[close]] or close > i + MOST_WORDS then return site end
    close = csource.past(t, close)
  end
  local behind = t[close + 1] == "(" and t:match(close + 1)
  if not behind or behind > close + MOST_WORDS then return site end
  local how = csource.ranges(t, i + 1, close - 1)
  site.args = csource.parts(t, close + 2, behind - 1)
  site.grid, site.block, site.shared = how[1], how[2], how[3]
  site.open, site.close = close + 1, behind
  return site
end

-- The kernel that an argument names: `k`, `(void *)k<int>`, `reinterpret_cast<const void *>(&k)`;
-- the token of its name, and the arguments of its template.
local function named(t, range)
  local first, last = range[1], range[2]
  while t[last] == ")" and (t:match(last) or 0) > first do
    first, last = t:match(last) + 1, last - 1
  end
  if t:kind(last) == "name" then return last, {} end
  for k = first, last - 1 do
    if t[k] == "<" and t:kind(k - 1) == "name" and csource.angle_end(t, k) == last then
      return k - 1, csource.split(t:text(k + 1, last):sub(1, -2))
    end
  end
end

-- The token of a name before another, where something is so that stands behind it.
local function before(t, i, name, is_it)
  for k = i - 1, math.max(1, i - MOST_BACK), -1 do
    if t[k] == name and t:kind(k) == "name" and is_it(k) then return k end
  end
end

-- What `void *arguments[] = { &a, &b }` before a launch holds; nil where that is not told.
local function listed(t, i, range)
  local name = range and t:kind(range[2]) == "name" and t[range[2]]
  local at = name and before(t, i, name, function(k)
    local close = t[k + 1] == "[" and t:match(k + 1)
    return close and t[close + 1] == "=" and t[close + 2] == "{" and t:match(close + 2)
  end)
  local open = at and t:match(at + 1) + 2
  local list = open and csource.parts(t, open + 1, t:match(open) - 1)
  for k, text in ipairs(list or {}) do
    list[k] = text:gsub("^%(%s*void%s*%*%s*%)", ""):match "^%s*&?%s*(.-)%s*$"
  end
  return list
end

local function by_call(t, i)
  local close = t[i + 1] == "(" and t:match(i + 1)
  local list = close and close < i + MOST_WORDS and csource.ranges(t, i + 2, close - 1) or {}
  local name, template = nil, nil
  if list[3] then name, template = named(t, list[1]) end
  local args = name and listed(t, i, list[4])
  return name and { t = t, line = t:line(i), kernel = t[name], name = name, template = template,
    grid = args and list[2], block = args and list[3], shared = args and list[5], args = args }
end

-- Where the configuration of a name is declared before a token; nil where another launch has it,
-- too.
local function configuration(t, i, name)
  local at = before(t, i, name, function(k) return t[k - 1] == "cudaLaunchConfig_t" end)
  local uses = 0
  for k = at or #t, #t do
    if k > i and t[k] == "cudaLaunchConfig_t" and t[k + 1] == name then break end
    if t[k] == "&" and t[k + 1] == name then uses = uses + 1 end
  end
  return uses == 1 and at or nil
end

-- What a configuration's declaration gives its fields: `{ g, b }`, `{ .gridDim = g }`.
local function initial(t, at)
  local open, fields = t[at + 1] == "=" and at + 2 or at + 1, {}
  local close = t[open] == "{" and t:match(open)
  for k, range in ipairs(close and csource.ranges(t, open + 1, close - 1) or {}) do
    local is_named = t[range[1]] == "." and t[range[1] + 2] == "="
    local field = is_named and t[range[1] + 1] or FIELDS[k]
    if field then fields[field] = is_named and { range[1] + 3, range[2] } or range end
  end
  return fields
end

-- The ranges of a configuration's fields; nil for one that is given several times.
local function fields_of(t, at, i)
  local fields, name, given = initial(t, at), t[at], {}
  for k = at + 1, i - 1 do
    local field = t[k] == name and t[k + 1] == "." and t[k + 3] == "=" and t[k + 2]
    local stop = field and t:find(k, ";")
    if stop then
      fields[field] = not given[field] and { k + 4, stop - 1 } or nil
      given[field] = true
    end
  end
  return fields
end

local function by_configuration(t, i)
  local close = t[i + 1] == "(" and t:match(i + 1)
  local list = close and close < i + MOST_WORDS and csource.ranges(t, i + 2, close - 1) or {}
  local name, template = nil, nil
  if list[2] then name, template = named(t, list[2]) end
  if not name then return nil end
  local site = { t = t, line = t:line(i), kernel = t[name], name = name, template = template }
  local at = configuration(t, i, t[list[1][2]])
  local fields = at and fields_of(t, at, i) or {}
  if t[i] == "cudaLaunchKernelExC" then
    site.args = listed(t, i, list[3])
  else
    site.args = csource.parts(t, (list[3] or { close })[1], close - 1)
  end
  if site.args then
    site.grid, site.block, site.shared = table.unpack({ fields.gridDim, fields.blockDim,
      fields.dynamicSmemBytes }, 1, 3)
  end
  return site
end

--- The tokens that may begin a launch, and what reads it.
M.READERS = { ["<<<"] = by_brackets, cudaLaunchKernel = by_call,
  cudaLaunchCooperativeKernel = by_call, cudaLaunchKernelEx = by_configuration,
  cudaLaunchKernelExC = by_configuration }

--- The launch at a token; nil where there is none.
---@param t userdata tokens
---@param i integer of `<<<`, or of the name of a call
---@return LaunchSite?
function M.at(t, i)
  local reader = M.READERS[t[i]]
  return reader and reader(t, i)
end

--- A text with edits: bytes from one to another replaced; they must not overlap.
---@param text string
---@param edits { from: integer, to: integer, text: string }[]
---@return string
function M.edited(text, edits)
  local pieces, at = {}, 1
  table.sort(edits, function(a, b) return a.from < b.from end)
  for _, e in ipairs(edits) do
    pieces[#pieces + 1] = text:sub(at, e.from - 1) .. e.text
    at = e.to + 1
  end
  return table.concat(pieces) .. text:sub(at)
end

--- The edit that puts another text where tokens are.
---@param t userdata tokens
---@param range TokenRange
---@param text string
---@return { from: integer, to: integer, text: string }
function M.edit(t, range, text)
  return { from = t:first(range[1]), to = t:last(range[2]), text = text }
end

--- The launches of a kernel, or of all, in the order of the text, those in macros too.
---@param t userdata tokens
---@param kernel? string
---@param list? LaunchSite[] more are added to it
---@return LaunchSite[]
function M.of(t, kernel, list)
  list = list or {}
  for i = 1, #t do
    local site = M.at(t, i)
    if site and (site.kernel == kernel or not kernel) then list[#list + 1] = site end
    if t:kind(i) == "directive" then M.of(t:inside(i), kernel, list) end
  end
  return list
end

return M
