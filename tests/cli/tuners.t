#!/bin/bash
# Tuning results that another tuner goes on with: Kernel Tuner reads ours, gilua tune --cache its.
# PYTHON names a Python that has Kernel Tuner, where python3 has none.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
PYTHON=${PYTHON:-python3}
json() { "$GILUA" -e 'local v = require("gilua").json.decode(io.read "a") for k in ("'"$1"'"):gmatch "[^.]+" do v = v[tonumber(k) or k] end print(v)'; }

"$GILUA" new "$TOP/tests/own/saxpy.cu" saxpy >/dev/null
sed -i 's/^  size = [0-9]*/  size = 4096/; s/block_size_x = {.*/block_size_x = { 32, 64, 256, 512 },/' saxpy/problem.lua

out=$("$GILUA" tune saxpy --cache kept.json --out first --jobs 1)
like "a cache that is not there is made" "4 settings on .*, 0 of them from kept.json" "$out"
cmp -s kept.json first/results.cache.json
ok $? "it is what the run's folder has"
out=$("$GILUA" tune saxpy --cache kept.json --out second --jobs 1)
like "and then read" "4 of them from kept.json" "$out"
is "where the rows come from" "kept.json 4" "$(json cache.file <second/result.json) $(json cache.taken <second/result.json)"
is "with the same best" "$(json best.genome <first/result.json)" "$(json best.genome <second/result.json)"
cmp -s kept.json first/results.cache.json
ok $? "nothing is added to what knows all"
like "log says where its settings are" "^first is a tuning, .* are in first/results.t4.json$" "$("$GILUA" log first)"
fails "of which there is no table of evaluations" "first is a tuning, .* are in first/results.t4.json" "$GILUA" export first
fails "and no search" "first is a tuning: it has no search to simulate" "$GILUA" replay first
sed -i 's/block_size_x = {.*/block_size_x = { 32, 64, 128, 256, 512 },/' saxpy/problem.lua
like "a value more is measured alone" "5 settings on .*, 4 of them" "$("$GILUA" tune saxpy --cache kept.json --out third --jobs 1)"
like "and added" '^"128": .*"time": [0-9.e-]+,' "$(cat kept.json)"
fails "of another case it is none" "times of seed 1, and this is 2" "$GILUA" tune saxpy --cache kept.json --seed 2
sed -i 's/y\[i\];/y[i] + 0.f;/' saxpy/kernel.cu
fails "of another kernel neither" "another text of saxpy" "$GILUA" tune saxpy --cache kept.json
fails "a folder that is not there" "cannot use nowhere/c.json" "$GILUA" tune saxpy --cache nowhere/c.json
mkdir folder
fails "a folder" "cannot read the cache: folder is a folder" "$GILUA" tune saxpy --cache folder
[ ! -e folder.lock ] && [ ! -e kept.json.lock ]
ok $? "no lock is left"

# A tuning that is stopped keeps the best so far, shows it, and goes on.
sed -i 's/y\[i\] + 0.f;/y[i];/' saxpy/kernel.cu
sed -i "s/block_size_x = {.*/block_size_x = { $(seq -s ', ' 32 32 1024) },/" saxpy/problem.lua
for _ in 1 2 3 4 5 6 7 8 9; do # where it was through before its reader was gone, once more
  rm -rf stopped
  "$GILUA" tune saxpy --json --jobs 1 --out stopped 2>stopped.said | head -n 2 >stopped.events
  status=${PIPESTATUS[0]}
  [ "$status" != 0 ] && grep -q interrupted stopped/result.json && break
done
is "a tuning that nobody reads any more is stopped" 141 "$status"
like "it says how far it came" "^[0-9]+ of 32 settings are measured; best so far: .*Results are in stopped: report.html best.cu " "$(cat stopped.said)"
is "and so does its result" interrupted "$(json stopped <stopped/result.json)"
like "and its page" "<strong>Stopped:</strong> interrupted; [0-9]+ of 32 settings are measured" "$(cat stopped/report.html)"
like "which has what was measured" "<code>block_size_x=32</code></td><td class=\"r\">" "$(cat stopped/report.html)"
"$GILUA" apply stopped --diff >stopped.diff 2>&1
[[ $? = 0 || $? = 3 ]]
ok $? "its best can be applied" "$(cat stopped.diff)"
"$GILUA" resume stopped >resumed.said 2>&1
rows() { "$GILUA" -e 'local v = require("gilua").json.decode(io.read "a") print(v.stopped, #v.rows)'; }
is "and it goes on to its end" "nil	32" "$(rows <stopped/result.json)"

