#!/bin/bash
# Hostile mutants among innocent ones on the virtual GPU: none is blamed or lost, each gets its due.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

out=$(HOSTILE_MARK=$TMP "$GILUA" "$TOP/tests/gpu/hostile.lua" --quick --innocents 30 \
  --answers 20011 --jobs 2 --compile-timeout 6 2>&1 </dev/null)
ok $? "the quick hostile suite ends as it must" "$(grep -E 'NOT OK|complaints|hostile suite' <<<"$out" || tail -20 <<<"$out")"
like "at least 25 hostile mutants were evaluated" "with ([3-9][0-9]|2[5-9]|1[0-9][0-9]) hostile ones" "$out"
# workers inherit the mark
left=$(grep -lsaF "HOSTILE_MARK=$TMP" /proc/[0-9]*/environ | while read -r f; do
  tr '\0' ' ' <"${f%environ}cmdline" | grep -F -- --worker
done)
is "no worker is left" "" "$left"
finish
