# tap.sh - the test protocol for shell stories. Source it; then like, fails, misused, is, ok; at the end finish.
# What need not be seen under sanitizers too, because another test goes that way, asks sanitized.
# GILUA is the program, TMP a folder of the story's own, TOP the repository.
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GILUA=${GILUA:-$TOP/gilua}
TMP=$(mktemp -d "${TMPDIR:-/tmp}/gilua-test.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
unset NVCC_APPEND_FLAGS NVCC_PREPEND_FLAGS # a story says itself how nvcc builds
count=0
failed=0

ok() { # ok STATUS TEXT [DETAIL]
  count=$((count + 1))
  if [ "$1" = 0 ]; then
    echo "ok $count - $2"
  else
    failed=$((failed + 1))
    echo "not ok $count - $2"
    printf '%s\n' "${3:-}" | sed 's/^/# /' | head -20
  fi
}

like() { # like TEXT REGEX OUTPUT
  grep -qE -- "$2" <<<"$3"
  ok $? "$1" "no /$2/ in: $3"
}

is() { # is TEXT WANT GOT
  [ "$2" = "$3" ]
  ok $? "$1" "want: $2 / got: $3"
}

# ends STATUS TEXT REGEX COMMAND...: the exit status, and the complaint on standard error matches.
ends() {
  local status=$1 text=$2 regex=$3 out code
  shift 3
  out=$("$@" 2>&1 >/dev/null </dev/null)
  code=$?
  [ $code = "$status" ] && grep -qE -- "$regex" <<<"$out"
  ok $? "$text" "exit $code, want $status and /$regex/ in: $out"
}

fails() { ends 1 "$@"; }    # something is wrong
misused() { ends 2 "$@"; }  # the command line is
no_winner() { ends 3 "$@"; }

# A test waits for what happens, not for a time: on a busy machine, under sanitizers, things take
# ten times as long. What must be soon is given SOON_MS, and something that takes longer to be in
# the midst of.
SOON_MS=10000

# wait_until CONDITION PID: until CONDITION (of the shell) holds, or the process has ended.
wait_until() {
  until eval "$1" || ! kill -0 "$2" 2>/dev/null; do sleep 0.02; done
}

# needs PROGRAM PACKAGE: without it the story ends at once, as a failure.
needs() {
  command -v "$1" >/dev/null && return
  ok 1 "there is $1" "please install $2: make deps-test does"
  finish
}

# works PID: it is up, for it has begun a process of its own. Needs pgrep.
works() { pgrep -P "$1" >/dev/null; }

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# killed_when CONDITION COMMAND…: killed as soon as CONDITION (of the shell) holds. What it says is in
# said.txt, and nothing that an earlier one said.
killed_when() {
  local condition=$1 pid
  shift
  : >"$TMP/said.txt"
  "$@" >"$TMP/said.txt" 2>&1 &
  pid=$!
  disown
  wait_until "$condition" $pid
  kill -9 $pid 2>/dev/null
  while kill -0 $pid 2>/dev/null; do sleep 0.01; done
}

# foreground COMMAND…: in the background, but for Ctrl-C as in the foreground; $! is its process.
foreground() {
  perl -e '$SIG{INT} = $SIG{HUP} = "DEFAULT"; exec @ARGV' "$@" &
}

# past_first DIR: the first generation of the run there is done.
past_first() { sed -n 2p "$1/generations.csv" 2>/dev/null | grep -q .; }

# sanitized WHAT: under sanitizers says that WHAT, which asks about results and not about memory, is
# left out, and is true; other runs are complete.
sanitized() {
  [ -n "${GILUA_SANITIZED:-}" ] && left_out="left out under sanitizers: $1" && echo "# $left_out"
}

# sanitizer_first: programs begun from here on may load a CUDA library that a sanitizer is in, which
# wants the sanitizer's own before it. Their leaks are theirs, and a signal ends them as ever.
sanitizer_first() {
  ldd "$GILUA" | grep -q asan || return 0
  LD_PRELOAD=$(gcc -print-file-name=libasan.so)
  export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0:handle_segv=0:intercept_tls_get_addr=0
}

# program NAME [FLAG…]: nvcc makes NAME of tests/programs/NAME.cu, as PTX for GPU, or it is there from an
# earlier test (tests/nvcc). C++14's headers take a third of the time of C++17's, which some of CUDA's want.
kept_nvcc() { "$TOP/tests/nvcc" "$@"; }
program() {
  local source=$TOP/tests/programs/$1.cu gpu=${GPU:-compute_90} std=c++14
  ! grep -qE 'cooperative_groups|mma.h|<cuda/' "$source" || std=c++17
  kept_nvcc -std=$std -cudart shared -lineinfo -gencode "arch=$gpu,code=$gpu" -o "$1" "$source" "${@:2}" \
    >"$1.log" 2>&1
  ok $? "$1.cu builds" "$(cat "$1.log")"
}

finish() {
  if [ $count = 0 ]; then echo "1..0 # SKIP ${left_out:-}"; else echo "1..$count"; fi
  exit $((failed > 0))
}
