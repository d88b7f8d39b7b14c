-- Recordings of strangers that attack who opens them: one row each, for
-- tests/lua/hostile_recordings.lua.
--
--   name   what it tries
--   spoil  what is changed of an honest tape (tests/lua/tape.lua), before it is a file
--   bytes  what is changed of the file: text to text
--   says   what the sentence holds when it is run again; a row without can be
--   new    what gilua new says of it; true: as `says`, or it becomes a problem

local tape = require "tape"

local chunk = tape.chunk
local T = 1 << 40

-- The places of things in an honest tape, and its lines from the end.
local X, Y = "0x810000000000", "0x820000000000"
local NAMED = "%x" .. ("%x"):rep(31)

-- Changes the first line that matches.
local function line(pattern, with)
  return function(t)
    for i, text in ipairs(t.lines) do
      if text:find(pattern) then
        t.lines[i] = type(with) == "function" and with(text, t) or text:gsub(pattern, with)
        return
      end
    end
    error("no line is like " .. pattern)
  end
end

-- Lines before the first that matches.
local function before(pattern, ...)
  local more = { ... }
  return function(t)
    for i, text in ipairs(t.lines) do
      if text:find(pattern) then
        for k = #more, 1, -1 do table.insert(t.lines, i, more[k]) end
        return
      end
    end
    error("no line is like " .. pattern)
  end
end

