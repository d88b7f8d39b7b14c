# page.sh - for stories about pages and what they agree with. Source it after tap.sh.

# whole FILE: is it well-formed, as XML too? What is wrong is printed. 2: there is nothing to tell with.
whole() {
  if command -v xmllint >/dev/null; then
    xmllint --noout --huge "$1" 2>&1
  elif command -v python3 >/dev/null; then
    python3 -c 'import sys, xml.sax; xml.sax.parse(sys.argv[1], xml.sax.ContentHandler())' "$1" 2>&1
  else
    return 2
  fi
}

# well_formed FILE WHAT
well_formed() {
  local said status
  said=$(whole "$1")
  status=$?
  if [ $status = 2 ]; then
    count=$((count + 1))
    echo "ok $count # SKIP neither xmllint nor python3 is installed"
    return
  fi
  ok $status "$2 is well-formed, as XML too" "$said"
}

# Whatever a page could fetch from: but for names of XML's vocabularies, places on the page itself and data in it.
elsewhere() {
  grep -aoE "(src|href|action|data|srcset)=[\"'][^\"']*|url\([^)]*|@import[^;]*|https?://[^\"' <>]*" "$1" |
    grep -vE "^(xlink:)?(src|href)=[\"'](#|data:image/png;base64,)|^url\(#|^http://www\.w3\.org/(2000/svg|1999/xlink)$"
}

alone() { is "$2 needs nothing else" "" "$(elsewhere "$1" | sort -u | head -5)"; }

# field FILE PATH: a value of a JSON file
cat >"$TMP/field.lua" <<'LUA'
local gi = require "gilua"
local value = gi.json.decode(gi.textfile.read(arg[1], "it"))
for key in arg[2]:gmatch "[^.]+" do value = value[tonumber(key) or key] end
print(value)
LUA
field() { "$GILUA" "$TMP/field.lua" "$@"; }

# same_kernel DIR PROBLEM WHAT: best.cu, best.patch and apply are of result.json's best
same_kernel() {
  "$GILUA" -e "gi = require 'gilua' io.write((gi.problem('$2').grammar:apply([[$(
    field "$1/result.json" best.genome)]], true)))" | cmp -s - "$1/best.cu"
  ok $? "$3: best.cu is result.json's best"
  is "$3: and so is what apply changes" "$(sed 1,2d "$1/best.patch")" "$("$GILUA" apply "$1" --diff | sed 1,2d)"
}

# listed DIR FILE WHAT: what "Results are in" lists is there
listed() {
  local name
  for name in $(sed -nE 's/^Results are in [^:]*: ([^;]*).*/\1/p' "$2"); do
    [ -s "$1/$name" ]
    ok $? "$3: $name is there, as it says"
  done
}
