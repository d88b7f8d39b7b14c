#!/bin/bash
# .ci/deps on a machine that has nothing, played by programs of our own: what each level asks of apt-get
# and pip. (make fresh-test has it install all that, on a bare Debian.)
. "$(dirname "$0")/tap.sh"
mkdir -p "$TMP/clone/.ci" "$TMP/clone/data" "$TMP/tools"
cp "$TOP/.ci/deps" "$TMP/clone/.ci/" && cp "$TOP/data/nvrtc.txt" "$TMP/clone/data/"
for tool in sh bash mktemp env cat cmp cp cut dirname find grep head ls mkdir mv readlink rm sed sort tail touch tr uname; do
  ln -s "$(command -v $tool)" "$TMP/tools/"
done

plays() { # plays PROGRAM LINE: of the shell, with $LOG and $BIN
  printf '#!/bin/sh\nLOG=%s BIN=%s\n%s\n' "$TMP/log" "$TMP/bin" "$2" >"$TMP/bin/$1"
  chmod +x "$TMP/bin/$1"
}

# installs LEVEL: what that asks for, a line for each call, from nothing
installs() {
  rm -rf "$TMP/bin" "$TMP/log" "$TMP/clone/deps"
  mkdir "$TMP/bin"
  plays id 'echo 0'
  plays make ':'
  plays cc '[ -e $BIN/prove ] || [ -e $BIN/installed ]'
  plays python3 'echo "pip $*" >>$LOG'
  # shellcheck disable=SC2016
  plays apt-get 'echo "apt $*" >>$LOG; touch $BIN/installed
case "$*" in *perl*) for p in prove patch pgrep pkill; do cp $BIN/make $BIN/$p; done ;; esac'
  out=$(env -i PATH="$TMP/bin:$TMP/tools" sh "$TMP/clone/.ci/deps" $1 2>&1)
  ok $? "deps $1" "$out"
  asked=$(grep -E 'install|download' "$TMP/log")
}
spares() { # spares TEXT REGEX
  ! grep -E -- "$2" <<<"$asked" >"$TMP/asked"
  ok $? "  $1" "$(cat "$TMP/asked")"
}

installs ""
like "  a compiler and libraries" "install .* gcc libc6-dev liblua5.4-dev .* libxxhash-dev" "$asked"
spares "nothing of the tests'" "perl|patch|procps|gnuplot|nats|nvjitlink"
spares "nothing of developers'" "clang|llvm|lua-check|chromium|pandas|debootstrap|build-essential|g\+\+"

installs test
like "  and what the tests call" "install .*perl patch procps" "$asked"
like "  and plots" "install .* gnuplot-nox" "$asked"
spares "no NATS server with its service" "install .*nats-server"
[ -x /usr/sbin/nats-server ] || like "  but its file alone" "apt -qq download nats-server" "$asked"
spares "nothing of developers'" "clang|llvm|lua-check|chromium|pandas|debootstrap"

installs dev
like "  and what developers use" "install .* lua-check" "$asked"
if grep -q '^pip -m pip download' <<<"$asked"; then
  like "  wheels by their hashes alone" "--require-hashes .*-r deps/wheels/wanted.txt" "$asked"
fi

out=$(timeout 60 env -i PATH="$TMP/tools" TMPDIR="$TMP" bash "$TOP/tests/cli/left_behind.t")
is "a story that lacks a program fails" 1 $?
like "  and says at once what to install" "please install procps: make deps-test does" "$out"
fails "a level that is none" "deps: there is no 'tests': test, dev, or nothing" sh "$TMP/clone/.ci/deps" tests
is "each wheel is of one version, with a hash for x86-64 and one for aarch64" "" "$(awk '
  /^#/ { next }
  /==[0-9.]+ \\$/ { name = $1; n = 0; next }
  /^ +--hash=sha256:[0-9a-f]+( \\)?$/ && length($1) == 78 { if (++n == 2 && !/\\/) { name = ""; next } if (n < 2) next }
  { print FNR ": " $0 }' "$TOP/data/nvrtc.txt")"
finish
