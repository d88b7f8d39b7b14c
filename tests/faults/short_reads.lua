-- short_reads: a talk with two workers that answer what they are asked, for short_reads.t: messages
-- of all sizes, some with arrays. Prints what came of it.

local core = require "gilua.core"
local gi = require "gilua"

local ECHO = [[
require "gilua.core".farm.serve(function(bytes, share) return bytes:upper(), share end)
]]

local workers = assert(core.farm.open({ core.system.program(), "-e", ECHO }, 2, {}))

local function answer()
  while true do
    local kind, index, bytes, share = workers:wait(5)
    if kind == "message" then return index, bytes, share end
    if kind ~= "nothing" and kind ~= "interrupted" then error(kind .. ": " .. bytes, 0) end
  end
end

for i, size in ipairs { 0, 1, 9, 70, 300 } do
  local share = i % 2 == 1 and assert(core.array.share { gi.array("f32", i):fill(i) }) or nil
  workers:send(1, ("a"):rep(size), share)
  workers:send(2, ("b"):rep(size), share)
  local got = {}
  for _ = 1, 2 do
    local index, bytes, back = answer()
    got[index] = ("%d %s %s"):format(#bytes, core.system.hash(bytes),
      back and assert(back:arrays())[1][i] or "none")
  end
  print(table.concat(got, ", "))
end
workers:close()
