-- minimise: makes a finding small: takes lines, then words out of it, as long as the target's end
-- is the same.
--
--   gilua tests/fuzz/minimise.lua PROGRAM FILE      a target's program; what is left is FILE.small
--
-- The end is the status and the first line of what the target said that names a place in the
-- sources, or is a sanitizer's summary.

package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local shrink = require "shrink"

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

local text = read(path)
write(small, text)
text = shrink.text(text, { "[^\n;]*[\n;]?", "[%w_%%.$:]*[^%w_%%.$:]?" }, function(less)
  if ending(less) ~= wanted then return false end
  write(small, less)
  return true
end)
write(small, text)
os.remove(small .. ".try")
print(wanted)
print(text)