# what Kernel Tuner does with it
if ! "$PYTHON" -c 'import kernel_tuner' 2>/dev/null; then
  echo "# left out: $PYTHON has no kernel_tuner (pip install kernel_tuner, then PYTHON=…), so that"
  echo "# only the rules of its files were looked at (tests/lua/tuningcache.lua)"
  finish
fi
cat >simulate.py <<'END'
import json, sys, warnings
from kernel_tuner import tune_cache, tune_kernel
warnings.simplefilter("ignore")
path = sys.argv[1]
about = json.load(open(path))
results, env = tune_kernel(about["kernel_name"], "", about["problem_size"], [], about["tune_params"], lang="C",
                           cache=path, simulation_mode=True, quiet=True)
least = min(e["time"] for e in about["cache"].values() if isinstance(e.get("time"), float))
print(len(results), env["best_config"]["time"] == least, env["device_name"])
results, env = tune_cache(path, quiet=True)
print(len(results), env["best_config"]["time"] == least)
END
cp first/results.cache.json sim.json
out=$("$PYTHON" simulate.py sim.json 2>&1)
is "its simulation mode reads our results, and tune_cache" "4 True virtual NVIDIA H200 (emu)
4 True" "$out"
cmp -s sim.json first/results.cache.json
ok $? "which leaves the file as it was"

cat >append.py <<'END'
import sys
from kernel_tuner import util
cache = util.read_cache(sys.argv[1])["cache"]
util.store_cache("1024", {"block_size_x": 1024, "time": 0.5}, sys.argv[1], cache)
util.store_cache("768", {"block_size_x": 768, "__error__": util.CompilationFailedConfig()}, sys.argv[1], cache)
if len(sys.argv) == 2:
    util.close_cache(sys.argv[1])
END
cp "$TOP"/tests/own/saxpy.cu . # the kernel as it was
rm -r saxpy && "$GILUA" new saxpy.cu saxpy >/dev/null
sed -i 's/^  size = [0-9]*/  size = 4096/; s/block_size_x = {.*/block_size_x = { 32, 64, 256 },/' saxpy/problem.lua
"$GILUA" tune saxpy --cache ours.json --out fourth --jobs 1 --quiet
sed -i 's/block_size_x = {.*/block_size_x = { 32, 64, 256, 512, 768, 1024, 128 },/' saxpy/problem.lua
for how in "" open; do
  cp ours.json its.json
  "$PYTHON" append.py its.json $how
  like "it goes on with ours, and we with its${how:+, which it left open}" "7 settings on .*, 5 of them from its.json" \
    "$("$GILUA" tune saxpy --cache its.json --out "fifth$how" --jobs 1)"
  like "what does not compile there" "CompilationFailedConfig" "$(json rows.5.message <"fifth$how/result.json")"
  like "and it reads that again" "^7 True virtual" "$("$PYTHON" simulate.py its.json 2>&1)"
done

cat >measure.py <<'END'
from kernel_tuner import tune_kernel
tune_kernel("saxpy", 'extern "C" float saxpy(int n) { return 2.5f + (block_size_x != 64) - (block_size_x == 7); }', 4096,
            [__import__("numpy").int32(3)], {"block_size_x": [32, 64, 128]}, lang="C", cache="cpu.json", quiet=True)
END
"$PYTHON" measure.py >/dev/null 2>measure.err
ok $? "it measures on a CPU" "$(cat measure.err)"
cp cpu.json cpu.before
out=$("$GILUA" tune saxpy --cache cpu.json --out sixth --jobs 1)
like "times of another device are taken over as they are" "3 settings of 7 on .*, with times of an unnamed device" "$out"
like "and its best is right here" "Best: block_size_x=64" "$out"
cmp -s cpu.json cpu.before
ok $? "nothing is added to them"
finish
