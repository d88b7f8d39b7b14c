--- stage: elements that all threads of a block read in the same iteration of a loop come through
-- shared memory: the block loads so many at once, waits, and goes over them.
--
--   for (int i_from = 0; i_from < n; i_from += 128) {
--     __syncthreads();
--     // each thread loads some of a[i_from] to a[i_from + 127] into a_tile
--     __syncthreads();
--     for (int i = i_from; i < n && i < i_from + 128; i++) … a_tile[i - i_from] …
--   }
--
-- Only where all threads of a block come to the loop, from the same start to the same bound.

local affine = require "gilua.transform.affine"
local edit = require "gilua.transform.edit"
local effects = require "gilua.transform.effects"
local loop_of = require "gilua.transform.loop"
local uniform = require "gilua.transform.uniform"

local SIZES = { 64, 128, 256 }

local THREAD = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"
local THREADS = "blockDim.x * blockDim.y * blockDim.z"

-- Is an index i + what is the same in all threads and iterations?
local function is_shared_index(loop, index)
  local fn, factor = loop.fn, affine.in_variable(loop.fn.kernel, index, loop.variable)
  if factor ~= 1 then return false end
  local all, varying = effects.of(fn, index), uniform.varying(fn)
  if #all.accesses > 0 or all.opaque or not varying then return false end
  for name in pairs(all.reads) do
    if name ~= loop.variable and (varying[name] or name == "threadIdx" or loop.inside.writes[name])
    then
      return false
    end
  end
  return true
end

-- The elements of each iteration that all threads read: { text, index, base, type, nodes }.
local function elements(loop)
  local list, by_text, fn = {}, {}, loop.fn
  for _, access in ipairs(loop.inside.accesses) do
    local node = access.node
    local type = node and node.kind == "index" and access.mode == "read" and not access.cached
      and not access.escapes and access.indices and #access.indices == 1 and access.root
      and fn:is_constant(access.root) and fn:element_type(access)
    if type and is_shared_index(loop, access.indices[1]) then
      local text = fn.kernel:plain(node)
      if not by_text[text] then
        by_text[text] = { text = text, node = node, base = access.base, type = type, nodes = {} }
        list[#list + 1] = by_text[text]
      end
      table.insert(by_text[text].nodes, node)
    end
  end
  return list
end

local function refusal(loop)
  local fn = loop.fn
  if not loop.simple or loop.conditional or loop.barrier or not loop.declares or loop.step ~= 1
    or loop.relation ~= "<" then
    return "it does not count up by one, by itself"
  end
  if not uniform.is_reached(fn, loop.statement) then return "not all threads may come to it" end
  if not uniform.is_uniform(fn, loop.start) or not uniform.is_uniform(fn, loop.bound) then
    return "threads go through it from and to different places"
  end
end

local function staged(loop)
  local why = refusal(loop)
  if why then return nil, why end
  local list = elements(loop)
  if #list == 0 then return nil, "no element in it is one that all threads read" end
  local tokens = loop_of.variable_tokens(loop, loop.body)
  if not tokens then return nil, "its variable is hidden in a macro or declared again" end
  return list
end

-- The source of an element where the loop's variable is another text.
local function element_at(loop, element, text)
  local kernel, instead = loop.fn.kernel, {}
  for i = element.node.first, element.node.last do
    if kernel.words[i] == loop.variable then instead[i] = text end
  end
  return kernel:source(element.node.first, element.node.last, instead)
end

local function tiled(loop, list, size)
  local kernel, s, instead = loop.fn.kernel, loop.statement, {}
  local from, k = kernel:fresh(loop.variable .. "_from"), kernel:fresh("tile_place")
  local type, bound = s.init.declared[1].type, kernel:plain(loop.bound)
  local indent = kernel:indent(s.first)
  local loads, tiles, taken = {}, {}, {}
  for _, element in ipairs(list) do
    local tile = kernel:fresh(element.base .. "_tile")
    while taken[tile] do tile = kernel:fresh(tile .. "_too") end
    taken[tile] = true
    tiles[#tiles + 1] = ("  __shared__ %s %s[%d];"):format(element.type, tile, size)
    loads[#loads + 1] = ("      %s[%s] = %s;"):format(tile, k, element_at(loop, element,
      ("(%s + %s)"):format(from, k)))
    for _, node in ipairs(element.nodes) do
      instead[node.first] = { ("%s[%s - %s]"):format(tile, loop.variable, from), node.last }
    end
  end
  local body = kernel:source(loop.body.first, loop.body.last, instead):gsub("\n", "\n    ")
  local lines = { "{" }
  table.move(tiles, 1, #tiles, 2, lines)
  for _, line in ipairs {
    ("  for (%s %s = %s; %s < %s; %s += %d) {"):format(type, from, kernel:plain(loop.start), from,
      bound, from, size),
    "    __syncthreads();",
    ("    for (int %s = %s;"):format(k, THREAD),
    ("         %s < %d && %s + %s < %s;"):format(k, size, from, k, bound),
    ("         %s += %s) {"):format(k, THREADS),
  } do lines[#lines + 1] = line end
  table.move(loads, 1, #loads, #lines + 1, lines)
  for _, line in ipairs {
    "    }",
    "    __syncthreads();",
    ("    for (%s %s = %s; %s < %s && %s < %s + %d; %s++)%s"):format(type, loop.variable, from,
      loop.variable, bound, loop.variable, from, size, loop.variable,
      (loop.body.kind == "block" and " " or "\n" .. indent .. "      ") .. body),
    "  }",
    "}",
  } do lines[#lines + 1] = line end
  return table.concat(lines, "\n" .. indent)
end

local M = { name = "stage", apart = true,
  doc = "Elements that all threads of a block read, through shared memory." }

function M.find(kernel) return kernel:loop_places(SIZES, staged) end

function M.make(kernel, line, args)
  local size = math.tointeger(tonumber(args[1]))
  if not size or size < 16 or size > 1024 then return nil, "16 to 1024 elements at a time" end
  return kernel:first_loop(line, function(loop)
    local list, why = staged(loop)
    if not list then return nil, why end
    local e = edit.new(kernel)
    for _, pragma in ipairs(loop.pragmas) do e:replace(pragma.first, pragma.last, "") end
    e:replace(loop.statement.first, loop.statement.last, tiled(loop, list, size))
    return { edits = e:lines(), says = ("%s comes through shared memory in the loop at line %d")
      :format(list[1].base, loop.line) }
  end)
end

return M
