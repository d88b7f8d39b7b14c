-- A name that many functions declare is looked up another way (tree_resolve in src/source/scope.c)
-- than a rare one. Functions behind a kernel, which nobody calls, change nothing of its genes.

package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local lfs = require "lfs"
local tap = require "tap"

local FUNCTIONS, MOST_GENES = 20, 1500

-- Functions that declare each name that the text does, in scopes that follow and enclose others.
local function others(text)
  local names, seen, list = {}, {}, {}
  for name in text:gmatch "%f[%w_]%l+ ([%a_][%w_]*)%s*=" do
    if not seen[name] then names[#names + 1], seen[name] = name, true end
  end
  for i = 1, FUNCTIONS do
    list[#list + 1] = ("\nstatic __device__ void nobody_calls_%d()\n{"):format(i)
    for _, name in ipairs(names) do
      list[#list + 1] = ("    for (int %s = 0; %s < 2; %s++) { int %s = 1; }"):format(name, name,
        name, name)
      list[#list + 1] = ("    int %s = %d;"):format(name, i)
    end
    list[#list + 1] = "}"
  end
  return table.concat(list, "\n") .. "\n", #names
end

-- Returns how many genes are legal, and some of them, evenly over all.
local function genes_of(g)
  local list, n = {}, g:gene_count()
  for i = 1, n, math.max(1, n // MOST_GENES) do list[#list + 1] = g:gene(i) end
  return n .. "\n" .. table.concat(list, "\n")
end

for folder in lfs.dir "kernels" do
  local f = io.open(("kernels/%s/kernel.cu"):format(folder))
  local text = f and f:read "a"
  if text then
    f:close()
    local more, n = others(text)
    local plain = assert(core.grammar.parse("kernel.cu", { text = text }))
    local kernel = plain:kernels()[1]
    kernel = type(kernel) == "table" and kernel.name or kernel
    local a = assert(core.grammar.parse("kernel.cu", { text = text, kernel = kernel }))
    local b = assert(core.grammar.parse("kernel.cu", { text = text .. more, kernel = kernel }))
    tap.case(folder, function()
      tap.ok(n > 0, n .. " names")
      tap.ok(genes_of(a) == genes_of(b), ("%d genes, and %d with others' declarations"):format(
        a:gene_count(), b:gene_count()))
    end)
  end
end
tap.done()
