-- launchsites: where a text launches kernels, as tokens, for those who read launches and those who
-- write them:
--
--   kernel<<<grid, block, shared>>>(…)
--   cudaLaunchKernel(kernel, grid, block, arguments, shared, stream), the cooperative one, too
--   cudaLaunchKernelEx(&configuration, kernel, …), where each field of the configuration is given
--     once and one launch alone has it
--
-- A pointer that is declared with a kernel and then launched alone, `auto step = kernel;`, is that
-- kernel. So is a parameter of a static function that has one call, which names the kernel.

local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local lists = require "gilua.base.lists"

local M = {}

local MOST_WORDS = 400 -- before the <<< of a launch that is not understood
local NOT_IN_LAUNCHES = csource.set "; { } <<<"
local FIELDS = { "gridDim", "blockDim", "dynamicSmemBytes" } -- of a configuration, in their order

---@alias TokenRange { [1]: integer, [2]: integer } the first token and the last

---@class LaunchSite
---@field t userdata tokens
---@field at integer the token of its <<<, or of the name of the call
---@field line integer
---@field kernel string
---@field name integer the token of its name
---@field given? integer of a launch by a pointer: the token of the kernel that this is
---@field template string[] its arguments
---@field grid? TokenRange these four are nil where the launch is not understood
---@field block? TokenRange
---@field shared? TokenRange nil also where it gives none
---@field args? string[]
---@field open? integer of kernel<<<…>>>(…) the bracket of the arguments
---@field close? integer

local function range_of(piece)
  return piece and { piece.first, piece.last }
end

local function by_brackets(code, m)
  local t, kernel, template = code.t, code_of.called(code, m.kernel)
  local at = m.kernel.last + 1
  for _, piece in ipairs(m.how) do kernel = piece.kind ~= "unknown" and kernel or nil end
  return kernel and m.how[2] and { t = t, at = at, line = t:line(at), kernel = kernel,
    name = m.kernel.token, template = template, grid = range_of(m.how[1]),
    block = range_of(m.how[2]), shared = range_of(m.how[3]), args = code_of.texts(code, m.args),
    open = t:match(m.last), close = m.last }
end

--- The token of the kernel's name before the <<< at a token; nil where there is none.
---@param at integer
---@return integer?
function M.name_before(t, at)
  local depth, k = 0, at - 1
  while t:kind(k) ~= "name" or depth > 0 do
    local word = t[k]
    if not word or k < at - MOST_WORDS or NOT_IN_LAUNCHES[word] then return nil end
    if word:find "^>+$" then depth = depth + #word
    elseif word == "<" then depth = depth - 1 end
    k = math.min(t:match(k) or k, k) - 1
  end
  return k
end

-- The launch of the <<< at a token that the tree has not: its name alone.
local function not_understood(t, at)
  local k = M.name_before(t, at)
  return k and { t = t, at = at, line = t:line(at), kernel = t[k], name = k, template = {} }
end

-- The kernel that an argument names: `k`, `(void *)k<int>`, `reinterpret_cast<const void *>(&k)`;
-- the token of its name, and the arguments of its template.
local function named(code, piece)
  local node = code_of.tree(code, code_of.text(code, piece)).tree
  while node and (node.kind == "cast" or node.op == "&") do node = node.a end
  if not node or node.kind ~= "name" then return nil end
  return piece.first + node.token - 1, node.template and csource.split(node.template) or {}
end

-- The declaration of a name that counts at a token; nil where there is none.
local function declared(code, name, at)
  local found
  for _, d in ipairs(code_of.declarations(code)) do
    if d.name == name and d.token < at and at <= d.scope_last then found = d end
  end
  return found
end

-- What `void *arguments[] = { &a, &b }` before a launch holds; nil where that is not told.
local function listed(code, at, piece)
  local d = piece and piece.kind == "name" and declared(code, code.t[piece.token], at)
  if not d or #d.extents == 0 or not d.init or d.init.kind ~= "list" then return nil end
  local list = code_of.texts(code, d.init.items)
  for k, text in ipairs(list) do
    list[k] = text:gsub("^%(%s*void%s*%*%s*%)", ""):match "^%s*&?%s*(.-)%s*$"
  end
  return list
end

local function by_call(code, site, args)
  site.args = listed(code, site.at, args[4])
  if site.args then
    site.grid, site.block, site.shared = range_of(args[2]), range_of(args[3]), range_of(args[5])
  end
end

-- The ranges of a configuration's fields, by its declaration, `{ g, b }`, `{ .gridDim = g }`, and
-- by assignments; nil for one that is given several times. None where another launch has it, too.
local function fields_of(code, d, at)
  local t, fields, given, uses = code.t, {}, {}, 0
  for k = d.token, d.scope_last do
    if t[k] == "&" and t[k + 1] == d.name then uses = uses + 1 end
  end
  if uses ~= 1 then return {} end
  local open = d.init_at and t:find(d.init_at, "{")
  for k, one in ipairs(open and open < d.last and csource.ranges(t, open + 1, d.last - 1) or {}) do
    local is_named = t[one[1]] == "." and t[one[1] + 2] == "="
    local field = is_named and t[one[1] + 1] or FIELDS[k]
    if field then fields[field] = is_named and { one[1] + 3, one[2] } or one end
  end
  for _, m in ipairs(code_of.found(code, "$a = $b")) do
    local is_own = m.a.kind == "member" and t[m.a.first] == d.name and m.a.token == m.a.first + 2
    if is_own and m.first > d.token and m.first < at then
      local field = t[m.a.token]
      fields[field], given[field] = not given[field] and range_of(m.b) or nil, true
    end
  end
  return fields
