-- linked: parameters that a problem's restrictions hold together move together.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local genome = require "gilua.search.genome"
local linked = require "gilua.search.linked"
local minimise = require "gilua.search.minimise"
local tap = require "tap"

-- A problem as `gilua new` writes it of a file whose block is made of macros.
local function problem(restrict)
  local function p(name) return { name = name, default = 16, values = { 4, 8, 16, 32, 64 } } end
  return { parameters = { p "TILE_X", p "TILE_Y", p "block_size_x", p "block_size_y",
    { name = "FAST", switch = true } }, restrict = restrict }
end

local function tiles(v)
  return v.block_size_x == v.TILE_X and v.block_size_y == v.TILE_Y
    and v.block_size_x * v.block_size_y <= 1024
end

tap.case("a setting takes along what restrictions tie to it", function()
  local repair = linked.of(problem(tiles))
  tap.is(repair "TILE_X=32", "TILE_X=32 block_size_x=32", "the other side of an equation")
  tap.is(repair "block_size_y=64", "block_size_y=64 TILE_Y=64", "from the other end")
  tap.is(repair "<A> FAST", "<A> FAST", "what holds stays")
  tap.is(repair("TILE_X=32 block_size_x=32 TILE_Y=64 block_size_y=64",
    "TILE_X=32 block_size_x=32"), "TILE_Y=64 block_size_y=64", "a product moves the other side")
end)

tap.case("what a child changes stays, and the default needs no gene", function()
  local repair = linked.of(problem(tiles))
  local parent = "TILE_X=32 <A> block_size_x=32"
  tap.is(repair("TILE_X=8 <A> block_size_x=32", parent), "TILE_X=8 <A> block_size_x=8",
    "changed in place")
  tap.is(repair("<A> block_size_x=32", parent), "<A>", "one left out takes the other along")
end)

tap.case("what has no solution comes back as it is", function()
  tap.is(linked.of(problem(function() return false end)) "TILE_X=32", "TILE_X=32", "none holds")
  tap.is(linked.of(problem()) "TILE_X=32", "TILE_X=32", "no restrictions")
  local rest = { parameters = { problem().parameters[1] }, restrict = tiles }
  tap.is(linked.of(rest) "TILE_X=32", "TILE_X=32", "no second parameter")
end)

tap.case("each repaired genome of random ones holds, where its last setting can", function()
  local p = problem(tiles)
  local repair, rng, wrong = linked.of(p), require("gilua").rng(5), 0
  for _ = 1, 300 do
    local genes = {}
    for i = 1, rng:int(4) do
      local q = p.parameters[rng:int(4)]
      genes[i] = ("%s=%d"):format(q.name, rng:pick(q.values))
    end
    local values = { TILE_X = 16, TILE_Y = 16, block_size_x = 16, block_size_y = 16 }
    for _, gene in ipairs(genome.split(repair(genome.last_settings(genome.join(genes))))) do
      values[genome.name_set(gene)] = tonumber(gene:match "=(.*)")
    end
    if not tiles(values) then wrong = wrong + 1 end
  end
  tap.is(wrong, 0, "300 of seed 5")
end)

tap.case("the clean-up leaves out settings that only go together", function()
  local repair = linked.of(problem(tiles))
  local function score(text)
    local x = text:find("TILE_X=32", 1, true) ~= nil
    local y = text:find("block_size_x=32", 1, true) ~= nil
    return x ~= y and math.huge or text:find("<A>", 1, true) and 5 or 10
  end
  local text = "TILE_X=32 <A> block_size_x=32"
  tap.is(minimise.knockout(text, score, 0, nil, repair), "<A>", "both at once")
  tap.is(minimise.knockout(text, score, 0), text, "each alone spoils it")
end)

tap.done()
