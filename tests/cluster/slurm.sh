#!/bin/bash
# A cluster on this machine: three nodes, each a network namespace with a slurmd of Debian's Slurm, on
# a bridge with a fourth one in which are slurmctld, nats-server and the manager. Agents are started
# by srun. In each run all of these happen, in a random order, at random moments:
#
#   kill     all processes of a node end by SIGKILL; it does not come back
#   cut      another node's cable is out for longer than a manager waits for it, and in again
#   server   nats-server ends by SIGKILL and is started again
#   late     the third node joins in the middle
#
# and its results have to be those of a run on one machine, byte for byte, but for seconds. Of each
# run it is told how often an agent was gone, how many jobs were given out again for that or for a
# lost message, how many of these were done twice, and how many measurements were (log.txt).
#
#   make cluster-test [RUNS=20] [SEED=1]       as root; a row for each run; exit status 1 where one differs
#
# All that it makes lies in a folder and in namespaces of its own, which go with it.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
GILUA=${GILUA:-$TOP/gilua}
RUNS=${RUNS:-20}
SEED=${SEED:-1}
PATH=$PATH:$TOP/deps/nats/usr/sbin # of make deps-test
PATH=$PATH:/usr/sbin:/sbin
LIMIT_S=300 # for a run
CUT_S=8     # more than SILENT_S of lua/gilua/farm/cluster.lua

missing=()
for program in slurmctld slurmd srun scontrol munged nats-server ip unshare perl; do
  command -v "$program" >/dev/null || missing+=("$program")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "cluster-test: ${missing[*]} missing: \`make cluster-deps\` installs Debian's packages" >&2
  exit 2
elif [ "$(id -u)" != 0 ]; then
  echo "cluster-test: network namespaces are made by root alone: run it as root" >&2
  exit 2
elif ! "$GILUA" -e 'os.exit(require("gilua.core").net.library() and 0 or 1)' </dev/null; then
  echo "cluster-test: libnats is missing: \`make cluster-deps\` installs Debian's package" >&2
  exit 2
fi

DIR=$(mktemp -d /tmp/gilua-cluster-XXXXXX)
NS=gi$$
NODES=(n1 n2 n3)
URL=nats://10.88.0.1:4222
export SLURM_CONF=$DIR/slurm.conf
export TMPDIR=$DIR

inside() { ip netns exec "$NS$1" "${@:2}"; } # inside NAMESPACE COMMAND…
processes() { ip netns pids "$NS$1" 2>/dev/null; }
# shellcheck disable=SC2046
kill_all() { kill -9 $(processes "$1") 2>/dev/null; }

clean() {
  trap '' INT TERM
  for n in "${NODES[@]}" m; do
    kill_all "$n"
    ip netns del "$NS$n" 2>/dev/null
  done
  [ -s "$DIR/munged.pid" ] && kill -9 "$(cat "$DIR/munged.pid")" 2>/dev/null
  wait 2>/dev/null
  rm -rf "$DIR"
}
trap clean EXIT
trap 'exit 130' INT TERM

