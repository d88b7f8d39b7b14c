-- block_element: an array's element that is its block's own, a[blockIdx.x], and that the block's
-- threads tell each other by, stays in shared memory while the kernel runs.
--
--   int i = blockIdx.x;                      int i = blockIdx.x;
--   …                                        __shared__ int at_own;
--   if (found) at[i] = child;                if (threadIdx.x == 0) at_own = at[i];
--   __syncthreads();                         __syncthreads();
--   node = at[i];                            …
--
-- All of a kernel's such arrays at once. Nothing but the kernel's own words touches them meanwhile.

local edit = require "gilua.transform.edit"
local effects = require "gilua.transform.effects"
local expression = require "gilua.transform.expression"
local threads = require "gilua.transform.threads"

-- Is a tree blockIdx.x, or a variable that is that and nothing else?
local function is_block(fn, tree)
  if tree.kind == "cast" then return is_block(fn, tree.a) end
  if tree.kind == "member" then
    return tree.a.kind == "name" and tree.a.text == "blockIdx" and tree.name == "x"
  end
  local d = tree.kind == "name" and fn:declaration(tree.text, tree.first)
  local writes = effects.of(fn, fn.body).writes
  return d and d.init and not d.parameter and #(writes[d.name] or {}) == 1
    and is_block(fn, d.init) or false
end

-- Why nothing of a kernel can be kept so; nil where it can.
local function unfit(fn)
  local uses, all = threads.uses(fn), effects.of(fn, fn.body)
  if all.opaque or all.conditional then return "something in it is not understood" end
  if all["return"] or all["goto"] or all.label then return "it is left before its end" end
  if uses.whole then return ("%s is used as a whole"):format(uses.whole) end
  if #uses.threadIdx.y + #uses.threadIdx.z + #uses.blockIdx.y + #uses.blockIdx.z > 0 then
    return "its threads or blocks differ along more than x"
  end
  if not all.barrier then return "its threads do not wait for each other" end
end

-- The elements: { name (of the array), text, type, nodes, index }, in the order in which they
-- stand.
local function elements(fn)
  local list, by_root = {}, {}
  for _, access in ipairs(effects.of(fn, fn.body).accesses) do
    if not access.root then return {} end
    local e = by_root[access.root]
    if not e then
      local d = fn:declaration(access.root, fn.body.first)
      e = { name = access.root, nodes = {}, fits = d ~= nil and d.parameter and d.pointer == 1 }
      by_root[access.root], list[#list + 1] = e, e
    end
    local node = access.node
    e.fits = e.fits and access.base == access.root and node and node.kind == "index"
      and access.indices and #access.indices == 1 and is_block(fn, access.indices[1])
      and not access.atomic and not access.escapes and not access.cached
      and fn:element_type(access) or false
    e.type = e.type or e.fits
    e.read, e.write = e.read or access.read, e.write or access.write
    e.index, e.nodes[#e.nodes + 1] = access.indices and access.indices[1], node
  end
  local kept = {}
  for _, e in ipairs(list) do
    if e.fits and e.read and e.write then kept[#kept + 1] = e end
  end
  return kept
end

-- The statement of a kernel's body behind which all names that indices have are known; false where
-- that is its beginning, nil where there is none.
local function known_after(fn, list)
  local last = 0
  for _, e in ipairs(list) do
    for _, node in ipairs(e.nodes) do
      expression.walk(node.index, function(part)
        local d = part.kind == "name" and fn:declaration(part.text, part.first)
        last = d and math.max(last, d.token) or last
      end)
    end
  end
  if last == 0 then return false end
  for _, s in ipairs(fn.body.body) do
    if s.first <= last and last <= s.last then return s.kind == "declaration" and s or nil end
  end
end

local function plan_of(fn)
  local why = unfit(fn)
  if why then return nil, why end
  local list = elements(fn)
  if #list == 0 then return nil, "no element is read and written by its block alone" end
  local after = known_after(fn, list)
  local first = fn.body.body[1]
  if after == nil or not first or after and list[1].nodes[1].first < after.last then
    return nil, "its block's number is not known at the beginning"
  end
  return { list = list, after = after, first = first }
end

local M = { name = "block_element", apart = true,
  doc = "Elements that are their block's own, kept in shared memory." }

function M.find(kernel)
  local list = {}
  for _, fn in ipairs(kernel.functions) do
    if fn.is_entry and fn.body and kernel:is_open(fn.line, fn.last_line) and plan_of(fn) then
      list[#list + 1] = { line = fn.line, args = {} }
    end
  end
  return list
end

local function make(fn)
  local plan, why = plan_of(fn)
  if not plan then return nil, why end
  local kernel, e, declared, loads, stores = fn.kernel, edit.new(fn.kernel), {}, {}, {}
  for i, element in ipairs(plan.list) do
    local own, text = threads.new_name(fn, element.name .. "_own"), kernel:plain(element.nodes[1])
    declared[i] = ("__shared__ %s %s;"):format(element.type, own)
    loads[i] = ("    %s = %s;"):format(own, text)
    stores[i] = ("    %s = %s;"):format(text, own)
    for _, node in ipairs(element.nodes) do e:replace(node.first, node.last, own) end
  end
  local indent = kernel:indent(plan.first.first)
  local lines = { table.concat(declared, "\n" .. indent), "if (threadIdx.x == 0) {",
    table.concat(loads, "\n" .. indent), "}", "__syncthreads();" }
  local text = table.concat(lines, "\n" .. indent)
  if plan.after then
    e:after(plan.after.last, "\n" .. indent .. text)
  else
    e:before(plan.first.first, text .. "\n" .. indent)
  end
  local behind = { "__syncthreads();", "if (threadIdx.x == 0) {",
    table.concat(stores, "\n" .. indent), "}" }
  local body = fn.body.body
  e:after(body[#body].last, "\n" .. indent .. table.concat(behind, "\n" .. indent))
  local edits = e:lines()
  if not edits then return nil, "two changes overlap" end
  return { edits = edits, says = ("%s is kept in shared memory%s"):format(
    kernel:plain(plan.list[1].nodes[1]), #plan.list > 1 and ", and others" or "") }
end

function M.make(kernel, line)
  for _, fn in ipairs(kernel.functions) do
    if fn.line == line and fn.is_entry and fn.body then return make(fn) end
  end
  return nil, "no kernel begins there"
end

return M
