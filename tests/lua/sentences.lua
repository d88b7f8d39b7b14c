-- Prose keeps to sentences that can be said back (CONTRIBUTING.md, "Words"). Each page of docs and
-- the README has its allowance of sentences over 30 words and of phrases that newcomers call
-- riddles. An allowance only ever falls: where a page has less, the test says what to write here.
package.path = "tests/lua/?.lua;" .. package.path
local tap = require "tap"
local lfs = require "lfs"

local most_words = 30
local riddles = {
  "of which", "is told", "are told", "is asked", "are asked", "has sense", "have sense", "for who",
  "nothing says", "is nobody's", "stands here", "is none", "by whom", "who asks",
}

-- Pages that this test does not hold yet: { sentences over 30 words, riddles }.
local allowance = {
}

--- Begins a line of Markdown something that is no prose: a table, a heading, code, a comment?
local function is_other(line)
  return line:find "^%s*|" or line:find "^#" or line:find "^    " or line:find "^<!%-%-"
end

--- Returns the paragraphs of a Markdown file, without code, tables and headings, as lines put
--- together. Each item of a list is a paragraph.
local function paragraphs(path)
  local list, lines, fenced = {}, {}, false
  local function finish()
    if #lines > 0 then list[#list + 1] = table.concat(lines, " ") end
    lines = {}
  end
  for line in io.lines(path) do
    local item = line:match "^%s*[-*] +(.*)" or line:match "^%s*%d+%. +(.*)"
    if line:find "^%s*```" then fenced = not fenced end
    if fenced or line:find "^%s*```" or is_other(line) or not line:find "%S" then
      finish()
    else
      if item then finish() end
      lines[#lines + 1] = item or line
    end
  end
  finish()
  return list
end

--- The paragraph as prose: code is one word, links are their text, short brackets and emphasis go.
local function plain(text)
  text = text:gsub("%f[%w]gilua%f[%W]", "Gilua"):gsub("`[^`]*`", "Code"):gsub("%[([^%]]*)%]%([^)]*%)", "%1"):gsub("%*+", "")
  return (text:gsub("%([^()]*%)", function(inner) return #inner < 12 and "" or inner end))
end

--- The sentences of a paragraph: a stop ends one where a capital, a digit or a bracket follows.
local function sentences(text)
  local list, from = {}, 1
  while true do
    local stop = text:find("[.!?][\"')]*%s+[%u%d(\"]", from)
    if not stop then break end
    list[#list + 1] = text:sub(from, stop)
    from = stop + 1
  end
  list[#list + 1] = text:sub(from)
  return list
end

local function words(sentence)
  local n = 0
  for _ in sentence:gmatch "%S+" do n = n + 1 end
  return n
end

--- Returns the long sentences and the riddles of a page, as lists of texts.
local function look(path)
  local long, odd = {}, {}
  for _, paragraph in ipairs(paragraphs(path)) do
    local text = plain(paragraph)
    for _, sentence in ipairs(sentences(text)) do
      local n = words(sentence)
      if n > most_words then long[#long + 1] = ("%d words: %s"):format(n, sentence) end
    end
    local low = " " .. text:lower() .. " "
    for _, riddle in ipairs(riddles) do
      for _ in low:gmatch("%f[%w]" .. riddle .. "%f[%W]") do
        odd[#odd + 1] = ("%s: %s"):format(riddle, text:sub(1, 60))
      end
    end
  end
  return long, odd
end

if arg and arg[1] == "--list" then
  for i = 2, #arg do
    local long, odd = look(arg[i])
    for _, l in ipairs(long) do print(arg[i], l) end
    for _, l in ipairs(odd) do print(arg[i], l) end
    print(arg[i], #long, #odd)
  end
  return
end
