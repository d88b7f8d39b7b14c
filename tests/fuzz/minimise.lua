-- minimise: makes a finding small: takes lines, then words out of it, as long as the target's end
-- is the same.
--
--   gilua tests/fuzz/minimise.lua PROGRAM FILE      a target's program; what is left is FILE.small
--
-- The end is the status and the first line of what the target said that names a place in the
-- sources, or is a sanitizer's summary.

local program, path = arg[1], arg[2]
local small = path .. ".small"

local function read(name)
  local file <close> = assert(io.open(name, "rb"))
  return file:read "a"
end

local function write(name, text)
  local file <close> = assert(io.open(name, "wb"))
  file:write(text)
end

-- How the target ends on a text: nil where it does no harm.
local function ending(text)
  write(small .. ".try", text)
  local pipe <close> = assert(io.popen(("timeout 30 '%s' '%s.try' 2>&1; echo status $?")
    :format(program, small)))
  local said = pipe:read "a"
  local status = said:match "status (%d+)\n$"
  if status == "0" then return nil end
  return status .. " " .. (said:match "SUMMARY: ([^\n]*)" or said:match "runtime error: [^\n]*"
    or said:match "other [%w ]+" or "")
end

local wanted = assert(ending(read(path)), "no harm done: " .. path)

local function without(pieces, from, to)
  return table.concat(pieces, "", 1, from - 1) .. table.concat(pieces, "", to + 1)
end

-- Takes runs of pieces out, long ones first.
local function shrink(text, pattern)
  local pieces = {}
  for piece in text:gmatch(pattern) do pieces[#pieces + 1] = piece end
  local run = #pieces
  while run >= 1 do
    local at = 1
    while at <= #pieces do
      local less = without(pieces, at, math.min(at + run - 1, #pieces))
      if ending(less) == wanted then
        table.move(pieces, at + run, #pieces + run, at)
        write(small, less)
      else
        at = at + run
      end
    end
    run = run // 2
  end
  return table.concat(pieces)
end

local text = read(path)
write(small, text)
text = shrink(text, "[^\n;]*[\n;]?")
text = shrink(text, "[%w_%%.$:]*[^%w_%%.$:]?")
write(small, text)
os.remove(small .. ".try")
print(wanted)
print(text)
