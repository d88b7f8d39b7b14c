#!/bin/bash
# A problem of a recording: gilua new, check, evolve, verify and apply.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" "$TOP/tests/lua/tape.lua" app.cu a.rec b.rec

fails "a recording without its source" "name the file with --source" "$GILUA" new a.rec
misused "a file that is none" "app.cu is no recording" "$GILUA" new a.rec p app.cu --source app.cu
fails "a source that is not there" "cannot read|nothing.cu" "$GILUA" new a.rec p --source nothing.cu
is "leaves no folder" no "$([ -e p ] && echo yes || echo no)"
out=$("$GILUA" new a.rec b.rec -o p --source app.cu)
ok $? "a problem is made of recordings and a source" "$out"
like "what evolves, and what stays" "touch .* stays as it is" "$out"
fails "not where one is" "p is there already" "$GILUA" new a.rec p --source app.cu
out=$("$GILUA" check p)
ok $? "it is checked" "$out"
like "with the recording's name" "a.rec \(train\) on virtual NVIDIA H200 \(emu\)" "$out"
like "every piece is compared" "604 answers, largest difference 0" "$out"
out=$("$GILUA" evolve p --population 8 --generations 3 --seed 1 --out run)
ok $? "it evolves" "$out"
like "and is compared on the other recording" "on b.rec \(validate\), never seen in evolution" "$out"
out=$("$GILUA" verify run)
like "verify runs all recordings" "  a.rec \(train\) +right.*b.rec \(validate\) +right" "$(tr '\n' ' ' <<<"$out")"
"$GILUA" apply run --diff --anyway >run.diff
like "apply changes the user's source" "^--- app.cu" "$(cat run.diff)"
like "its own lines" "^-  __syncthreads\(\);" "$(cat run.diff)"
is "and nothing of the host's" 0 "$(grep -c '^[-+].*printf' run.diff)"
finish