-- Behind all lines.
local function behind(...)
  local more = { ... }
  return function(t) table.move(more, 1, #more, #t.lines + 1, t.lines) end
end

-- A frame of zstd that holds n bytes, all the same, in four bytes for each 128 kB.
local function bomb(n, byte)
  local parts, left = { "\x28\xb5\x2f\xfd\xe0" .. string.pack("<I8", n) }, n
  while left > 0 do
    local size = math.min(left, 1 << 17)
    left = left - size
    parts[#parts + 1] = string.pack("<I3", (left == 0 and 1 or 0) + 2 + size * 8) .. byte
  end
  return table.concat(parts)
end

-- A blob that is one, its name a lie or not; the tape's line names it.
local function bombed(pattern, n)
  return function(t)
    local packed, name = bomb(n, "\0"), ("ab"):rep(16)
    t.parts[#t.parts + 1] = chunk(1, packed, { flags = 1, bytes = n, hash = name })
    line(pattern, function(text) return (text:gsub(NAMED .. "$", name)) end)(t)
  end
end

-- A chunk instead of the events.
local function instead(kind, bytes, lie)
  return function(t)
    t.parts[#t.parts + 1] = chunk(kind, bytes, lie)
    t.lines = {}
  end
end

local LAUNCH = "^launch 0 _Z5scale"

-- A launch with another shape.
local function shaped(shape)
  return line(LAUNCH, function(text) return (text:gsub("5,1,1 64,1,1 0 0", shape)) end)
end

return {
  -- what the file says of itself
  { name = "nothing", bytes = function() return "" end, says = "no recording" },
  { name = "a head alone", bytes = function(all) return all:sub(1, 16) end,
    new = "launches no kernel" },
  { name = "a later version", bytes = function(all)
    return all:sub(1, 12) .. "\x63\0\0\0" .. all:sub(17) end, says = "of version 99" },
  { name = "cut in a head", bytes = function(all) return all:sub(1, 16 + 39) end,
    new = "launches no kernel" },
  { name = "cut in the data", bytes = function(all) return all:sub(1, 200) end,
    new = "launches no kernel" },
  { name = "more behind its end", bytes = function(all) return all .. "more" end,
    says = "is damaged at byte" },
  { name = "a chunk of no kind", spoil = instead(7, "x"), says = "is damaged at byte" },
  { name = "flags that there are not", spoil = instead(1, "x", { flags = 6 }),
    says = "is damaged at byte" },
  { name = "terabytes that it has not", spoil = instead(1, "x", { stored = 5 * T, bytes = 5 * T }),
    new = "launches no kernel" },
  { name = "2^63 bytes", spoil = instead(2, "x", { bytes = math.mininteger, flags = 1 }),
    says = "is damaged at byte" },
  { name = "bytes that unpack to others", spoil = instead(2, "xx", { bytes = 9, flags = 1 }),
    says = "is damaged at byte" },
  { name = "events whose hash lies", spoil = instead(2, "gpu x\n", { hash = ("00"):rep(16) }),
    says = "is damaged at byte" },
  { name = "data whose hash lies", bytes = function(all)
    return (all:gsub("%.visible", ".vosible", 1)) end, says = "is damaged at byte" },
  { name = "a bomb for events", spoil = instead(2, bomb(1 << 28, "\n"), { flags = 1,
    bytes = (1 << 28) + 1 }), says = "more than 268435456 bytes of events" },
  { name = "a bomb of empty lines", spoil = instead(2, bomb(1 << 22, "\n"), { flags = 1,
    bytes = 1 << 22, hash = "08e4a7c22f9a2a8b0f8b6a8e5f0f3a3e" }), says = "is damaged at byte" },
  { name = "a bomb for code", spoil = bombed("^module", 1 << 34), says = "another size",
    new = "more than belong there" },
  { name = "a bomb for what is written", spoil = bombed("^write " .. X, 1 << 34),
    says = "data that are not there" },
  { name = "a bomb for what is read", spoil = bombed("^read " .. Y, 1 << 34),
    says = "data that are not there" },
  { name = "a zero byte", spoil = behind "gpu \0", says = "a zero byte" },

  -- lines that are none
  { name = "a word of nobody's", spoil = behind "system touch ran", says = "is not understood" },
  { name = "numbers that are none", spoil = behind "memory ten 1 device",
    says = "is not understood" },
  { name = "numbers with a sign", spoil = behind "memory -1 1 device", says = "is not understood" },
  { name = "numbers that C takes for others", spoil = behind "memory 010 1 device",
    says = "is not understood" },
  { name = "a time that is none", spoil = line(" 600 ", " nan "), says = "is not understood" },
  { name = "times beyond all", spoil = line(" 600 ", " 1e300 "), says = "is not understood" },
  { name = "arguments that are none", spoil = line(LAUNCH .. "(.*)%x%x$", LAUNCH:sub(2) .. "%1zz"),
    says = "is not understood" },
  { name = "arguments of half a byte", spoil = line(LAUNCH .. ".*", "%00"),
    says = "is not understood" },

  -- what it asks for
  { name = "a terabyte", spoil = before(LAUNCH, ("memory 0x840000000000 %d device"):format(T - 1)),
    says = "more than 4.29 GB of memory" },
  { name = "a terabyte of the host's", new = true, says = "more than 4.29 GB of memory",
    spoil = before(LAUNCH, ("memory 0x7000 %d pinned"):format(T - 1)) },
  { name = "2^64 bytes", spoil = before(LAUNCH, "memory 0x7000 18446744073709551615 pinned"),
    says = "impossible" },
  { name = "gigabytes, often", spoil = before(LAUNCH, "memory 0x10000000000 3000000000 pinned",
    "memory 0x20000000000 3000000000 pinned"), says = "more than 4.29 GB of memory" },
  { name = "memory where other memory is", spoil = before(LAUNCH, "memory 0x7000 4000 pinned",
    "memory 0x7800 4000 pinned"), says = "is taken" },
  { name = "memory at no place", spoil = before(LAUNCH, "memory 0 4000 pinned"),
    says = "cannot be mapped" },
  { name = "an array of terabytes", says = "the array is impossible",
    spoil = before(LAUNCH, "array 0 1048576 1048576 1 2 32,0,0,0 0") },
  { name = "an array of gigabytes", spoil = before(LAUNCH, "array 0 65536 65536 1 2 32,0,0,0 0"),
    says = "more than 4.29 GB of memory" },
  { name = "an array whose size runs over", says = "the array is impossible",
    spoil = before(LAUNCH, "array 0 4294967296 4294967296 4294967296 2 32,0,0,0 0") },
  { name = "variables of a terabyte", says = "more than 4.29 GB of memory", spoil = function(t)
    local ptx = { ".version 8.0\n.target sm_90\n.address_size 64\n" }
    for i = 1, 1024 do ptx[i + 1] = (".visible .global .b8 g%d[1073741824];\n"):format(i) end
    before("^memory", "module 1 " .. t.blob(table.concat(ptx)))(t)
  end },
  { name = "reads of the same gigabyte", says = "data that are not there",
    spoil = behind(("read %s 1 1 1 1 1 %s"):format(Y, ("ab"):rep(16))) },

  -- what it does with it
  { name = "rows of nothing for ever", says = "more is copied and filled",
    spoil = behind(("set %s 0 1 0 1 1 %d 1"):format(Y, T // 4)) },
  { name = "a fill of what is not there", says = "cannot be replayed",
    spoil = behind(("set %s 1 1 0 1 %d 1 1"):format(Y, T // 2)) },
  { name = "sizes that run over", says = "sizes are impossible",
    spoil = behind("set " .. Y .. " 4294967296 4294967296 0 1 4294967296 4294967296 4294967296") },
  { name = "a place that runs over", says = "cannot be replayed",
    spoil = behind "set 0xffffffffffffffff 1 1 0 4 4 1 1" },
  { name = "elements of seven bytes", spoil = behind("set " .. Y .. " 4 1 0 7 4 1 1"),
    says = "is not understood" },
  { name = "a copy from nowhere", spoil = behind("copy " .. Y .. " 4 1 0x10 4 1 4 1 1"),
    says = "cannot be replayed" },
  { name = "an array that is not there", spoil = behind "set array:2147483647:0:0:0 4 1 0 4 4 1 1",
    says = "not in the array" },
  { name = "freed and used", spoil = behind("free 0x7000", "free array:3", "free texture:9",
    "set 0x7000 4 1 0 4 4 1 1"), says = "cannot be replayed" },
  { name = "more data than it says", spoil = line("^(write " .. X .. ") %d+ 1 %d+", "%1 4 1 4"),
    says = "data that are not there" },
  { name = "a texture without end", says = "of this size is impossible", spoil = behind(
    "texture 1 " .. X .. " kind=1 format=7 channels=4 dims=3 size=999999999,999999999,999999999") },
  { name = "a texture whose size runs over", says = "the texture is impossible", spoil = behind(
    "texture 1 " .. X .. " kind=0 format=7 channels=4 dims=1 size=4611686018427387904,1,1") },
  { name = "a texture of odd words", says = "the texture is impossible", spoil = behind(
    "texture 1 " .. X .. " kind=-3 format=99 channels=nan dims=inf size=1e99,-1,nan") },
  { name = "a texture of more than is there", says = "20000 bytes are not there", spoil = behind(
    "texture 1 " .. X .. " kind=0 format=7 channels=1 dims=1 size=5000,1,1") },

  -- what it launches
  { name = "no threads", spoil = shaped "0,0,0 0,0,0 0 0", says = "every part must be at least 1",
    new = true },
  { name = "too many threads", spoil = shaped "1,1,1 4294967295,4294967295,4294967295 0 0",
    says = "at most 1024 are allowed" },
  { name = "too many blocks", spoil = shaped "4294967295,4294967295,4294967295 64,1,1 0 0",
    says = "is larger than (2147483647,65535,65535)" },
  { name = "blocks without end", spoil = shaped "2147483647,65535,65535 64,1,1 0 0",
    says = "timeout: the budget of" },
  { name = "all of shared memory", spoil = shaped "5,1,1 64,1,1 18446744073709551615 0",
    says = "bytes of shared memory a block" },
  { name = "all blocks at a time", spoil = shaped "2147483647,1,1 1024,1,1 0 1",
    says = "264 can run at a time" },
  { name = "a module that is not there", spoil = line("^launch 0", "launch 2147483647"),
    says = "there is no such module", new = "has no module 2147483647" },
  { name = "a kernel that is not there", spoil = line(LAUNCH .. "%S+", "launch 0 nobody"),
    says = "kernel nobody", new = "the module has no kernel 'nobody'" },
  { name = "a kernel whose name runs something", says = "has no kernel",
    new = "cannot be replayed",
    spoil = line(LAUNCH .. "%S+", "launch 0 %%5d%%5dos.execute(%%22touch%%20ran%%22)") },
  { name = "arguments that are too few", says = "and was given 1",
    spoil = line(LAUNCH .. "(.*) %S+", LAUNCH:sub(2) .. "%1 00") },
  { name = "a program whose name runs something", new = true,
    spoil = line("^program.*", "program x%%0aos.execute(%%22touch%%20ran%%22)--") },
  { name = "a program whose name moves the cursor", spoil = line("^program.*", "program %%1b[2J") },
}
