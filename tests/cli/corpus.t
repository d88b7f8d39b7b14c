#!/bin/bash
# What fuzzing found once does no harm any more: every file of tests/fuzz/corpus, by its target. And
# every file says why it is kept.
. "$(dirname "$0")/tap.sh"

programs=${FUZZERS:-$TOP/build/fuzz}
cd "$TMP" || exit 1
for folder in "$TOP"/tests/fuzz/corpus/*/; do
  target=$(basename "$folder")
  for file in "$folder"*; do
    name=$(basename "$file")
    [ "$name" != WHY ] || continue
    said=$("$programs/$target" "$file" 2>&1)
    is "$target: $name does no harm" "$target: $file did no harm" "$said"
    grep -q "^$name: ." "$folder/WHY"
    ok $? "$target: WHY tells of $name"
  done
done
[ "$count" -gt 0 ]
ok $? "there is a corpus"
finish
