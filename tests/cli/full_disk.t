#!/bin/bash
# A disk that is full when something is written, to the archive too: it is waited for, and the results
# are those of an undisturbed run. A sample of the writes; every one with EVERY=1.
. "$(dirname "$0")/tap.sh"
if sanitized "a library that fails writes comes before the sanitizer's"; then finish; fi
cd "$TMP" || exit 1
RANDOM=${SEED:=$((RANDOM * 32768 + RANDOM))}
echo "# seed $SEED"
cc -shared -fPIC -o full.so "$TOP/tests/faults/full_disk.c" -ldl || exit 1
quickstart=("$GILUA" "$TOP/experiments/quickstart.lua" --side 20 --population 4 --generations 2 --jobs 1
  --quiet)

cat >sound.lua <<'LUA'
local archive = require "gilua".archive.open(arg[1], { read_only = true })
print(archive:row("PRAGMA integrity_check").integrity_check)
LUA

# What has to be the same: all but seconds, and how many workers were lost.
plain() { perl -0pe 's/"seconds": *\{[^}]*\},?//; s/"restarts": *\d+//' "$1/result.json"; }
same() {
  [ "$(plain full)" = "$(plain whole)" ] && cmp -s full/best.cu whole/best.cu &&
    cmp -s full/generations.csv whole/generations.csv &&
    [ "$("$GILUA" export full)" = "$("$GILUA" export whole)" ] &&
    [ "$("$GILUA" sound.lua full/archive.sqlite)" = ok ]
}

# failing N COMMAND...: the N-th write below full/ fails, and the two after it
failing() {
  rm -f full.failed
  FULL_AT=$1 FULL_TIMES=3 FULL_BELOW=$TMP/full LD_PRELOAD=$TMP/full.so "${@:2}" >said.txt 2>&1
}

failing 0 "${quickstart[@]}" --out full
is "a run that nothing disturbs" 0 $?
all=$(cat full.count)
mv full whole
if [ -n "${EVERY:-}" ]; then places=$(seq "$all"); else places="1 7 $((all / 2))"
  for _ in 1 2 3 4 5; do places="$places $((1 + RANDOM % all))"; done
fi
# How often the archive writes depends on how fast things come: a run may end before its n-th write.
bad=0 tried=0 beyond=0
for n in $places; do
  failing "$n" "${quickstart[@]}" --out full
  status=$?
  if [ -e full.failed ]; then tried=$((tried + 1)); else beyond=$((beyond + 1)); fi
  if ! { [ $status = 0 ] && same; }; then
    bad=$((bad + 1))
    echo "# write $n: status $status: $(cat said.txt)"
  fi
  rm -rf full
done
[ "$all" -gt 100 ]
ok $? "a run writes often" "$all times"
is "whichever write meets a full disk, the results are the same ($tried of $all)" 0 $bad
[ $tried -ge $((2 * beyond)) ]
ok $? "and most were met" "$beyond were not"

mkdir full
"$GILUA" export whole --out table.csv
failing 1 "$GILUA" export whole --out full/table.csv
is "an exported table waits for room too" 0 $?
like "and says so" "No space left on device; waits until there is room" "$(cat said.txt)"
cmp -s full/table.csv table.csv
ok $? "and is whole"
: >said.txt # what waits next is ended once it says so: until then it may be this shell still
FULL_AT=1 FULL_TIMES=1000000 FULL_BELOW=$TMP/full LD_PRELOAD=$TMP/full.so "$GILUA" export whole \
  --out full/other.csv >said.txt 2>&1 &
until grep -q "waits until there is room" said.txt; do sleep 0.05; done
kill -TERM $!
wait $!
is "one that is ended while it waits: its status" 143 $?
is "leaves nothing behind" "table.csv" "$(ls full)"
finish