give_up() {
  echo "cluster-test: $1" >&2
  tail -n 5 "$DIR"/*.log >&2
  exit 1
}
# until_s SECONDS COMMAND…: does it come true?
until_s() {
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}

# --- the machines ---------------------------------------------------------------------------------

make_nodes() {
  ip netns add "${NS}m" || give_up "no network namespaces can be made here"
  inside m ip link set lo up
  inside m ip link add bridge type bridge
  inside m ip addr add 10.88.0.1/24 dev bridge
  inside m ip link set bridge up
  local i
  for i in 1 2 3; do
    ip netns add "${NS}n$i"
    inside m ip link add "cable$i" type veth peer name eth0 netns "${NS}n$i"
    inside m ip link set "cable$i" master bridge up
    inside "n$i" ip link set lo up
    inside "n$i" ip addr add "10.88.0.1$i/24" dev eth0
    inside "n$i" ip link set eth0 up
  done
}

write_slurm_conf() {
  cat >"$SLURM_CONF" <<EOF
ClusterName=gilua
SlurmctldHost=m(10.88.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$DIR/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmctldPidFile=$DIR/slurmctld.pid
SlurmdPidFile=$DIR/%n.pid
SlurmdSpoolDir=$DIR/%n
StateSaveLocation=$DIR/state
SlurmctldLogFile=$DIR/slurmctld.log
SlurmdLogFile=$DIR/%n.log
SlurmdParameters=config_overrides
SlurmdTimeout=300
KillWait=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
EOF
  local i
  for i in 1 2 3; do
    echo "NodeName=n$i NodeAddr=10.88.0.1$i CPUs=2 State=UNKNOWN" >>"$SLURM_CONF"
  done
  echo "PartitionName=p Nodes=n1,n2,n3 Default=YES MaxTime=INFINITE State=UP" >>"$SLURM_CONF"
  echo "CgroupPlugin=cgroup/v1" >"$DIR/cgroup.conf"
}

start_munge() {
  head -c 1024 /dev/urandom >"$DIR/munge.key"
  chmod 600 "$DIR/munge.key"
  chmod 711 "$DIR"
  munged --force --socket="$DIR/munge.socket" --key-file="$DIR/munge.key" --log-file="$DIR/munged.log" \
    --pid-file="$DIR/munged.pid" --seed-file="$DIR/munge.seed" >"$DIR/munge.log" 2>&1 \
    || give_up "munged does not start"
}

node_up() { # node_up NODE: its slurmd
  mkdir -p "$DIR/$1"
  inside "$1" unshare -u sh -c "hostname $1; exec slurmd -D -N $1" >"$DIR/$1.said.log" 2>&1 &
  disown
}
state_of() { inside m sinfo -h -N -n "$1" -o %T 2>/dev/null; }
is_idle() { [ "$(state_of "$1")" = idle ]; }
nodes_idle() { is_idle n1 && is_idle n2 && is_idle n3; }

server_is() { grep -qs "$1" "$DIR/nats.log"; }
server_up() { # one that was killed may hold the port for a while
  until server_is "Server is ready"; do
    ip netns exec "${NS}m" nats-server -a 10.88.0.1 -p 4222 >"$DIR/nats.log" 2>&1 &
    nats=$! # of itself: ip becomes the program
    disown
    until_s 60 server_is "Server is ready\|already in use" || give_up "nats-server does not start"
  done
}

start_slurm() {
  mkdir -p "$DIR/state"
  inside m unshare -u sh -c "hostname m; exec slurmctld -D" >"$DIR/ctld.said.log" 2>&1 &
  disown
  local n
  for n in "${NODES[@]}"; do node_up "$n"; done
  until_s 60 nodes_idle || give_up "Slurm's nodes do not come up: $(inside m sinfo -h -N -o '%n %T %E' 2>&1)"
}

agent_up() { # agent_up NODE
  inside m srun --quiet -N 1 -n 1 -c 2 -w "$1" --job-name=gilua "$GILUA" agent --join $URL --jobs 1 \
    >"$DIR/agent-$1.said" 2>&1 &
  disown
}

# --- a run ----------------------------------------------------------------------------------------

OPTIONS=(--seed "$SEED" --side 20 --population 12 --generations 20 --quiet)
EVERY=2 # generations from one event to the next

lines() { [ -f "$DIR/there/generations.csv" ] && wc -l <"$DIR/there/generations.csv" || echo 0; }
is_at() { [ "$(lines)" -ge "$1" ] || ! kill -0 "$manager" 2>/dev/null; } # generations are done

happen() { # happen EVENT NODE
  case $1 in
    kill) kill_all "$2" ;;
    cut)
      inside m ip link set "cable${2#n}" down
      (sleep $CUT_S; inside m ip link set "cable${2#n}" up) &
      mending=$!
      ;;
    server)
      kill -9 "$nats" || give_up "there was no server to be killed"
      rm "$DIR/nats.log"
      server_up
      ;;
    late) agent_up "$2" ;;
  esac
}

# What a run's log says of its agents, summed up.
lost() {
  perl -ne '/(\d+) agents? gone or silent; (\d+) jobs? given out once more, (\d+) done twice \((\d+) of them measurements\)/
    and ($a += $1, $b += $2, $c += $3, $d += $4); END { printf "%5d %6d %6d %9d", $a, $b, $c, $d }' "$DIR/there/log.txt"
}
workers() { grep -ls "from now on" "$DIR"/agent-*.said | wc -l; } # agents that had a part in it
plain() { perl -0pe 's/"seconds": *\{[^}]*\},?//; s/"restarts": *\d+,?//' "$1/result.json"; }
differing() { # names of files
  local f
  for f in best.cu best.patch generations.csv; do
    cmp -s "$DIR/here/$f" "$DIR/there/$f" || echo "$f"
  done
  [ "$(plain "$DIR/here")" = "$(plain "$DIR/there")" ] || echo result.json
}

end_agents() { # and what a node lost comes back
  inside m scancel --name=gilua --signal=KILL --full 2>/dev/null
  inside m scancel --name=gilua 2>/dev/null
  local n
  for n in "${NODES[@]}"; do
    [ -n "$(processes "$n")" ] || node_up "$n"
  done
  until_s 60 nodes_idle && return
  for n in "${NODES[@]}"; do
    is_idle "$n" && continue
    kill_all "$n"
    node_up "$n"
    inside m scontrol update "nodename=$n" state=down reason=test
    inside m scontrol update "nodename=$n" state=resume
  done
  until_s 60 nodes_idle || give_up "a node does not come back: $(inside m sinfo -h -N -o '%n %T %E')"
}

shuffled() { # shuffled WORD…: `words` has them in a random order
  local i k word
  words=("$@")
  for ((i = $# - 1; i > 0; i--)); do
    k=$((RANDOM % (i + 1)))
    word=${words[i]} words[i]=${words[k]} words[k]=$word
  done
}

one_run() { # one_run NUMBER
  local from=$SECONDS status i events victims over=
  shuffled n1 n2
  victims=("${words[@]}")
  shuffled "kill ${victims[0]}" "cut ${victims[1]}" server "late n3"
  events=("${words[@]}")
  rm -rf "$DIR/there" "$DIR"/agent-*.said
  agent_up n1
  agent_up n2
  inside m timeout $LIMIT_S "$GILUA" --cluster $URL "$TOP/experiments/quickstart.lua" "${OPTIONS[@]}" \
    --out "$DIR/there" >"$DIR/manager.said" 2>&1 &
  manager=$!
  for i in 0 1 2 3; do
    until_s $LIMIT_S is_at $((EVERY * i + 2)) # a heading, and so many generations
    sleep "$(printf '0.%03d' $((RANDOM % 500)))"
    kill -0 $manager 2>/dev/null || over=" (it was over before: ${events[i]})"
    # shellcheck disable=SC2086
    happen ${events[i]}
  done
  wait $manager
  status=$?
  wait "$mending"
  local differs=() verdict=same
  mapfile -t differs < <(differing)
  [ ${#differs[@]} -gt 0 ] && verdict="other: ${differs[*]}"
  [ $status -ne 0 ] && verdict="exit status $status: $(tail -n 1 "$DIR/manager.said")"
  verdict=$verdict$over
  printf '%3d  %-30s %7d %7d %s  %s\n' "$1" "$(IFS=,; echo "${events[*]}")" "$(workers)" \
    $((SECONDS - from)) "$(lost)" "$verdict"
  [ "$verdict" = same ] || bad=$((bad + 1))
  end_agents
}

# --- all of them ----------------------------------------------------------------------------------

RANDOM=$SEED
bad=0
make_nodes
write_slurm_conf
start_munge
start_slurm
server_up
"$GILUA" "$TOP/experiments/quickstart.lua" "${OPTIONS[@]}" --jobs 1 --out "$DIR/here" >"$DIR/here.log" 2>&1 \
  || give_up "the run on one machine fails"
echo "seed $SEED; three nodes under $(slurmctld -V), $(nats-server --version)"
printf 'run  %-30s  agents seconds  gone  again  twice  measured  results\n' events
for ((n = 0; n < RUNS; n++)); do one_run $((n + 1)); done
echo "$RUNS runs, $bad of them other than on one machine"
[ $bad = 0 ]
