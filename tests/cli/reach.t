#!/bin/bash
# What `make reach` is made of: hook.c writes which blocks a test reaches, even one that is killed; list.py says
# which scripts may wait for their turn under sanitizers. And the Makefile gives each its turn.
. "$(dirname "$0")/tap.sh"
sanitized "the hook, which takes the sanitizer's place" && finish
needs gcc gcc
needs python3 python3

mkdir -p "$TMP/src" "$TMP/build" "$TMP/reached" "$TMP/seconds"
cat >"$TMP/src/x.c" <<'C'
#include <signal.h>
#include <string.h>
static int alone(int x) {
    return x * 3;
}
static int shared(int x) {
    return x + 1;
}
int main(int argc, char **argv) {
    int x = shared(argc);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "alone") == 0) x += alone(x);
        if (strcmp(argv[i], "killed") == 0) raise(SIGKILL);
    }
    return x == 0;
}
C
(cd "$TMP" && gcc -O2 -fPIC -c -o hook.o "$TOP/tests/reach/hook.c" &&
  gcc -O0 -g1 -fsanitize-coverage=trace-pc -c -o x.o src/x.c && gcc -o build/x x.o hook.o)
ok $? "a program is built with the hook"

reaches() { # reaches TEST SECONDS [WORD…]: what the program reaches is what a test of that name reached
  mkdir -p "$TMP/reached/$1"
  echo "$2 tests/$1" >"$TMP/seconds/$1"
  REACHED=$TMP/reached/$1 "$TMP/build/x" "${@:3}"
}
listed() { python3 "$TOP/tests/reach/list.py" "$TMP/build" "$TMP/reached" "$TMP/seconds"; }
reaches dear.t 9
reaches cheap.t 1
reaches lone.t 8 alone
is "a script waits whose lines others reach" "cli/dear.t cli/lone.t" "$(listed | head -1)"
like "and it says which line is then reached by none" "2 scripts, 17 of 18 s; [1-4] of [0-9]+ lines: .*src/x.c:4$" "$(listed)"
for i in 1 2 3 4 5; do reaches lone.t 8 alone killed 2>/dev/null; done
like "a killed program has told what it reached" " [2-4] lines alone  lone.t" "$(listed)"
mv "$TMP/reached/dear.t" "$TMP/reached/hostile.t"
mv "$TMP/seconds/dear.t" "$TMP/seconds/hostile.t"
is "a script that gives bad input does not wait" "cli/lone.t" "$(listed | head -1)"

# The list of the Makefile.
left() { make --no-print-directory -s -C "$TOP" left-out BUILD="$TMP/other" EVERY= "$@" | tr ' ' '\n' | grep .; }
is "without sanitizers each script runs" "" "$(left SANITIZE=)"
is "with EVERY=1, too" "" "$(left SANITIZE=address EVERY=1)"
for turn in 1 2 3 4 5 6 7 8; do left SANITIZE=address TURN=$turn; done | sort | uniq -c >"$TMP/times"
ok "$([ "$(wc -l <"$TMP/times")" -gt 50 ]; echo $?)" "with sanitizers some wait" "$(cat "$TMP/times")"
is "each runs in one of eight commits" "" "$(grep -v '^ *7 ' "$TMP/times")"
missing=$(awk '{ print $2 }' "$TMP/times" | while read -r script; do [ -f "$TOP/$script" ] || echo "$script"; done)
is "all of them are there" "" "$missing"
finish
