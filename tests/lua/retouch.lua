-- retouch: genes whose number is another, and nothing else.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local genome = require "gilua.search.genome"
local gi = require "gilua"
local retouch = require "gilua.search.retouch"
local tap = require "tap"

local problem = gi.problem "kernels/histogram"
local touched = retouch.new(problem, { share = 1 })

local function joined(list) return table.concat(list, " ") end

-- The gene of a transformation that has more than one choice of arguments at its line.
local function transformation()
  for _, kind in ipairs(problem.grammar:transformations()) do
    for _, place in ipairs(kind.places) do
      if #touched.siblings(place.gene) > 1 then return place.gene, kind.name, place.line end
    end
  end
end

tap.case("siblings", function()
  tap.is(joined(touched.siblings "copies=2"), "copies=1 copies=2 copies=4 copies=8", "of a setting")
  local pragma = joined(touched.siblings "<pragma_kernel.cu_117><pragma_K3>")
  tap.has(pragma, "<pragma_kernel.cu_117><pragma_K0>", "of a pragma: each of its pool")
  tap.is(pragma:find("launchbounds", 1, true), nil, "and of no other pool")
  local gene, name, line = transformation()
  for _, sibling in ipairs(touched.siblings(gene)) do
    tap.has(sibling, ("T:%s<%d>("):format(name, line), "of a transformation: the same at its line")
  end
  for _, alone in ipairs { "fourPixels", "<117>", "nothing=3", "<optrestrict_K0>" } do
    tap.is(#touched.siblings(alone), 0, "none of " .. alone)
  end
end)

tap.case("mutation changes one number, or appends", function()
  local parent = "fourPixels copies=2 " .. transformation()
  local rng, wrong, different = gi.rng(5), 0, {}
  for _ = 1, 60 do
    local child = touched.mutate(parent, function() return "appended" end, rng)
    local before, after, changed = genome.split(parent), genome.split(child), 0
    for i, gene in ipairs(before) do
      if gene ~= after[i] then
        changed = changed + 1
        different[after[i]] = true
      end
    end
    local has_other = child:find("appended", 1, true) ~= nil
    if #after ~= 3 or changed > 1 or has_other then wrong = wrong + 1 end
  end
  tap.is(wrong, 0, "at most one gene is another, and none is added")
  tap.ok(different["copies=8"] and different["copies=4"], "any of its values")
  tap.is(touched.mutate("fourPixels", function() return "appended" end, rng),
    "fourPixels appended", "where there is no number a gene is appended")
  local never = retouch.new(problem, { share = 0 })
  tap.is(never.mutate(parent, function() return "appended" end, rng), parent .. " appended",
    "or by chance")
end)

tap.done()
