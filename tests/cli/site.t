#!/bin/bash
# The manual as a site: every page is there, every link of every page leads to a file or a heading, what
# the search looks through leads somewhere too, and a page with a wrong link is refused.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

GILUA_HOME=$TOP "$GILUA" "$TOP/docs/site/generate.lua" site >said 2>&1
ok $? "the site is made" "$(cat said)"
for page in $(cd "$TOP" && ls README.md CHANGELOG.md docs/*.md docs/howto/*.md docs/python/*.md kernels/*/README.md); do
  html=site/$(sed 's/README\.md$/index.md/; s/\.md$/.html/' <<<"$page")
  title=$(sed -n 's/^# //p' "$TOP/$page" | head -1 | tr -d '`<>&"')
  grep -q "<h1 " "$html" && sed -n 's/<[^>]*>//gp' <(grep '<h1 ' "$html") | sed 's/&[a-z]*;//g' | grep -qF -- "$title"
  ok $? "$page is a page with its title" "$title"
done

# Every href and src, and the index of the search: PAGE TARGET; the ids of every page: PAGE#ID.
cat >links.lua <<'LUA'
local lfs = require "lfs"
local ids, links, bad, n = {}, {}, {}, 0
local function read(path) local f <close> = assert(io.open(path, "rb")) return f:read "a" end
local function walk(folder)
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    if name ~= "." and name ~= ".." and lfs.attributes(path, "mode") == "directory" then walk(path)
    elseif name:find "%.html$" then
      local text = read(path)
      for id in text:gmatch ' id="([^"]*)"' do ids[path .. "#" .. id] = true end
      for target in text:gmatch ' [hs]r[ec]f?="([^"]*)"' do links[#links + 1] = { path, target } end
    end
  end
end
walk "site"
for target in read("site/index.js"):gmatch '"([^" ]+%.html#[^"]+)"' do
  links[#links + 1] = { "site/index.html", target }
end
for _, link in ipairs(links) do
  local from, target = link[1], link[2]
  if not target:find "^%a+:" then
    local path, id = target:match "^([^#]*)#?(.*)$"
    path = path == "" and from or from:match "^(.*)/" .. "/" .. path
    local real = path
    repeat
      local before = real
      real = real:gsub("/%./", "/"):gsub("[^/.]+/%.%./", "", 1)
    until real == before
    n = n + 1
    if lfs.attributes(real, "mode") ~= "file" or id ~= "" and not ids[real .. "#" .. id] then
      bad[#bad + 1] = from .. ": " .. target
    end
  end
end
print(n > 2000 and "many" or n, table.concat(bad, "; "))
LUA
is "every link leads somewhere, and every answer of the search" "many	" "$("$GILUA" links.lua 2>&1)"
ok "$(grep -qE 'https?://' <(cat site/search.js site/style.css <(grep -ohE '<(script|link)[^>]*>' -r site)); echo $((! $?)))" \
  "nothing is fetched from a network"

if command -v node >/dev/null; then
  cat >search.js <<'JS'
const fs = require("fs");
const made = () => ({ children: [], textContent: "", appendChild(c) { this.children.push(c); return c; } });
const input = { value: process.argv[2], addEventListener(_, f) { this.f = f; } };
const list = made();
const form = { querySelector: (s) => (s === "input" ? input : list), dataset: { top: "" }, addEventListener() {} };
global.window = {};
global.document = { getElementById: () => form, createElement: made };
eval(fs.readFileSync("site/index.js", "utf8"));
eval(fs.readFileSync("site/search.js", "utf8"));
input.f();
console.log(list.children[0].children[0] ? list.children[0].children[0].href : list.children[0].textContent);
JS
  is "the search finds a page by its title" "docs/emu.html#the-virtual-gpu" "$(node search.js 'virtual gpu')"
  like "and by words of its text" "^docs/|^index" "$(node search.js 'crowding')"
  is "and says when there is nothing" "nothing has all these words" "$(node search.js 'xyzzyx')"
fi

mkdir -p wrong/docs/site && cp -r "$TOP"/{README.md,CHANGELOG.md,CONTRIBUTING.md,lua,kernels,data,tests,src,experiments} wrong/
cp -r "$TOP"/docs/. wrong/docs
echo "[nowhere](no-such.md)" >>wrong/docs/emu.md
fails "a link that leads nowhere is refused" "docs/emu.md: the link no-such.md leads nowhere" \
  env GILUA_HOME="$PWD/wrong" "$GILUA" wrong/docs/site/generate.lua broken
sed -i 's/no-such.md/run.md#no-such-heading/' wrong/docs/emu.md
fails "and one to a heading that is not there" "docs/emu.md: run.md#no-such-heading names no heading" \
  env GILUA_HOME="$PWD/wrong" "$GILUA" wrong/docs/site/generate.lua broken
finish