end

local function by_configuration(code, site, args, name)
  local d = declared(code, code.t[args[1].last], site.at)
  local fields = d and d.type == "cudaLaunchConfig_t" and fields_of(code, d, site.at) or {}
  local is_list = name == "cudaLaunchKernelExC"
  site.args = is_list and listed(code, site.at, args[3])
    or not is_list and code_of.texts(code, table.move(args, 3, #args, 1, {})) or nil
  if site.args then
    site.grid, site.block, site.shared = fields.gridDim, fields.blockDim, fields.dynamicSmemBytes
  end
end

-- Is a pointer used in launches alone, by its name?
local function is_launched_alone(code, d, sites)
  local at = {}
  for _, site in ipairs(sites) do at[site.name] = true end
  for i in function(_, k) return code.t:find(k + 1, d.name) end, nil, d.scope_first do
    if i > d.scope_last then break end
    if i ~= d.token and not at[i] then return false end
  end
  return true
end

-- What the one call of the static function around a token gives a parameter; nil of another
-- function.
local function handed(code, d, at)
  local t = code.t
  local f = lists.filter(code.s:functions(true), function(one)
    return one.open <= at and at <= one.close
  end)[1]
  local static = f and t:find(f.first, "static")
  if not static or static > f.token then return nil end
  local place, uses, given = nil, 0, nil
  for k, p in ipairs(f.params) do place = p.name == d.name and k or place end
  for _ in function(_, i) return t:find(i + 1, f.name) end, nil, 0 do uses = uses + 1 end
  for _, call in ipairs(code.calls) do
    if code_of.called(code, call.f) == f.name then given = call.args[place] end
  end
  return uses == 2 and given or nil -- it and the call
end

-- Gives a launch by a pointer the kernel that the pointer is declared with, or is handed.
local function settle(code, site, sites)
  local d = site.grid and declared(code, site.kernel, site.at)
  local is_own = d and d.within == "block" and not d.static and #d.extents == 0
  local is_parameter = d and d.parameter and #d.extents == 0
  local given = #site.template == 0
    and (is_own and code_of.begun(code, d) or is_parameter and handed(code, d, site.at))
  if not given or not is_launched_alone(code, d, sites) then return end
  local at, template = named(code, given)
  if at then site.kernel, site.template, site.given = code.t[at], template, at end
end

-- What reads a call that launches, and which of its arguments is the kernel.
local CALLS = { cudaLaunchKernel = { by_call, 1 }, cudaLaunchCooperativeKernel = { by_call, 1 },
  cudaLaunchKernelEx = { by_configuration, 2 }, cudaLaunchKernelExC = { by_configuration, 2 } }

--- The launches of a text in its order, without those in its macros.
---@return LaunchSite[]
function M.own(code)
  if code.sites then return code.sites end
  local t, list, is_read = code.t, {}, {}
  for _, m in ipairs(code_of.found(code, "$kernel<<<$$how>>>($$args)")) do
    local site = by_brackets(code, m)
    list[#list + 1], is_read[m.kernel.last + 1] = site, site ~= nil
  end
  for _, call in ipairs(code.calls) do
    local name = code_of.called(code, call.f)
    local reader, at, template = CALLS[name or ""], nil, nil
    if reader and call.args[3] then at, template = named(code, call.args[reader[2]]) end
    if at then
      local site = { t = t, at = call.first, line = t:line(call.first), kernel = t[at], name = at,
        template = template }
      reader[1](code, site, call.args, name)
      list[#list + 1] = site
    end
  end
  local at = t:find(1, "<<<")
  while at do
    if not is_read[at] then list[#list + 1] = not_understood(t, at) end
    at = t:find(at + 1, "<<<")
  end
  table.sort(list, function(a, b) return a.at < b.at end)
  for _, site in ipairs(list) do settle(code, site, list) end
  code.sites = list
  return list
end

--- The launches of a kernel, or of all, in the order of the text, those in macros too.
---@param kernel? string
---@return LaunchSite[]
function M.of(code, kernel)
  local list, own, k = {}, M.own(code), 1
  local function up_to(at)
    while own[k] and own[k].at < at do
      if own[k].kernel == kernel or not kernel then list[#list + 1] = own[k] end
      k = k + 1
    end
  end
  for i in csource.directives(code.t) do
    up_to(i)
    for _, site in ipairs(M.of(code_of.inside(code, i), kernel)) do list[#list + 1] = site end
  end
  up_to(math.huge)
  return list
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
---@param range TokenRange
---@param text string
---@return { from: integer, to: integer, text: string }
function M.edit(t, range, text)
  return { from = t:first(range[1]), to = t:last(range[2]), text = text }
end

return M
