#!/bin/bash
# What the Makefile makes for others: an installed tree and a portable folder, on their own.
. "$(dirname "$0")/tap.sh"

# The configuration under test: options of an outer make reach this one through MAKEFLAGS.
build() { make --no-print-directory -s -C "$TOP" "$@" 2>&1; }
uses_library='print(type(require("gilua").grammar.parse))'

version=$(sed -n 's/.*GILUA_VERSION "\(.*\)"/\1/p' "$TOP/src/base/version.h")
like "make help names every target" "make deps.*demo.*test.*bench.*portable.*install.*clean" \
  "$(build help | tr '\n' ' ')"
like "the program says the version of version.h" "gilua $version" "$("$GILUA" -v)"

out=$(build install DESTDIR="$TMP/root" PREFIX=/usr)
ok $? "make install" "$out"
installed=$TMP/root/usr/bin/gilua
is "an installed gilua finds its own library" "function" \
  "$(cd / && env -u GILUA_HOME "$installed" -e "$uses_library")"
ok "$([ -r "$TMP/root/usr/share/gilua/kernels/niftyreg/reference.so" ]; echo $?)" \
  "with the kernels and their compiled references"
ok "$([ -r "$TMP/root/usr/share/gilua/experiments/quickstart.lua" ]; echo $?)" "and the experiments"
is "gilua run finds the CUDA library" "hello" "$(cd / && "$installed" run -- echo hello)"
build uninstall DESTDIR="$TMP/root" PREFIX=/usr >/dev/null
is "make uninstall leaves no file" "" "$(find "$TMP/root" -type f)"
if [ "$(id -u)" != 0 ]; then
  like "a place that cannot be written is one sentence" "cannot write below /proc/1/x" \
    "$(build install PREFIX=/proc/1/x)"
fi

if ldd "$GILUA" | grep -qE 'asan|ubsan|tsan'; then
  echo "ok $((count += 1)) - make portable # SKIP a sanitized build needs the sanitizers' libraries"
  finish
fi
out=$(build portable)
ok $? "make portable" "$out"
like "says where, how big and for which systems" \
  "portable/gilua-$version-linux-x86_64, .*needs glibc 2" "$out"
cp -r "$TOP/portable/gilua-$version-linux-x86_64" "$TMP/moved"
is "a copy elsewhere finds its own library" "function" \
  "$(cd / && env -u GILUA_HOME "$TMP/moved/gilua" -e "$uses_library")"
is "it needs nothing but the C library" "" \
  "$(ldd "$TMP/moved/gilua" | awk '{ print $1 }' |
    grep -vE '^(linux-vdso|libc|libm|libdl|libpthread|/lib64/ld-linux-x86-64)\.so')"
ok "$([ -r "$TMP/moved/kernels/niftyreg/reference.so" ]; echo $?)" "with the kernels' references"
is "and the CUDA library" "hello" "$(cd / && "$TMP/moved/gilua" run -- echo hello)"
finish
