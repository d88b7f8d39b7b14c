#!/bin/bash
# The manual is true: every Lua block of README and docs/ runs as it stands, so does every block of commands
# after `<!-- run -->` (`<!-- run with nvcc -->`: where that is); a block after `<!-- output -->` is
# what the block before it prints (lines with seconds in them apart), one after `<!-- prompt -->` what
# the prompt shows; links lead somewhere; docs/api.md is what the code says. Ticks depend on what NVRTC
# makes of a kernel, so output is compared where it is the version it was written with.
. "$(dirname "$0")/tap.sh"
mkdir "$TMP/blocks"
export GILUA_HOME=$TOP

# An empty folder for each page, with what is in a clone.
begin() {
  cd "$TMP" && rm -rf work && mkdir work && cd work || exit 1
  ln -s "$TOP"/{experiments,kernels,lua,docs,data,tests} .
  ln -s "$(realpath "$GILUA")" gilua
}
begin

# split FILE: its blocks in $TMP/blocks as 001.lua, 002.sh, 003.out; what is not marked is left out.
split() {
  rm -f "$TMP"/blocks/*
  awk -v dir="$TMP/blocks" '
    /^```/ && inside { inside = 0; close(file); next }
    /^```lua/ { kind = "lua" }
    /^```/ { inside = 1; file = kind ? sprintf("%s/%03d.%s", dir, ++n, kind) : "/dev/null"; kind = ""
      printf "" > file; next }
    inside { print > file; next }
    /^<!-- run -->$/ { kind = "sh" }
    /^<!-- run with nvcc -->$/ { kind = "nvcc" }
    /^<!-- output -->$/ { kind = "out" }
    /^<!-- prompt -->$/ { kind = "prompt" }
    /[^ ]/ && !/^<!-- / { kind = "" }' "$1"
}

# What the prompt would show of a session, with the lines typed.
cat >"$TMP/replay.lua" <<'LUA'
gi = require "gilua"
for line in io.lines(arg[1]) do
  local typed = line:match("^> (.*)$")
  if typed then
    print(line)
    local chunk = load("return " .. typed) or assert(load(typed))
    local ok, value = pcall(chunk)
    if not ok then
      print(tostring(value))
    elseif value ~= nil then
      print((gi.inspect.render(value, { width = 120 })))
    end
  end
end
LUA

written_with=13.0
compiler=$(./gilua -e 'print(require "gilua".compile.info().version)')

same() { # same DIFFERENCE TEXT
  if [ "$compiler" = $written_with ]; then
    [ -z "$1" ]
    ok $? "$2" "$1"
  else
    echo "ok $((count = count + 1)) - $2 # SKIP written with NVRTC $written_with, not $compiler"
  fi
}

# Without what differs from one run to the next, and from one machine.
timeless() { grep -vE ' evaluations in |[0-9] ms$' | sed -E "s/0x[0-9a-f]{6,}/0x…/g; s/SHA-256 [0-9a-f]+…/SHA-256 …/; s/ended [-0-9]+ [0-9:]+ UTC/ended … UTC/; s|$PWD/|…/|g"; }

for page in "$TOP"/README.md "$TOP"/docs/*.md "$TOP"/docs/howto/*.md "$TOP"/docs/python/*.md; do
  name=${page#"$TOP"/}
  begin
  split "$page"
  : >"$TMP/session"
  if sanitized "the blocks of $name: whatever they call has a test of its own"; then
    rm -f "$TMP"/blocks/*
  fi
  for block in "$TMP"/blocks/*; do
    [ -e "$block" ] || continue
    what="$name, block $(basename "$block")"
    case $block in
    *.lua) printed=$(./gilua --jobs 1 "$block" 2>&1); ok $? "$what runs" "$printed" ;;
    *.sh) printed=$(bash -e "$block" 2>&1); ok $? "$what runs" "$printed" ;;
    *.nvcc)
      if command -v nvcc >/dev/null; then
        printed=$(env -u LD_PRELOAD bash -e "$block" 2>&1); ok $? "$what runs" "$printed"
      else
        echo "ok $((count = count + 1)) - $what # SKIP there is no nvcc on this machine"
      fi ;;
    *.prompt) cat "$block" >>"$TMP/session" # a page's blocks are one session
      difference=$(diff <(timeless <"$TMP/session") \
        <(NO_COLOR=1 ./gilua --jobs 1 "$TMP/replay.lua" "$TMP/session" 2>&1 | timeless))
      same "$difference" "$what is what the prompt shows" ;;
    *.out) difference=$(diff <(timeless <"$block") <(timeless <<<"$printed"))
      same "$difference" "$what is what comes out" ;;
    esac
  done
  for link in $(grep -oE '\]\([^)]+\)' "$page" | sed 's/.*](//; s/)//' | grep -v :// | sort -u); do
    target=$(dirname "$page")/${link%%#*}
    [ "${link#\#}" = "$link" ] || target=$page
    [ -e "$target" ]
    ok $? "$name: the link $link leads somewhere"
    case $link in *\#*)
      sed -n 's/^#* //p' "$target" | tr 'A-Z ' 'a-z-' | tr -d "\`'.,:()/" | grep -qx -- "${link#*#}"
      ok $? "$name: $link is a heading there" ;;
    esac
  done
done

./gilua docs/generate.lua "$TMP/api.md"
difference=$(diff "$TOP/docs/api.md" "$TMP/api.md")
ok $? "docs/api.md is what the code says (make docs writes it)" "$difference"

if command -v groff >/dev/null; then
  is "the man page has no complaints" "" "$(groff -man -ww -Tascii "$TOP/docs/gilua.1" 2>&1 >/dev/null)"
fi
for option in $(./gilua --help | grep -oE '^ +--[a-z]+' | tr -d ' '); do
  for file in gilua.1 gilua.bash-completion _gilua; do
    sed 's/\\-/-/g' "$TOP/docs/$file" | grep -q -- "$option"
    ok $? "docs/$file knows $option"
  done
done
finish
