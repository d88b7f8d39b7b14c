#!/bin/bash
# Energy: the virtual GPU's estimate and NVML's counter, as fields of measurements and objectives.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
sanitized "a driver without a GPU" && { finish; exit; }
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" "$TOP/tests/lua/tape.lua" app.cu a.rec b.rec
"$GILUA" new a.rec b.rec -o p --source app.cu >/dev/null

out=$("$GILUA" evolve p --scheme gevo --objectives energy,time --population 8 --generations 2 --seed 2 --out run; echo "status $?")
like "it evolves for less energy" "status (0|3)" "$out"
like "whose front has energy and time" '"objectives":\["energy","time"\],.*"values":\[0\.[0-9]+,0\.[0-9]+\]' "$(tr -d ' \n' <run/result.json)"

export GILUA_CUDA=${FAKE_CUDA:-$TOP/build/tests/libcuda_fake.so}
export GILUA_NVJITLINK=/none # PTX is the driver's, which makes no use of machine code
export GILUA_NVML=${FAKE_NVML:-$TOP/build/tests/libnvml_fake.so}
cat >counter.lua <<'END2'
local core = require "gilua.core"
local device <close> = assert(core.device.open(arg[1], require "gilua.base.gpu.h200"))
local STEP_S = 0.02 -- the counter moves so often; when it was asked is known between two looks at the clock
local seconds = core.system.seconds
local function asked()
  local first = seconds()
  local joules, why = device:energy()
  return joules, why or first, seconds()
end
local before, first, last = asked()
if not before then print(first) return end
core.system.sleep(0.3)
local after, again, over = asked()
local watts, joules = tonumber(os.getenv "FAKE_WATTS"), after - before
local least, most = watts * (again - last - STEP_S), watts * (over - first + STEP_S)
print(joules > 0 and joules >= least and joules <= most and "as it should" or
  ("%g J, not from %g to %g"):format(joules, least, most))
END2
is "the counter says what was taken" "as it should" "$(FAKE_WATTS=200 "$GILUA" counter.lua cuda)"
is "of another GPU more" "as it should" "$(FAKE_WATTS=400 "$GILUA" counter.lua cuda)"
like "a GPU without a counter says so" "does not tell the energy of fake GPU 0: Not Supported" \
  "$(FAKE_WATTS=0 "$GILUA" counter.lua cuda)"
like "without NVML that is said" "known to NVML alone, which cannot be loaded \(./none.so" \
  "$(GILUA_NVML=./none.so "$GILUA" counter.lua cuda)"
like "the virtual GPU has no counter" "has no counter of energy" "$("$GILUA" counter.lua emu)"

cat >launches.lua <<'END2'
local core, gi = require "gilua.core", require "gilua"
local device <close> = assert(core.device.open("cuda", require "gilua.base.gpu.h200"))
local code = gi.compile('extern "C" __global__ void k(int *n) { atomicAdd(n, 1); }',
  { target = "compute_90" })
local n = core.array.new("i32", 1)
local module <close> = assert(device:load(code))
local buffer <close> = assert(device:buffer(n))
n[1] = 0
assert(buffer:write(n))
local t = module:time { kernel = "k", grid = 1, block = 1, args = { buffer }, min_samples = 40,
  max_samples = 40 }
print(#t.samples, buffer:read()[1] - t.launches)
END2
is "all launches are counted, also those that are no samples" "40 0" "$("$GILUA" launches.lua 2>&1 | tr '\t' ' ')"
cat >farm.lua <<'END2'
local gi = require "gilua"
local problem = gi.problem "p"
local farm <close> = gi.farm(problem, { device = "cuda", jobs = 1, energy = arg[1] == "yes" })
local m = farm:evaluate({ "" }, gi.own.case(problem, 1))[1]
print(m.status, m.energy_j and m.energy_j > 0 and m.energy_error_j < m.energy_j / 2)
END2
is "a measurement has it where it is asked for" "ok true" "$("$GILUA" farm.lua yes | tr '\t' ' ')"
is "and not else" "ok nil" "$("$GILUA" farm.lua no | tr '\t' ' ')"
out=$(GILUA_NVML=./none.so "$GILUA" farm.lua yes 2>&1)
like "nor without NVML, which is said" "GILUA_NVML may name the file" "$out"
out=$("$GILUA" evolve p --scheme gevo --objectives energy --population 2 --generations 1 --seed 1 --out gpu --device cuda; echo "status $?")
like "it is an objective there" "status (0|3)" "$out"
finish
