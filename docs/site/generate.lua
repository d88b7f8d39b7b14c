-- The manual as a site: `./gilua docs/site/generate.lua [FOLDER]`, or `make site`. Every page of
-- README.md, docs/, kernels/ and the other folders becomes a page at the same place; what they link
-- to is copied beside them; a link that leads nowhere ends it with a sentence. The site needs no
-- server and no network: its search is a script and an index beside it.

local gi = require "gilua"
local lfs = require "lfs"

package.path = gi.home .. "/docs/site/?.lua;" .. package.path
local markdown = require "markdown"

local OUT = arg[1] or "build/site"

-- In the order of the menu: title and pages, files or folders. A folder's pages come by name.
local MENU = {
  { "gilua", "README.md", "docs/install.md", "docs/tutorial.md", "CHANGELOG.md",
    "CONTRIBUTING.md" },
  { "How to", "docs/howto" },
  { "Manual", "docs/own-kernels.md", "docs/judge.md", "docs/problem.md", "docs/run.md",
    "docs/recording.md",
    "docs/report.md", "docs/archive.md", "docs/prompt.md", "docs/ptx.md",
    "docs/llvm.md", "docs/emu.md",
    "docs/device.md", "docs/security.md", "docs/performance.md", "docs" },
  { "Problems", "kernels" },
  { "More", "data", "tests" },
}

-- --- the pages ----------------------------------------------------------------------------------

local function fail(...)
  io.stderr:write("site: ", string.format(...), "\n")
  os.exit(1, true)
end

local function exists(path) return lfs.attributes(gi.home .. "/" .. path, "mode") end

local function pages_below(folder, add)
  local names = {}
  for name in lfs.dir(gi.home .. "/" .. folder) do
    if name:sub(1, 1) ~= "." then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local path = folder .. "/" .. name
    if exists(path) == "directory" then pages_below(path, add)
    elseif name:find "%.md$" then add(path) end
  end
end

-- Where a page goes: README.md is its folder's index.html.
local function target_of(path)
  return (path:gsub("README%.md$", "index.md"):gsub("%.md$", ".html"))
end

local function read_menu()
  local pages, seen = {}, {}
  for _, group in ipairs(MENU) do
    local function add(path)
      if seen[path] then return end
      seen[path] = { path = path, group = group[1], to = target_of(path) }
      pages[#pages + 1] = seen[path]
    end
    for i = 2, #group do
      local mode = exists(group[i])
      if mode == "directory" then pages_below(group[i], add)
      elseif mode then add(group[i])
      else fail("there is no %s", group[i]) end
    end
  end
  return pages, seen
end

-- --- links -------------------------------------------------------------------------------------

-- A path from the repository's top, of one that is relative to a page's folder; nil above the top.
local function resolved(from, target)
  local parts = {}
  for part in ((from:match "^(.*)/" or "") .. "/" .. target):gmatch "[^/]+" do
    if part == ".." then
      if #parts == 0 then return nil end
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, "/")
end

local function relative(from, to)
  local up = from:gsub("[^/]+", "..")
  up = up:gsub("%.%.$", "")
  return up .. to
end

-- What a link of a page becomes; keeps what has to be copied and what has to be looked at later.
local function linker(page, by_path, site)
  return function(target)
    if target:find "^%a+://" or target:find "^mailto:" then return target end
    local path, id = target:match "^([^#]*)#?(.*)$"
    local whole = path == "" and page.path or resolved(page.path, path)
    if whole and exists(whole) == "directory" then whole = whole .. "/README.md" end
    local mode = whole and exists(whole)
    if mode ~= "file" then fail("%s: the link %s leads nowhere", page.path, target) end
    local other = by_path[whole]
    if not other then site.files[whole] = true end
    local to = relative(page.to, other and other.to or whole)
    if id == "" then return to end
    table.insert(site.anchors, { page = page, link = target, to = other, id = id })
    return to .. "#" .. id
  end
end

local function check_anchors(site)
  for _, a in ipairs(site.anchors) do
    local found = false
    for _, h in ipairs(a.to and a.to.headings or {}) do found = found or h.id == a.id end
    if not found then fail("%s: %s names no heading there", a.page.path, a.link) end
  end
end

-- --- writing ------------------------------------------------------------------------------------

local FRAME = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<link rel="stylesheet" href="%sstyle.css">
</head>
<body>
<nav>
<form id="search" data-top="%s"><input type="search" placeholder="Search the manual"
 aria-label="Search the manual" autocomplete="off"><ol></ol></form>
%s
</nav>
<main>
%s
</main>
<script src="%sindex.js"></script>
<script src="%ssearch.js"></script>
</body>
</html>
]]

local function title_of(page)
  local first = page.headings[1]
  return first and first.title or page.path
end

local function menu_html(page, pages)
  local out, group = {}, nil
  for _, other in ipairs(pages) do
    if other.group ~= group then
      group = other.group
      if #out > 0 then out[#out + 1] = "</ul>" end
      out[#out + 1] = "<h2>" .. markdown.escaped(group) .. "</h2><ul>"
    end
    out[#out + 1] = ('<li><a href="%s"%s>%s</a></li>'):format(relative(page.to, other.to),
      other == page and ' aria-current="page"' or "", markdown.escaped(title_of(other)))
  end
  return table.concat(out, "\n") .. "</ul>"
end

local function write(path, text)
  local folder = path:match "^(.*)/"
  assert(gi.textfile.make_folder(OUT .. (folder and "/" .. folder or "")))
  gi.textfile.write(OUT .. "/" .. path, text)
end

local function write_page(page, pages)
  local top = relative(page.to, "")
  local title = title_of(page)
  if title ~= "gilua" then title = title .. " · gilua" end
  write(page.to, FRAME:format(markdown.escaped(title), top, top, menu_html(page, pages), page.html,
    top, top))
end

-- The words of a section, each once, in lower case: what the search looks through.
local function words_of(section)
  local seen, words = {}, {}
  for word in table.concat(section.words, " "):lower():gmatch "[%w_\128-\255-]+" do
    if #word > 1 and not seen[word] then
      seen[word] = true
      words[#words + 1] = word
    end
  end
  return table.concat(words, " ")
end

local function write_index(pages)
  local rows = {}
  for _, page in ipairs(pages) do
    for _, section in ipairs(page.headings) do
      rows[#rows + 1] = gi.json.encode { title_of(page), section.title,
                                         page.to .. "#" .. section.id, words_of(section) }
    end
  end
  write("index.js", "window.giluaIndex = [\n" .. table.concat(rows, ",\n") .. "\n];\n")
end

local pages, by_path = read_menu()
local site = { files = {}, anchors = {} }
for _, page in ipairs(pages) do
  local text = gi.textfile.read(gi.home .. "/" .. page.path, "the page")
  page.html, page.headings = markdown.html(text, linker(page, by_path, site))
end
check_anchors(site)
for _, page in ipairs(pages) do write_page(page, pages) end
local function copy(from, to) write(to, gi.textfile.read(gi.home .. "/" .. from, "the file")) end
for path in pairs(site.files) do copy(path, path) end
for _, name in ipairs { "style.css", "search.js" } do copy("docs/site/" .. name, name) end
write_index(pages)
print(("%d pages in %s: open %s/index.html"):format(#pages, OUT, OUT))
