-- launchsize: the launches of a kernel with blocks of another size, and grids of as many threads as
-- before: kernel<<<(n + 255) / 256, 256>>> becomes kernel<<<(n + 511) / 512, 512>>>.
--
-- A number is changed where it stands: in the launch, or in a definition that these launches alone
-- see (gilua.launchcone). A grid that is made of the block follows it, or gets the block's numbers
-- in its own; whether that is right is asked of the host's code read again, for many values of what
-- the grid is made of. Any other grid is scaled, (grid * 256 + 511) / 512, which is right for all.
-- A launch whose block is not known is left to the person.

local arithmetic = require "gilua.base.arithmetic"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local expression = require "gilua.problem.expression"
local launchcone = require "gilua.new.launchcone"
local launchedit = require "gilua.new.launchedit"
local launchsites = require "gilua.host.launchsites"
local trees = require "gilua.source.expression"

local M = {}

local SIDES = { "x", "y", "z" }
local MOST_SITES = 32 -- launches of a kernel: of each the host's code is read several times
local MOST_DEPTH = 6 -- names made of names
local LEAST_TRIALS = 8
local TRIALS = 60

---@class LaunchSize what launches are to be
---@field block (integer|false)[] the sides that change: what to
---@field per_block fun(block: integer[], is_new: boolean): integer[] elements for which there is
---  one block of these sides, in each dimension: of the kernel as it was, or as it is to be
---@field shared fun(block: integer[], is_new: boolean): integer? bytes of shared memory, likewise

---@class SizedFile
---@field name? string as the host's code includes it; nil: the host's own file
---@field old string as it was
---@field was? string likewise, with the macros that launch written out
---@field text string

--------------------------------------------------------------------------------------------------
-- What launches are

-- A launch as the host's code says it; nil where its conditions leave it out.
local function launch_of(host, name, sites, k, kernel)
  local place = ("line %d%s"):format(sites[k].line, name and " of " .. name or "")
  local same = 0
  for i = 1, k - 1 do
    if sites[i].file == sites[k].file and sites[i].line == sites[k].line then same = same + 1 end
  end
  for i, one in ipairs(host:every_launch(kernel)) do
    if one.place == place and same == 0 then return host:launch(kernel, i) end
    same = same - (one.place == place and 1 or 0)
  end
end

-- A launch that the host's code leaves out, as its own words say it; nil where its block has names,
-- which may be anything there.
local function launch_in(text, site)
  local function text_of(range)
    return range and text:sub(range.t:first(range[1]), range.t:last(range[2]))
  end
  local block = text_of(site.block)
  local is_plain = block and not block:gsub("dim3", ""):find "[%a_]"
  return is_plain and { grid = text_of(site.grid), block = block, shared = text_of(site.shared) }
    or nil
end

---@class LaunchState files as they are, and what their launches are by the host's code
---@field texts string[]
---@field cone LaunchCone its sites have `launch`, where that is known
---@field host HostCode

local function state_of(o, texts)
  local cone, host = launchcone.of(texts, o.kernel), o.read(texts)
  for k, site in ipairs(cone.sites) do
    site.launch = launch_of(host, o.files[site.file].name, cone.sites, k, o.kernel)
      or launch_in(texts[site.file], site)
  end
  return { texts = texts, cone = cone, host = host, want = o.want }
end

