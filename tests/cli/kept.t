#!/bin/bash
# $GILUA_COMPILED: what NVRTC made is found again by the next command, from its worker's box too.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
entries() { find kept -type f 2>/dev/null | wc -l; }
cat >one.lua <<'LUA'
local gi = require "gilua"
print(gi.compile("__global__ void k(int *x) { x[0] = 1; int unused; }", { target = "compute_80" }))
LUA

plain=$(env -u GILUA_COMPILED "$GILUA" one.lua)
is "without the variable nothing is kept" 0 "$(entries)"
export GILUA_COMPILED=$TMP/kept
is "the first command has what it has without" "$plain" "$("$GILUA" one.lua)"
is "and keeps it" 1 "$(entries)"
is "the next one has the same" "$plain" "$("$GILUA" one.lua)"
is "of that entry" 1 "$(entries)"
is "which is this user's alone" "700 600" "$(stat -c %a kept kept/* | xargs)"
printf 'torn' >"$(echo kept/*)"
is "from a torn entry too" "$plain" "$("$GILUA" one.lua)"
[ "$(stat -c %s kept/*)" -gt 100 ]
ok $? "which is written anew"

cp "$TOP/tests/own/saxpy.cu" .
sed -i 's/: 1 << 20;/: 4000;/' saxpy.cu
"$GILUA" new saxpy.cu >/dev/null && "$GILUA" check saxpy --jobs 1 >first.txt
before=$(entries)
[ "$before" -gt 5 ]
ok $? "a problem's compilations are kept, batches too" "$before"
rm -rf saxpy
"$GILUA" new saxpy.cu >/dev/null && "$GILUA" check saxpy --jobs 1 >second.txt
is "made and checked once more nothing is compiled" "$before" "$(entries)"
is "and the same is said" "$(cat first.txt)" "$(cat second.txt)"
finish
