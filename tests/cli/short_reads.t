#!/bin/bash
# Sockets between host and workers that are interrupted and give a few bytes at a time: nothing is lost.
# A sample of the calls; every one with EVERY=1.
. "$(dirname "$0")/tap.sh"
if sanitized "a library that shortens reads comes before the sanitizer's"; then finish; fi
cd "$TMP" || exit 1
RANDOM=${SEED:=$((RANDOM * 32768 + RANDOM))}
echo "# seed $SEED"
cc -shared -fPIC -o short.so "$TOP/tests/faults/short_reads.c" -ldl || exit 1
TALK=("$GILUA" "$TOP/tests/faults/short_reads.lua")

# short N COMMAND...: the N-th call is interrupted, and then moves one byte, or a few
short() {
  rm -f short.happened
  SHORT_AT=$1 SHORT_BYTES=${BYTES:-1} LD_PRELOAD=$TMP/short.so timeout 300 "${@:2}" >got.txt 2>said.txt
}

short 0 "${TALK[@]}"
is "a talk that nothing disturbs" 0 $?
all=$(cat short.count)
mv got.txt want.txt
bad=0 tried=0
if [ -n "${EVERY:-}" ]; then places=$(seq "$all"); else places="1 2 $((3 + RANDOM % all)) $((3 + RANDOM % all))"; fi
for n in $places -1; do
  tried=$((tried + 1))
  short "$n" "${TALK[@]}"
  status=$?
  [ $status = 0 ] && cmp -s got.txt want.txt && [ -e short.happened -o "$n" -gt "$all" ] && continue
  bad=$((bad + 1))
  echo "# call $n: status $status: $(cat said.txt)"
done
is "whichever call is cut short, the same is said ($tried of $all, and all at once)" 0 $bad

RUN=("$GILUA" "$TOP/experiments/quickstart.lua" --side 20 --population 4 --generations 1 --jobs 2 --quiet)
plain() { perl -0pe 's/"seconds": *\{[^}]*\},?//' "$1/result.json"; }
"${RUN[@]}" --out whole
BYTES=61 short -1 "${RUN[@]}" --out cut
is "a run in which all are" 0 $?
is "finds the same, and loses no worker" "$(plain whole)" "$(plain cut)"
finish
