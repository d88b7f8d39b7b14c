#!/bin/bash
# The box of workers: the code of a problem attacks the machine that evaluates its kernel. Each attack
# fails in the worker with a sentence, and succeeds where the box is left off.
. "$(dirname "$0")/tap.sh"

victim=$TMP/victim
attack() { "$GILUA" "$TOP/tests/hostile/box.lua" "$victim" "$@" 2>&1 </dev/null; }
fresh() {
  rm -rf "$victim"*
  echo mine >"$victim"
}

files="write append update make remove rename folder link symlink library"
calls="touch shell pipe reader tcp udp daemon leave kill everybody trace namespace mount outlive large"
[ -n "${GILUA_SANITIZED:-}" ] || calls="$calls fork" # LeakSanitizer needs processes and traces them
[ -z "${GILUA_SANITIZED:-}" ] || calls=${calls/trace /}
landlock=$("$GILUA" -e 'print(require("gilua.core").farm.box().landlock)')
[ "$landlock" != 0 ] || echo "# this kernel has no Landlock: files are not shut"
[ "$landlock" != 0 ] || files=

fresh
out=$(attack $files $calls)
for name in $files $calls; do
  like "$name is refused" "^$name: .*(Permission denied|Operation not permitted).*\(a worker starts no programs" \
    "$(grep "^$name:" <<<"$out")"
done
is "the victim's file is what it was" "mine" "$(cat "$victim")"
is "nothing lies beside it" "$victim" "$(echo "$victim"*)"

out=$(attack honest own temporary read honest)
is "what a problem may do it can: read, and write files of its own" \
  "honest: ok own: ok temporary: ok read: ok honest: ok" "$(paste -sd ' ' <<<"$out")"
is "nothing of it is left" "" "$(ls "${TMPDIR:-/tmp}" | grep '^gilua-[0-9]*-......$')"

fresh
out=$(GILUA_BOX=off attack write shell make)
is "without the box the same attacks succeed" "write: ok shell: ok make: ok" "$(paste -sd ' ' <<<"$out")"
is "and leave their mark" "stolen" "$(cat "$victim")"
like "doctor says what the box is here" "^ok +workers' box +no network, no programs \(seccomp\); files" \
  "$("$GILUA" doctor)"
like "and that it is off" "^!! +workers' box +GILUA_BOX=off" "$(GILUA_BOX=off "$GILUA" doctor)"
finish