-- Three sides of a grid or block as C makes whole numbers of them; nil where one is not known.
local function dimensions(host, text)
  local list, xyz = host:sides(text), { 1, 1, 1 }
  for d, part in ipairs(#list <= 3 and list or { "" }) do
    local v = host:value(part)
    xyz[d] = v and arithmetic.truncated(v)
    if not xyz[d] or xyz[d] <= 0 then return nil end
  end
  return xyz
end

--- Returns what `compute` does, with other values of names.
---@param host table
---@param given table<string, any> values by name
---@param compute fun(): any
function M.under(host, given, compute)
  local known = host.known
  host.known = setmetatable({}, { __index = given })
  local value = compute()
  host.known = known
  return value
end

local leaves

-- The texts that a dim3 is made of; nil of what is none.
local function texts_of_dim3(host, name)
  local sides = host.dim_sides[name]
  if not (host.dims[name] or sides) then return nil end
  local list = host.dims[name] and host:sides(host.dims[name]) or {}
  for _, side in ipairs(SIDES) do list[#list + 1] = sides and sides[side] or nil end
  return list
end

-- Is a name's value made of others that may have any?
local function is_made(host, text, depth)
  local inner = depth > 0 and leaves(host, text, {}, depth - 1) or {}
  if not next(inner) then return false end
  local given = {}
  for name in pairs(inner) do given[name] = 1000 end
  return M.under(host, given, function() return dimensions(host, text) end) ~= nil
end

-- Adds what a name is made of, down to names that nothing else says; itself where that is nothing.
local function add_leaves(host, name, found, depth)
  local of_dim3 = texts_of_dim3(host, name)
  local made_of = not of_dim3 and host.definitions[name]
  for _, text in ipairs(depth > 0 and of_dim3 or {}) do leaves(host, text, found, depth - 1) end
  if made_of and is_made(host, made_of, depth) then
    leaves(host, made_of, found, depth - 1)
  elseif not of_dim3 then
    found[name] = true
  end
end

-- The names that a text is made of, down to those that nothing else says: of members and variables,
-- not of functions.
function leaves(host, text, found, depth)
  local function visit(node)
    local owner = node.kind == "member" and not node.arrow and node.a.text
    if node.kind == "name" then
      add_leaves(host, node.text:match "[^:%s]+$", found, depth)
    elseif node.kind == "member" then
      add_leaves(host, owner and texts_of_dim3(host, owner) and owner or node.name, found, depth)
    elseif node.kind == "call" then
      trees.walk(node.callee.a, visit)
      for _, arg in ipairs(node.args) do trees.walk(arg, visit) end
    end
    return node.kind ~= "call" and (node.kind ~= "member" or node.a.kind ~= "name")
  end
  code_of.walk(host, text, visit)
  return found
end

--- The names that a text is made of, down to those that nothing else says.
---@param host HostCode
---@param text string
---@return table<string, true>
function M.leaves(host, text) return leaves(host, text, {}, MOST_DEPTH) end

-- Does a name have one number for good?
local function is_constant(host, name)
  local text = host.definitions[name]
  if not text or text:find "[%a_]" and not text:find "^%d+[uUlL]+$" or host.later[name]
    or host.counted[name] then
    return false
  end
  for _, one in ipairs(host.bodies) do
    for _, param in ipairs(one.params) do
      if param.name == name then return false end
    end
  end
  return true
end

-- Values to try: of all names that the grid and the block are made of, but for constants that the
-- block has. The first are those that the host's code says.
local function trials(host, launch, sizes)
  local names, list = {}, { {} }
  local of_block = leaves(host, launch.block, {}, MOST_DEPTH)
  for name in pairs(leaves(host, launch.grid, {}, MOST_DEPTH)) do
    if not (of_block[name] and is_constant(host, name)) then names[#names + 1] = name end
  end
  for name in pairs(of_block) do
    if not is_constant(host, name) then names[#names + 1] = name end
  end
  table.sort(names)
  local numbers = { 1, 2, 100, 1000, 923, 1024, 4096, 8191, 12345, 40000, 65537, 99999, 250000,
    300007, 524288, 777777, 1000003, 1048576, 2000001, 3000000 }
  for _, n in ipairs(sizes) do
    for _, more in ipairs { n - 1, n, n + 1, 3 * n, 5 * n + 7, 2 * n - 1 } do
      if more > 0 then numbers[#numbers + 1] = more end
    end
  end
  for k = 1, names[1] and TRIALS or 0 do
    list[k + 1] = {}
    for i, name in ipairs(names) do
      list[k + 1][name] = numbers[(k * (2 * i - 1) + i) % #numbers + 1]
    end
  end
  return list, names
end

-- The grids and blocks of a launch before and now, for all values to try; nil where one is not
-- known now that was. Then whether enough are known.
local function shapes(was, state, k)
  local now, list = state.cone.sites[k].launch, {}
  for _, given in ipairs(was.values) do
    local function shape(host, launch)
      return M.under(host, given, function()
        return { grid = dimensions(host, launch.grid), block = dimensions(host, launch.block) }
      end)
    end
    local a = shape(was.host, was.launch)
    local b = a.grid and a.block and now and shape(state.host, now)
    if a.grid and a.block then
      if not (b and b.grid and b.block) then return nil end
      list[#list + 1] = { was = a, now = b }
    end
  end
  return list, list[1] and #list >= math.min(LEAST_TRIALS, #was.values)
end

-- Do `blocks` for so many elements each, and `others`, stand for one number of elements?
local function is_alike(blocks, each, others, other_each)
  return math.max((blocks - 1) * each, (others - 1) * other_each)
    < math.min(blocks * each, others * other_each)
end

-- Does a side of a launch's grid stand for as many elements as before? A grid that is the same
-- number for all values does not show what it was made for: that has to have all threads.
local function is_side_meant(list, want, d)
  local least, most, covers = math.huge, 0, true
  for _, one in ipairs(list) do
    local each = want.per_block(one.was.block, false)[d]
    local other = want.per_block(one.now.block, true)[d]
    local n, m = one.was.grid[d], one.now.grid[d]
    if not is_alike(n, each, m, other) then return false end
    least, most = math.min(least, n), math.max(most, n)
    covers = covers and n * each <= m * other
  end
  return least < most or covers
end

-- Has a launch the block that it is to have now, and a grid that goes with it?
local function is_meant(was, state, k)
  local list, is_known = shapes(was, state, k)
  for d = 1, list and is_known and 3 or 0 do
    for _, one in ipairs(list) do
      if one.now.block[d] ~= (state.want.block[d] or one.was.block[d]) then return false end
    end
    if not is_side_meant(list, state.want, d) then return false end
  end
  return list ~= nil and is_known
end

-- Has a launch the grid and the block that it had?
local function is_untouched(was, state, k)
  local list, is_known = shapes(was, state, k)
  for _, one in ipairs(list or {}) do
    for d = 1, 3 do
      if one.was.grid[d] ~= one.now.grid[d] or one.was.block[d] ~= one.now.block[d] then
        return false
      end
    end
  end
  return list ~= nil and is_known
end

--------------------------------------------------------------------------------------------------
-- Texts

-- A text in which numbers, and names of the old block, became those of the new: { [256] = 512 }.
local function with_numbers(text, numbers, names)
  local t <close>, edits = csource.tokens(text), {}
  for i = 1, #t do
    local plain, tail = t[i]:match "^(%d+)([%a.].*)$"
    local n = tonumber(plain or t[i])
    local name = t:kind(i) == "name" and t[i - 1] ~= "." and names[t[i]]
    local side = name and t[i + 1] == "." and name[t[i + 2]]
    if t:kind(i) == "number" and numbers[n] then
      edits[#edits + 1] = launchsites.edit(t, { i, i }, numbers[n] .. (tail or ""))
    elseif name then
      edits[#edits + 1] = launchsites.edit(t, { i, side and i + 2 or i }, tostring(side or name[1]))
    end
  end
  return launchsites.edited(text, edits)
end

local function divided(a, b)
  local x, y = a, b
  while y ~= 0 do x, y = y, x % y end
  return a // x, b // x
end

-- A text that is a whole number in C, so that a quotient of it is.
local function whole(text)
  local is_real = text:find "%d%.%d*" or text:find "ceil" or text:find "floor"
    or text:find "double" or text:find "float"
  return is_real and "(int)" .. launchedit.in_brackets(text) or text
end

-- A grid for as many elements: of blocks for `other`, where there were some for `each`, a number,
-- or a text that only a run gives a value.
local function scaled(grid, each, other)
  local a, b = each, other
  if math.type(each) then a, b = divided(each, other) end
  local plain = math.tointeger(tonumber(grid))
  if plain and math.type(a) then return tostring((plain * a + b - 1) // b) end
  local text = whole(grid)
  if a ~= 1 then text = ("%s * %s"):format(launchedit.in_brackets(text), a) end
  return b > 1 and ("(%s + %d) / %d"):format(text, b - 1, b) or text
end

--------------------------------------------------------------------------------------------------
-- Ways to change a launch

local function source(state, range)
  return state.texts[range.file]:sub(range.t:first(range[1]), range.t:last(range[2]))
end

local function shape_at(state, range)
  return launchedit.shape(state.cone.codes[range.file], source(state, range))
end

-- Adds an edit; false where another is in its place.
local function add(edits, new)
  for _, e in ipairs(edits) do
    if e.file == new.file and e.from <= new.to and new.from <= e.to then
      return e.from == new.from and e.to == new.to and e.text == new.text
    end
  end
  edits[#edits + 1] = new
  return true
end

-- Adds the edit that puts a text where tokens are; false where another is in its place.
local function put(edits, range, text)
  local new = launchsites.edit(range.t, range, text)
  new.file = range.file
  return add(edits, new)
end

-- What numbers of a grid's side become.
local function numbers_of(was, d)
  local numbers = {}
  for _, pair in ipairs { { was.each[d], was.new_each[d] }, { was.block[d], was.new_block[d] } } do
    if pair[1] > 1 and pair[1] ~= pair[2] then
      numbers[pair[1] - 1], numbers[pair[1]] = pair[2] - 1, pair[2]
    end
  end
  return numbers
end

-- What the block's name becomes in a grid, `T` or `block.x`.
local function names_of(was, site)
  local b, first = was.new_block, site.block[1]
  if first ~= site.block[2] or site.t:kind(first) ~= "name" then return {} end
  return { [site.t[first]] = { b[1], x = b[1], y = b[2], z = b[3] } }
end

-- A side of a grid scaled; nil where nobody knows how.
local function scaled_side(state, was, site, text, d)
  if was.is_fixed then return scaled(text, was.each[d], was.new_each[d]) end
  local block = shape_at(state, site.block)
  local times = was.each[d] // was.block[d]
  if not block or was.each[d] % was.block[d] ~= 0 then return nil end
  local each = launchedit.in_brackets(block.sides[d])
  return scaled(text, times > 1 and ("%s * %d"):format(each, times) or each, was.new_each[d])
end

-- Does a side of the grid have to be another?
local function is_other(was, d)
  return was.each[d] ~= was.new_each[d] or not was.is_fixed and was.changes[d] and was.follows[d]
end

-- A side of a grid in one of three ways; nil where nobody knows how.
local function side_of(state, was, site, way, d, text, names)
  if way == "follows" or not is_other(was, d) then return text end
  if way == "numbers" then return with_numbers(text, numbers_of(was, d), names) end
  return scaled_side(state, was, site, text, d)
end

-- Is a place that of a number, or of a launch itself?
local function may_change(state, site, place)
  return place == site.block or not source(state, place):gsub("%d[uUlL]*", ""):find "[%a_]"
end

-- Edits where a launch's numbers stand; nil where they have no such place.
local function in_place(state, was, site, way)
  local edits = {}
  local function place_of(range, d)
    local place = state.cone:place(range, d)
    if place or d > 1 then return place end
    local shape = shape_at(state, range)
    return shape and not shape.is_dim3 and range or nil
  end
  for d = 1, 3 do
    if was.changes[d] then
      local place = place_of(site.block, d)
      local suffix = place and source(state, place):match "^%d+([uUlL]+)$" or ""
      if not place or not may_change(state, site, place)
        or not put(edits, place, was.new_block[d] .. suffix) then return nil end
    end
    if way ~= "follows" and is_other(was, d) then
      local place = place_of(site.grid, d)
      if place and way == "scaled" and state.cone:has_own(place) then return nil end
      local text = place and side_of(state, was, site, way, d, source(state, place), {})
      if not text or not put(edits, place, text) then return nil end
    end
  end
  return edits
end

-- The block of a launch: its numbers where it has them in all runs.
local function block_at(state, was, site)
  if not was.is_fixed then return shape_at(state, site.block) end
  local sides = {}
  for d = 1, 3 do sides[d] = tostring(was.block[d]) end
  return { sides = sides, is_dim3 = was.block[2] * was.block[3] > 1 }
end

-- Edits at the launch alone: what else sees its names sees no other values.
local function at_launch(state, was, site, way)
  local block, grid, edits = block_at(state, was, site), shape_at(state, site.grid), {}
  if not block or not grid then return nil end
  for d = 1, 3 do
    local names = names_of(was, site)
    local text = side_of(state, was, site, way, d, grid.sides[d], names)
    if not text then return nil end
    if text ~= grid.sides[d] then launchedit.set_side(grid, d, text) end
  end
  for d = 1, 3 do
    if was.changes[d] then launchedit.set_side(block, d, tostring(was.new_block[d])) end
  end
  if block.is_changed then put(edits, site.block, launchedit.text(block)) end
  if grid.is_changed then put(edits, site.grid, launchedit.text(grid)) end
  return edits
end

-- The first that gives what is meant is taken.
local WAYS = { { in_place, "follows" }, { in_place, "numbers" }, { at_launch, "follows" },
  { at_launch, "numbers" }, { in_place, "scaled" }, { at_launch, "scaled" } }

--------------------------------------------------------------------------------------------------
-- Launches, one after the other

local function with_edits(o, state, edits)
  local texts = {}
  for file, text in ipairs(state.texts) do
    local own = {}
    for _, e in ipairs(edits) do own[#own + 1] = e.file == file and e or nil end
    texts[file] = launchsites.edited(text, own)
  end
  return state_of(o, texts)
end

-- Is every other launch what it was, or what it is to be?
local function are_others_right(old, state, k)
  for i, was in ipairs(old) do
    if i ~= k and not (was.launch and (is_untouched(was, state, i)
        or is_meant(was, state, i))) then return false end
  end
  return true
end

-- The state in which a launch whose grid nobody can work out has its size, where nothing that the
-- grid is made of may have changed; else nil.
local function sized_blindly(o, state, was, site)
  if o.is_moved or state.is_moved then return nil end
  local new = with_edits(o, state, at_launch(state, was, site, "scaled") or {})
  local now = new.cone.sites[was.k].launch
  local block = now and dimensions(new.host, now.block)
  for d = 1, 3 do
    if not block or block[d] ~= was.new_block[d] then return nil end
  end
  return new
end

-- The state in which a launch has its size; nil where nobody knows how.
local function sized(o, old, state, k)
  local was, site = old[k], state.cone.sites[k]
  if is_meant(was, state, k) then return state end
  local list = shapes(was, state, k)
  if list and not list[1] then return sized_blindly(o, state, was, site) end
  for _, way in ipairs(WAYS) do
    local how, what = way[1], way[2]
    local edits = how(state, was, site, what)
    local new = edits and with_edits(o, state, edits)
    if new and is_meant(was, new, k)
      and (how == at_launch or are_others_right(old, new, k)) then
      new.is_moved = state.is_moved or how == in_place
      return new
    end
  end
end

-- The state in which all launches have their size in one step, where their numbers stand: they may
-- share them. Nil where that is not so.
local function sized_together(o, old, state)
  for _, what in ipairs { "follows", "numbers" } do
    local edits, is_right = {}, true
    for k, site in ipairs(state.cone.sites) do
      local own = old[k].launch and in_place(state, old[k], site, what)
      is_right = is_right and own ~= nil and own ~= false
      for _, e in ipairs(own or {}) do is_right = is_right and add(edits, e) end
    end
    local new = is_right and with_edits(o, state, edits)
    for k in ipairs(new and old or {}) do
      is_right = is_right and is_meant(old[k], new, k)
    end
    if new and is_right then return new end
  end
end

-- The edit that gives a launch other bytes of shared memory: { } where it has them, nil where it is
-- not known how.
local function shared_edits(state, was, site)
  local old, new = state.want.shared(was.block, false), state.want.shared(was.new_block, true)
  local now = site.launch and site.launch.shared and state.host:value(site.launch.shared)
  if old == new or now == new then return {} end
  if now ~= old or not site.shared then return nil end
  local text, edits, numbers = source(state, site.shared), {}, numbers_of(was, 1)
  numbers[old], numbers[was.block[1] - 1] = new, nil
  local brackets = launchedit.in_brackets(text)
  for _, other in ipairs { with_numbers(text, numbers, names_of(was, site)),
    ("%s * %d"):format(brackets, new // old), ("%s / %d"):format(brackets, old // new) } do
    if other ~= text and state.host:value(other) == new then
      put(edits, site.shared, other)
      return edits
    end
  end
end

-- What a launch was: its block, for how many elements a block was, whether it is so in all runs;
-- and what it is to be. Nothing where the host's code does not say how long its block is.
local function note_old(state, k, want)
  local site, host = state.cone.sites[k], state.host
  local launch = site.grid and site.block and site.launch
  local block = launch and dimensions(host, launch.block)
  if not block then return {} end
  local was = { k = k, launch = launch, host = host, block = block, new_block = {},
    changes = {}, each = want.per_block(block, false), is_fixed = true }
  for d = 1, 3 do
    was.new_block[d] = want.block[d] or block[d]
    was.changes[d] = was.new_block[d] ~= block[d]
  end
  was.new_each = want.per_block(was.new_block, true)
  was.follows = {} -- sides whose number of blocks follows from the block
  local longer = want.per_block({ 2 * block[1], 2 * block[2], 2 * block[3] }, false)
  for d = 1, 3 do was.follows[d] = longer[d] ~= was.each[d] end
  for name in pairs(leaves(host, launch.block, {}, MOST_DEPTH)) do
    was.is_fixed = was.is_fixed and is_constant(host, name)
  end
  for d = 1, 3 do was.changes[d] = was.changes[d] or not was.is_fixed and want.block[d] end
  was.values = trials(host, launch, { block[1], was.new_block[1], was.each[1], was.new_each[1],
    was.new_each[2] })
  return was
end

-- The values of a problem's parameters, as it was and with those that are set.
local function values_of(parameters, set)
  local old, new = {}, {}
  for _, p in ipairs(parameters) do
    old[p.name] = tonumber(p.default) or p.default
    new[p.name] = tonumber(set[p.name]) or set[p.name] or old[p.name]
  end
  return old, new
end

--- What the launches of a problem are to be; nil where they stay as they are.
---@param t table the problem's
---@param parameters { name: string, default: any }[]
---@param set table<string, any> what a genome gives them
---@return LaunchSize?
function M.wanted(t, parameters, set)
  local old, new = values_of(parameters, set)
  local size = { block = {} }
  local function names_of_block(block, is_new)
    local names = setmetatable({ math = math }, { __index = is_new and new or old })
    for d, side in ipairs(SIDES) do names["block_size_" .. side] = block[d] end
    return names
  end
  function size.per_block(block, is_new)
    local names, each = names_of_block(block, is_new), {}
    for d, side in ipairs(SIDES) do
      each[d] = 1
      local divisors = t.grid and t.grid[d] and {} or t["grid_div_" .. side] or { block[d] }
      for _, text in ipairs(divisors) do
        each[d] = each[d] * expression.whole(text, names, "grid_div_" .. side)
      end
    end
    return each
  end
  function size.shared(block, is_new)
    return t.shared and expression.number(t.shared, names_of_block(block, is_new), "shared")
  end
  local was, now, differs = {}, {}, false
  for d, side in ipairs(SIDES) do
    was[d], now[d] = old["block_size_" .. side] or 1, new["block_size_" .. side] or 1
    size.block[d] = was[d] ~= now[d] and now[d]
    differs = differs or was[d] ~= now[d]
  end
  local each, other = size.per_block(was, false), size.per_block(now, true)
  for d = 1, 3 do differs = differs or each[d] ~= other[d] end
  differs = differs or size.shared(was, false) ~= size.shared(now, true)
  return differs and size or nil
end

--- Files with a kernel's launches of another size.
---@param o { files: SizedFile[], kernel: string, want: LaunchSize,
---  read: fun(texts: string[]): HostCode, is_moved: boolean } read: the host's code where the files
---  have other texts; is_moved: numbers that a grid may be made of are others than in a file's old
---@return string[] texts
---@return integer done how many launches have it
---@return LaunchSite[] left those that nobody knows how to give it; each has `file`
function M.edited(o)
  local before, texts, old = {}, {}, {}
  for i, file in ipairs(o.files) do before[i], texts[i] = file.was or file.old, file.text end
  local first = state_of(o, before)
  local state, done, left = state_of(o, texts), 0, {}
  local is_odd = #first.cone.sites ~= #state.cone.sites or #first.cone.sites > MOST_SITES
  for k in ipairs(is_odd and {} or first.cone.sites) do old[k] = note_old(first, k, o.want) end
  state = old[2] and sized_together(o, old, state) or state
  for k, site in ipairs(state.cone.sites) do
    local new = old[k] and old[k].launch and sized(o, old, state, k)
    local edits = new and shared_edits(new, old[k], new.cone.sites[k])
    if edits then
      state, done = edits[1] and with_edits(o, new, edits) or new, done + 1
    else
      left[#left + 1] = site
    end
  end
  return state.texts, done, left
end

return M
