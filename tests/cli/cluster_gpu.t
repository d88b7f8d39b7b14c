#!/bin/bash
# Agents with a GPU that is none (tests/c/fake_cuda.c) and one without, for a manager that has none.
. "$(dirname "$0")/tap.sh"
PATH=$PATH:/usr/sbin
sanitized "the fake driver has no sanitizers in it" && finish
if ! command -v nats-server >/dev/null; then
  echo "1..0 # SKIP nats-server is not installed"
  exit 0
elif ! "$GILUA" -e 'os.exit(require("gilua.core").net.library() and 0 or 1)' </dev/null; then
  echo "1..0 # SKIP libnats is not installed"
  exit 0
fi
driver=${FAKE_CUDA:-$TOP/build/tests/libcuda_fake.so}
unset GILUA_CUDA
cd "$TMP" || exit 1
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" "$TOP/tests/lua/tape.lua" app.cu a.rec b.rec
"$GILUA" new a.rec b.rec -o p --source app.cu >/dev/null

mine=() # processes
trap 'kill -9 "${mine[@]}" 2>/dev/null; rm -rf "$TMP"' EXIT
nats-server -a 127.0.0.1 -p -1 --ports_file_dir "$TMP" >nats.said 2>&1 &
mine+=($!)
disown
until [ -s "nats-server_${mine[0]}.ports" ] || ! kill -0 "${mine[0]}"; do sleep 0.05; done
url=nats://127.0.0.1:$(sed -nE 's|.*nats://127.0.0.1:([0-9]+).*|\1|p' nats-server_*.ports)
agent() { # agent NAME OPTION…
  "$GILUA" agent --join "$url" --jobs 1 "${@:2}" >"$1.said" 2>&1 &
  mine+=($!)
  disown
}

cat >farm.lua <<'END'
local gi = require "gilua"
local problem = gi.problem "p"
local farm <close> = gi.farm(problem, { device = "cuda", cluster = arg[1], jobs = 1,
                                        check = "winners" })
local case = gi.own.case(problem, 1)
local function by_hand(was, now)
  return { source = problem.source:gsub(was, now), name = now }
end
local list = farm:evaluate({ "", by_hand("y%[i%] = x%[i%]", "y[i + (1 << 30)] = x[i]"),
  by_hand("lower%(", "upper("), by_hand("%+ 1%.0f", "+ 2.0f"), "" }, case)
for i, m in ipairs(list) do list[i] = m.status .. (gi.fitness.right(m) and "!" or "") end
print(farm:description(), farm:compare("", "", case).pairs, table.concat(list, " "))
END

agent plain
"$GILUA" farm.lua "$url" >managed.said 2>&1 & # waits for a GPU
manager=$!
until grep -q "waiting" managed.said || ! kill -0 $manager; do sleep 0.1; done
like "nobody has a GPU yet" "no agent with a GPU answers at $url; waiting .*--device cuda" "$(cat managed.said)"
export GILUA_CUDA=$driver
export GILUA_NVJITLINK=/none # PTX is the driver's, which makes no use of machine code
agent first --device cuda
agent second --device cuda
wait $manager
ok $? "the manager ends well" "$(cat managed.said)"
is "what agents find is what a GPU here finds" "$("$GILUA" farm.lua)" "$(tail -n 1 managed.said)"
unset GILUA_CUDA
out=$("$GILUA" --cluster "$url" --device cuda evolve p --least 0.0001 --population 8 --generations 3 --seed 2 --out run)
ok $? "an evolution, with a manager that has no GPU" "$out"
like "whose winner is compared on the other recording" "on b.rec.*, never seen in evolution" "$out"
like "status tells of the GPUs" "^in all: 3 agents, 3 workers, 2 GPUs$" \
  "$("$GILUA" cluster status --cluster "$url" --seconds 1)"
fails "one GPU of theirs by its number" "with --cluster it is emu or cuda" \
  "$GILUA" --cluster "$url" --device cuda:1 evolve p --out other
finish
