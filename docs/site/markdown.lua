-- markdown: what gilua's pages use of Markdown, as HTML: headings, paragraphs, lists, tables,
-- fenced blocks, comments; code, links, images, strong and emphasised text. Raw HTML is text here.
--
--   local html, headings = markdown.html(text, function(target) return "other.html" end)
--   headings[i] = { level =, id =, title = (plain text), words = (plain text below it) }

local M = {}

local ESCAPES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

---@param text string
---@return string
function M.escaped(text) return (text:gsub('[&<>"]', ESCAPES)) end

-- --- inside a line ------------------------------------------------------------------------------

-- What must not be looked at again is kept aside: \1N\1 stands for kept[N].
local function keep(kept, html)
  kept[#kept + 1] = html
  return "\1" .. #kept .. "\1"
end

local function put_back(text, kept)
  local n
  repeat text, n = text:gsub("\1(%d+)\1", function(i) return kept[tonumber(i)] end) until n == 0
  return text
end

-- Code in as many backticks as it takes.
local function keep_code(text, kept)
  local from = 1
  while true do
    local a, b = text:find("`+", from)
    if not a then return text end
    local ticks = text:sub(a, b)
    local c = b + 1
    local d
    repeat
      c, d = text:find("`+", c)
      if c and d - c ~= b - a then c = d + 1 elseif c then break end
    until not c
    if not c then
      from = b + 1
    else
      local code = text:sub(b + 1, c - 1)
      if #ticks > 1 then code = code:gsub("^ ", ""):gsub(" $", "") end
      local mark = keep(kept, "<code>" .. M.escaped(code) .. "</code>")
      text = text:sub(1, a - 1) .. mark .. text:sub(d + 1)
      from = a + #mark
    end
  end
end

local function inline(text, link)
  local kept = {}
  text = keep_code(text, kept)
  text = text:gsub("\\([%p])", function(sign) return keep(kept, M.escaped(sign)) end)
  text = text:gsub("<(https?://[^>%s]+)>", function(url)
    return keep(kept, ('<a href="%s">%s</a>'):format(M.escaped(url), M.escaped(url)))
  end)
  text = M.escaped(text)
  text = text:gsub("!%[([^%]]*)%]%(([^)%s]+)%)", function(alt, target)
    return keep(kept, ('<img src="%s" alt="%s">'):format(link(target), alt))
  end)
  text = text:gsub("%[([^%]]*)%]%(([^)%s]+)%)", function(words, target)
    return keep(kept, ('<a href="%s">'):format(link(target))) .. words .. keep(kept, "</a>")
  end)
  text = text:gsub("%*%*(.-)%*%*", "<strong>%1</strong>")
  text = text:gsub("%f[%*]%*(%f[%S][^%*]-%f[%s%*])%*%f[^%*]", "<em>%1</em>")
  return put_back(text, kept)
end

-- Plain text of it, for titles and the search.
local function plain(html)
  local text = html:gsub("<[^>]*>", "")
  return (text:gsub("&lt;", "<"):gsub("&gt;", ">"):gsub("&quot;", '"'):gsub("&amp;", "&"))
end

-- --- headings -----------------------------------------------------------------------------------

-- As GitHub makes them: what the links in the pages rely on.
local function slug(title, taken)
  local id = title:lower():gsub("[%z\1-\127]", function(c)
    return c:find "[%w _-]" and (c == " " and "-" or c) or ""
  end)
  local unique, n = id, 0
  while taken[unique] do n, unique = n + 1, id .. "-" .. n + 1 end
  taken[unique] = true
  return unique
end

-- --- blocks: each takes the lines from i on, puts its HTML, and says where to read on -----------

local blocks -- of lines, recursive

local function fence(page, lines, i)
  local indent, ticks = lines[i]:match "^( *)(```+)"
  local code = {}
  i = i + 1
  while lines[i] and not lines[i]:find("^ *" .. ticks .. "%s*$") do
    code[#code + 1] = lines[i]:gsub("^" .. indent, "")
    i = i + 1
  end
  local text = table.concat(code, "\n")
  page:put("<pre><code>" .. M.escaped(text) .. "</code></pre>", text)
  return i + 1
end

local function heading(page, lines, i)
  local signs, text = lines[i]:match "^(#+) +(.-)%s*#*$"
  local html = inline(text, page.link)
  local title = plain(html)
  local id = slug(title, page.taken)
  table.insert(page.headings, { level = #signs, id = id, title = title, words = {} })
  page:put(('<h%d id="%s"><a class="here" href="#%s">%s</a></h%d>'):format(#signs, id, id,
    html:gsub("</?a[^>]*>", ""), #signs))
  return i + 1
end

-- The cells of a row: those `\|` and in code are no borders.
local function cells(line)
  local found, cell = {}, ""
  local row = line:gsub("^%s*|", ""):gsub("|%s*$", "")
  local in_code = false
  local at = 1
  while at <= #row do
    local c = row:sub(at, at)
    if c == "\\" and row:sub(at + 1, at + 1) == "|" then
      cell, at = cell .. "|", at + 1
    elseif c == "|" and not in_code then
      found[#found + 1], cell = cell, ""
    else
      if c == "`" then in_code = not in_code end
      cell = cell .. c
    end
    at = at + 1
  end
  found[#found + 1] = cell
  return found
end

local function row_html(page, line, tag)
  local out = {}
  for i, cell in ipairs(cells(line)) do
    local html = inline(cell:match "^%s*(.-)%s*$", page.link)
    page:say(plain(html))
    out[i] = ("<%s>%s</%s>"):format(tag, html, tag)
  end
  return "<tr>" .. table.concat(out) .. "</tr>"
end

local function is_table(lines, i)
  return lines[i]:find "^%s*|" and lines[i + 1] and lines[i + 1]:find "^%s*|[-:| ]+|%s*$"
end

local function table_block(page, lines, i)
  page:put('<div class="wide"><table><thead>')
  page:put(row_html(page, lines[i], "th"))
  page:put "</thead><tbody>"
  i = i + 2
  while lines[i] and lines[i]:find "^%s*|" do
    page:put(row_html(page, lines[i], "td"))
    i = i + 1
  end
  page:put "</tbody></table></div>"
  return i
end

local function marker(line)
  local indent, sign, gap = line:match "^(%s*)([-*])(%s+)%S"
  if not indent then indent, sign, gap = line:match "^(%s*)(%d+%.)(%s+)%S" end
  if indent then return #indent, sign, #indent + #sign + #gap end
end

-- The lines of one item, without its indentation, and whether an empty line parts them.
local function item_lines(lines, i, width)
  local own, loose = { lines[i]:sub(width + 1) }, false
  i = i + 1
  while lines[i] do
    local line = lines[i]
    if line:find "^%s*$" then
      local next_line = lines[i + 1]
      if not next_line or not next_line:find("^" .. (" "):rep(width) .. "%s*%S") then break end
      own[#own + 1], loose = "", true
    elseif line:find("^" .. (" "):rep(width)) then
      own[#own + 1] = line:sub(width + 1)
    elseif marker(line) or line:find "^#" or line:find "^```" then
      break
    else
      own[#own + 1] = line:match "^%s*(.*)$"
    end
    i = i + 1
  end
  return own, i, loose
end

local function list(page, lines, i)
  local indent, sign = marker(lines[i])
  local tag = sign:find "%d" and "ol" or "ul"
  page:put("<" .. tag .. ">")
  while lines[i] do
    local at, next_sign, width = marker(lines[i])
    if at ~= indent or (next_sign:find "%d" and "ol" or "ul") ~= tag then break end
    local own, loose
    own, i, loose = item_lines(lines, i, width)
    page:put "<li>"
    blocks(page, own, not loose)
    page:put "</li>"
    if lines[i] and lines[i]:find "^%s*$" and lines[i + 1] and marker(lines[i + 1]) == indent then
      i = i + 1
    end
  end
  page:put("</" .. tag .. ">")
  return i
end

local function paragraph(page, lines, i, bare)
  local text = {}
  while lines[i] and not lines[i]:find "^%s*$" and not lines[i]:find "^```"
      and not lines[i]:find "^#+ " and not (#text > 0 and marker(lines[i]))
      and not is_table(lines, i) do
    text[#text + 1] = lines[i]:match "^%s*(.-)%s*$"
    i = i + 1
  end
  local html = inline(table.concat(text, "\n"), page.link)
  page:put(bare and html or "<p>" .. html .. "</p>", plain(html))
  return i
end

blocks = function(page, lines, bare)
  local i = 1
  while lines[i] do
    local line = lines[i]
    if line:find "^%s*$" then i = i + 1
    elseif line:find "^<!%-%-" then
      while not lines[i]:find "%-%->" do i = i + 1 end
      i = i + 1
    elseif line:find "^ *```" then i = fence(page, lines, i)
    elseif line:find "^#+ " then i = heading(page, lines, i)
    elseif is_table(lines, i) then i = table_block(page, lines, i)
    elseif marker(line) then i = list(page, lines, i)
    else i = paragraph(page, lines, i, bare) end
  end
end

--- A page's HTML, without its frame, and its headings.
---@param text string
---@param link fun(target: string): string what a link's target is in the site
---@return string html
---@return table[] headings
function M.html(text, link)
  local page = { out = {}, headings = {}, taken = {}, link = link }
  function page:say(words)
    local last = self.headings[#self.headings]
    if last and words then table.insert(last.words, words) end
  end
  function page:put(html, words)
    table.insert(self.out, html)
    self:say(words)
  end
  local lines = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  blocks(page, lines)
  return table.concat(page.out, "\n"), page.headings
end

return M
