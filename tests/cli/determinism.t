#!/bin/bash
# Same seed, device emu: the same bytes out, twice, and however many workers served it.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

run() { # run DIR JOBS
  "$GILUA" "$TOP/experiments/quickstart.lua" --seed 7 --side 40 --population 12 --generations 4 \
    --jobs "$2" --out "$1" --quiet >"$1.log" 2>&1
  ok $? "a run with $2 worker(s) ends well" "$(cat "$1.log")"
}

# result.json but for what is measured in seconds
plain() { perl -0pe 's/"seconds": *\{[^}]*\},?//' "$1/result.json"; }

run A 1
run C 2
if ! sanitized "the same run again with one worker"; then
  run B 1
  is "the same result twice" "$(plain A)" "$(plain B)"
fi
is "the same result with two workers" "$(plain A)" "$(plain C)"
for f in best.cu best.patch generations.csv; do
  cmp -s A/$f C/$f
  ok $? "$f is the same, byte for byte"
done

timeless() { sed -E 's/^ *[0-9.]+ s  //' "$1/log.txt"; }
is "log.txt is the same but for its seconds" "$(timeless A)" "$(timeless C)"

like "the result says what was found" '"speedup"' "$(cat A/result.json)"
is "a run that is quiet prints nothing" "" "$(cat A.log)"
cp "$TOP/kernels/niftyreg/kernel.cu" kernel.cu
if [ -s A/best.patch ]; then
  patch -s kernel.cu A/best.patch
  ok $? "the patch applies to the kernel"
fi
cmp -s kernel.cu A/best.cu
ok $? "and gives best.cu"
if command -v nvcc >/dev/null; then
  kept_nvcc -arch=compute_90 -ptx -o best.ptx A/best.cu 2>nvcc.log
  ok $? "best.cu compiles with nvcc" "$(cat nvcc.log)"
else
  echo "ok $((count = count + 1)) - best.cu compiles with nvcc # SKIP there is no nvcc on this machine"
fi
finish
