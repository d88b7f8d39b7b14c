#!/bin/bash
# A whole run over agents (gilua agent), one of which is killed, one comes late, and whose server is
# killed and started again: its files are those of one machine, byte for byte.
. "$(dirname "$0")/tap.sh"
PATH=$PATH:/usr/sbin
if ! command -v nats-server >/dev/null; then
  echo "1..0 # SKIP nats-server is not installed"
  exit 0
elif ! "$GILUA" -e 'os.exit(require("gilua.core").net.library() and 0 or 1)' </dev/null; then
  echo "1..0 # SKIP libnats is not installed"
  exit 0
elif sanitized "a whole run over agents"; then
  echo "1..0 # SKIP under sanitizers"
  exit 0
fi
cd "$TMP" || exit 1
export NATS_USER=gi NATS_PASSWORD=s3cret
mine=() # processes

server() { # server PORT: -1 is any that is free
  echo "authorization { user: $NATS_USER, password: $NATS_PASSWORD, timeout: 60 }" >nats.conf
  until # one that was killed may hold the port for a while
    nats-server -a 127.0.0.1 -p "$1" -c nats.conf --ports_file_dir "$TMP" >nats.said 2>&1 &
    nats=$!
    until [ -s "nats-server_$nats.ports" ] || grep -q "already in use" nats.said; do sleep 0.05; done
    [ -s "nats-server_$nats.ports" ]
  do sleep 0.1; done
  disown $nats
}
agent() { # agent NAME
  "$GILUA" agent --join "$url" --jobs 1 >"$1.said" 2>&1 &
  agent=$!
  mine+=("$agent")
  disown
}
trap 'kill -9 "${mine[@]}" $nats 2>/dev/null; rm -rf "$TMP"' EXIT

run() { # run DIR OPTION…
  local dir=$1
  shift
  timeout 300 "$GILUA" "$TOP/experiments/quickstart.lua" --seed 3 --side 20 --population 12 --generations 4 \
    --quiet --out "$dir" "$@"
}
lines() { grep -c . "$1" 2>/dev/null || echo 0; }
await() { while [ "$(lines there/generations.csv)" -lt "$1" ] && kill -0 $manager; do sleep 0.02; done; }
plain() { perl -0pe 's/"seconds": *\{[^}]*\},?//; s/"restarts": *\d+,?//' "$1/result.json"; }

run here --jobs 1
ok $? "a run on one machine"

server -1
url=nats://127.0.0.1:$(sed -nE 's|.*nats://127.0.0.1:([0-9]+).*|\1|p' "nats-server_$nats.ports")
agent first
first=$agent
agent second
run there --cluster "$url" >there.said 2>&1 &
manager=$!
await 2 # the first generation is done
kill -9 "$first"
agent late
await 3
kill -9 $nats
server "${url##*:}"
wait $manager
ok $? "a run over agents, of which one is lost, and the server too" "$(cat there.said)"
is "result.json is the same but for seconds" "$(plain here)" "$(plain there)"
for f in best.cu best.patch generations.csv; do
  cmp -s "here/$f" "there/$f"
  ok $? "$f is the same, byte for byte" "$(diff "here/$f" "there/$f")"
done
like "the late one has worked" "kernels/niftyreg, from now on" "$(cat late.said)"
for name in late second; do
  until grep -q "over, after" $name.said || [ $((looks += 1)) -gt 600 ]; do sleep 0.1; done
  like "the $name one has heard that it is over" "^run .* over, after [1-9]" "$(cat $name.said)"
done

"$GILUA" "$TOP/experiments/islands.lua" --islands 2 --population 4 --generations 2 --every 1 --side 20 \
  --quiet --out isles --cluster "$url" >isles.said 2>&1
ok $? "islands, each a manager, at the same agents" "$(cat isles.said)"
is "which have worked for both, and for the comparison" 4 "$(grep -c ", from now on" late.said)"

kill "$agent"
until grep -q interrupted late.said || [ $((looks += 1)) -gt 1200 ]; do sleep 0.1; done
said=$("$GILUA" cluster status --cluster "$url" --seconds 1)
like "status: who is there" "^.* [0-9]+ +1 worker; at work for 0 runs$" "$said"
like "and how many" "^in all: 1 agent, 1 worker, 0 GPUs$" "$said"
like "as JSON" '"workers": *1,' "$("$GILUA" cluster status --cluster "$url" --seconds 1 --json)"
kill -9 "${mine[1]}" # which is the second
empty=$("$GILUA" cluster status --cluster "$url" --seconds 2)
like "status: nobody is there" "^in all: 0 agents, 0 workers, 0 GPUs$" "$empty"
like "and how to change that" "^none told of itself within 2 s: \`gilua agent --join $url\` on a node starts one$" "$empty"
misused "a status of nothing" "--cluster is missing" "$GILUA" cluster status
misused "another verb" "does one thing: status, not 'start'" "$GILUA" cluster start

misused "an agent of nobody" "--join is missing" "$GILUA" agent
fails "a server that is not there" "no NATS server answers at nats://127.0.0.1:1" \
  "$GILUA" agent --join nats://127.0.0.1:1
fails "a password that everybody sees" "everybody on this machine can see" \
  "$GILUA" agent --join nats://gi:s3cret@127.0.0.1:1
NATS_PASSWORD=wrong fails "a wrong password" "does not know this user and password" \
  run away --cluster "$url"
GILUA_NATS=/nowhere/libnats.so fails "no libnats" "named by GILUA_NATS cannot be loaded" \
  run away --cluster "$url"
like "doctor says that it is not there" "^!! +libnats +the file named by GILUA_NATS" \
  "$(GILUA_NATS=/nowhere/libnats.so "$GILUA" doctor)"
finish
