#!/bin/bash
# The README and docs/papers.md are true: their Lua blocks run as they stand, its commands exist, its links lead somewhere.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

# Block number N in language LANG of the README.
block() { # block LANG N
  awk -v lang="$1" -v n="$2" '$0 == "```" lang { inside = ++k == n; next } /^```/ { inside = 0 } inside' "$TOP/docs/papers.md"
}

block lua 1 >axpy.lua
is "the first example: any kernel on buffers of one's own" "ok 6.0" \
  "$("$GILUA" axpy.lua 2>&1 | awk '{ print $1, $3 }')"
block lua 2 >mutant.lua
out=$("$GILUA" mutant.lua 2>&1)
ok $? "the second example: mutants by hand" "$out"
like "it measures each of its three mutants" "ok.*ok.*ok" "$(tr '\n' ' ' <<<"$out")"

command=$(grep -m1 -- '--side 40' "$TOP/docs/papers.md")
(cd "$TOP" && eval "${command/--out B/--out $TMP/B --quiet}")
ok $? "the small experiment runs: $command"
for file in $(grep -oE '`(report\.html|best\.cu|best\.patch|result\.json|generations\.csv|log\.txt)`' "$TOP/docs/papers.md" | tr -d '`' | sort -u); do
  [ -e "B/$file" ]
  ok $? "it leaves $file, as the page says"
done
for link in $(grep -oE '\]\([^)#]+\)' "$TOP/README.md" "$TOP"/docs/*.md | sed 's/.*](//; s/)//' | grep -v :// | sort -u); do
  [ -e "$TOP/$link" ] || [ -e "$TOP/docs/$link" ]
  ok $? "the link $link leads somewhere"
done
for target in $(grep -oE '^make [a-z]+' "$TOP/README.md" | cut -d' ' -f2 | sort -u); do
  grep -q "^$target:" "$TOP/Makefile"
  ok $? "make $target exists"
done
for file in $(grep -oE '`(src|lua|experiments|tests)/[A-Za-z0-9_/]+\.(c|h|lua)`' "$TOP/docs/reading.md" | tr -d '`'); do
  [ -e "$TOP/$file" ]
  ok $? "docs/reading.md names a file that is there: $file"
done
finish
