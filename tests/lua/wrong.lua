-- wrong: what docs/wrong.md says that gilua says is in gilua's sources, phrase by phrase.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local tap = require "tap"

local OTHERS = {} -- not in them
for phrase in ([[
Too many open files; No space left on device; No such file or directory; address already in use;
attempt to call a nil value; kernel.cu has changed; is a statement; cannot read the kernel;
failed for genome; cannot open source file; File too large; kernels with cuda/std
]]):gmatch "[^;]+" do
  -- the C library's, the compiler's, Lua's; those put together of names (tests/cli/errors.t)
  OTHERS[phrase:match "^%s*(.-)%s*$"] = true
end

-- All texts of the sources, one after another: pieces of a literal are joined, what varies is out.
local function sources()
  local texts = {}
  local pipe <close> = assert(io.popen "find lua src -name '*.lua' -o -name '*.[ch]'")
  for path in pipe:lines() do
    texts[#texts + 1] = tap.read(path):gsub('"%s*%.%.%s*"', ""):gsub('"%s*\n%s*"', "")
  end
  return (table.concat(texts, "\n"):gsub('\\"', '"'):gsub("%%[%-.%d]*[dfgs]", ""):gsub("%s+", " "))
end

-- The phrases of three words or more of a message, without what varies.
local function phrases(message)
  local list = {}
  message = message:gsub("…", "\0"):gsub("'[^']*'", "\0"):gsub("<[^>]*>", "\0")
  for piece in message:gmatch "[^%z():;,%d\"`]+" do
    piece = piece:match "^%s*(.-)%s*$"
    local _, words = piece:gsub("%S+", "")
    if words >= 3 then list[#list + 1] = piece end
  end
  return list
end

-- Are three words of it, one after another, somewhere? Messages are put together of pieces.
local function is_said(said, phrase)
  local words = {}
  for word in phrase:gmatch "%S+" do words[#words + 1] = word end
  for i = 1, #words - 2 do
    if said:find(table.concat(words, " ", i, i + 2), 1, true) then return true end
  end
  return false
end

tap.case("the messages that docs/wrong.md explains are gilua's", function()
  local said, seen = sources(), 0
  for line in tap.read "docs/wrong.md":gmatch "[^\n]+" do
    local cell = line:match "^| (.-) | "
    local message = cell and (cell:match "^``(.-)``" or cell:match "^`([^`]*)`")
    for _, phrase in ipairs(message and phrases(message) or {}) do
      seen = seen + 1
      if not OTHERS[phrase] then
        tap.ok(is_said(said, phrase), ("%s: is it said still?"):format(phrase))
      end
    end
  end
  tap.ok(seen > 80, seen .. " phrases")
end)

tap.done()
