#!/bin/bash
# Files whose kernels go where they may not (tests/hostile/oddfiles.lua) through new, check and
# evolve: each ends with status 0 or 1 (evolve with 3: no winner) and a sentence (a quiet evolve that
# found a winner has none), never by a signal,
# a traceback or a report of a sanitizer. ODD_FILES is how many (10), ODD_EVOLVED how many of them evolve (1), ODD_SEED which.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
seed=${ODD_SEED:-$RANDOM}
echo "# ODD_SEED=$seed"

# ends_well WHAT CMD…
ends_well() {
  local what=$1 out status bad='Sanitizer|runtime error:|stack traceback|the process that ran it'
  shift
  out=$(timeout 600 "$@" 2>&1 </dev/null)
  status=$?
  [[ $status:$out =~ ^([01]:.|3:|0:$) ]] && ! grep -qE "$bad" <<<"$out"
  ok $? "$what" "status $status: $(tail -n 5 <<<"$out")"
}

"$GILUA" "$TOP/tests/hostile/oddfiles.lua" . "${ODD_FILES:-10}" "$seed" >list.txt
is "as many files as are asked for" "${ODD_FILES:-10}" "$(wc -l <list.txt)"
evolved=0
while IFS=$'\t' read -r name what; do
  ends_well "new: $what" "$GILUA" new "$name.cu" "$name" --guess
  [ -e "$name/problem.lua" ] || continue
  ends_well "check: $what" "$GILUA" check "$name"
  [ $evolved -ge "${ODD_EVOLVED:-1}" ] && continue
  evolved=$((evolved + 1))
  ends_well "evolve: $what" "$GILUA" evolve "$name" --population 4 --generations 2 --jobs 1 \
    --quiet --out "run-$name"
done <list.txt
finish
