-- Prose is made of sentences that a reader can say back (CONTRIBUTING.md). The README and the pages
-- of docs have no sentence over 30 words, and no phrase that newcomers call a riddle; nor have the
-- messages of lua/ and src/. `--list FILE…` prints those that a file has.
package.path = "tests/lua/?.lua;" .. package.path
local tap = require "tap"
local lfs = require "lfs"

local most_words = 30
local riddles = {
  "of which", "is told", "are told", "is asked", "are asked", "has sense", "have sense", "for who",
  "nothing says", "is nobody's", "stands here", "is none of", "by whom", "who asks",
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
  text = text:gsub("%f[%w]gilua%f[%W]", "Gilua"):gsub("`[^`]*`", "Code")
  text = text:gsub("%[([^%]]*)%]%([^)]*%)", "%1"):gsub("%*+", "")
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

local function markdown(folder, list)
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    if lfs.attributes(path, "mode") == "directory" then
      if not name:find "^%." then markdown(path, list) end
    elseif name:find "%.md$" and path ~= "docs/api.md" then
      list[#list + 1] = path
    end
  end
  return list
end

tap.case("no page has long sentences or riddles", function()
  local pages = markdown("docs", { "README.md" })
  tap.ok(#pages > 30, #pages .. " pages")
  table.sort(pages)
  for _, path in ipairs(pages) do
    local long, odd = look(path)
    local found = table.concat(long, "\n") .. table.concat(odd, "\n")
    tap.is(found, "", path .. ": no sentence over 30 words, no riddle")
  end
end)

--- Every literal string of a line of Lua or C that is no comment.
local function literals(line)
  local list = {}
  if line:find "^%s*%-%-" or line:find "^%s*%*%*" or line:find "^%s*/[/*]" then return list end
  for text in line:gmatch '"([^"]*)"' do list[#list + 1] = text end
  return list
end

local function sources(folder, pattern, list)
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    if lfs.attributes(path, "mode") == "directory" then
      if not name:find "^%." then sources(path, pattern, list) end
    elseif name:find(pattern) then
      list[#list + 1] = path
    end
  end
  return list
end

tap.case("messages have no riddles", function()
  local files, found = sources("src", "%.c$", sources("lua", "%.lua$", {})), {}
  tap.ok(#files > 300, #files .. " files")
  for _, path in ipairs(files) do
    local n = 0
    for line in io.lines(path) do
      n = n + 1
      for _, text in ipairs(literals(line)) do
        local low = text:lower()
        for _, riddle in ipairs(riddles) do
          if low:find("%f[%w]" .. riddle .. "%f[%W]") then
            found[#found + 1] = ("%s:%d: %s"):format(path, n, riddle)
          end
        end
      end
    end
  end
  tap.is(table.concat(found, "\n"), "", "no riddle in a message")
end)

tap.case("what counts", function()
  local path = tap.folder() .. "/page.md"
  local file = assert(io.open(path, "w"))
  file:write("# A heading of no matter\n\n", ("word "):rep(30), "end. Short `code. Code` one.\n\n",
    "| ", ("cell "):rep(40), "|\n\n```\n", ("code "):rep(40), "\n```\n\n",
    "- It is told. The list of which nothing says more.\n")
  file:close()
  local long, odd = look(path)
  tap.is(#long, 1, "one sentence has 31 words")
  tap.is(#odd, 3, "three riddles")
end)

tap.done()
