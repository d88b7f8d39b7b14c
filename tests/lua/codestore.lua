-- What compilers made at agents, by its hash: who has it, who asks whom, and who waits in vain.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local codestore = require "gilua.farm.codestore"
local core = require "gilua.core"
local tap = require "tap"

-- Stores that talk to each other; `off` names those that are cut off.
local function agents(...)
  local stores, off = {}, {}
  for _, id in ipairs { ... } do
    stores[id] = codestore.new(id, function(to, m)
      if off[to] or off[id] or not stores[to] then return end
      if m.op == "code" then stores[to]:asked(m) else stores[to]:came(m.hash, m.text) end
    end)
  end
  return stores, off
end

local function filled(store, message)
  local found
  store:fill(message, function(missing) found = missing or message end)
  return found
end

tap.case("a ticket is replaced by the code, wherever it stands", function()
  local s = agents "a"
  local one, two = s.a:keep "mov;", s.a:keep "add;"
  tap.is(codestore.holder(one), "a", "who has it")
  tap.is(one.bytes, 4, "its size")
  tap.is(codestore.holder("mov;"), nil, "code itself is no ticket")
  local m = filled(s.a, { code = one, units = { { other = two, hash = "two" } },
    values = { at = "a" } })
  tap.is(m.code .. m.units[1].other .. m.units[1].hash .. m.values.at, "mov;add;twoa", "all of it")
end)

tap.case("who has it not asks who has, once, and keeps it", function()
  local s, off = agents("a", "b")
  local ticket = s.a:keep "mov;"
  tap.is(filled(s.b, { ticket }) [1], "mov;", "it came")
  off.a = true
  tap.is(filled(s.b, { ticket }) [1], "mov;", "and stays")
end)

tap.case("what nobody has is missing: at once, or when it is late", function()
  local s, off = agents("a", "b")
  local ticket = s.a:keep "mov;"
  s.a.texts[ticket.hash] = nil
  tap.is(filled(s.b, { ticket }), ticket.hash, "it is no more there")
  tap.is(filled(s.a, { ticket }), ticket.hash, "nor does its holder ask itself for ever")
  off.a = true
  local first, second
  s.b:fill({ ticket }, function(missing) first = missing end)
  s.b:fill({ ticket }, function(missing) second = missing end)
  s.b:check_late(core.system.seconds())
  tap.is(first, nil, "there is still time")
  s.b:check_late(core.system.seconds() + codestore.LATE_S + 1)
  tap.is(first, ticket.hash, "for the one who asked")
  tap.is(second, ticket.hash, "and for who waited with it")
end)

tap.case("another text than was asked for is none", function()
  local s = agents("a", "b")
  local ticket = s.a:keep "mov;"
  s.a.texts[ticket.hash] = "add;"
  tap.is(filled(s.b, { ticket }), ticket.hash, "its hash is held against it")
end)

tap.case("what came first goes when there is too much", function()
  local s = agents "a"
  local _ <close> = setmetatable({ codestore.KEEP_BYTES }, { __close = function(was)
    codestore.KEEP_BYTES = was[1]
  end })
  codestore.KEEP_BYTES = 10
  local one, two, three = s.a:keep "11111", s.a:keep "22222", s.a:keep "33333"
  tap.is(filled(s.a, { one }), one.hash, "the first")
  tap.is(filled(s.a, { two, three })[2], "33333", "the others stay")
  tap.is(s.a.bytes, 10, "so many bytes")
end)

tap.done()
