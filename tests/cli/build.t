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

compiled() { build -n V=1 BUILD="$TMP/other" all | grep -- '-c -o [^ ]*/obj/emu/[^ ]* src/emu/'; }
ok "$([ "$(compiled | wc -l)" -gt 50 ]; echo $?)" "the virtual GPU is compiled in many files"
is "every one with -O3, in whatever folder of it (-O1 with sanitizers)" "" \
  "$(compiled | grep -v -- ' -O3 ' | grep -v -- ' -O1 .*-fsanitize=')"

out=$(build install DESTDIR="$TMP/root" PREFIX=/usr)
ok $? "make install" "$out"
installed=$TMP/root/usr/bin/gilua
is "an installed gilua finds its own library" "function" \
  "$(cd / && env -u GILUA_HOME "$installed" -e "$uses_library")"
ok "$([ -r "$TMP/root/usr/share/gilua/kernels/niftyreg/reference.so" ]; echo $?)" \
  "with the kernels and their compiled references"
like "an experiment of its own is found from anywhere" "^usage: gilua $TMP/root/usr/.*quickstart.lua" \
  "$(cd / && env -u GILUA_HOME "$installed" experiments/quickstart.lua --help)"
mkdir -p "$TMP/mine/experiments"
echo 'print("mine", arg[1])' >"$TMP/mine/experiments/quickstart.lua"
is "one's own of that name comes first" "mine	word" \
  "$(cd "$TMP/mine" && env -u GILUA_HOME "$installed" experiments/quickstart.lua word)"
ok "$([ -r "$TMP/root/usr/share/gilua/experiments/quickstart.lua" ]; echo $?)" "and the experiments"
like "a script among the kernels can be run there" "^usage: make " \
  "$(GILUA=$installed "$TMP/root/usr/share/gilua/kernels/workloads/make" -h 2>&1)"
is "a library there is no program" "" "$(find "$TMP/root/usr/share" -name '*.so' -executable)"
is "gilua run finds the CUDA library" "hello" "$(cd / && "$installed" run -- echo hello)"
build uninstall DESTDIR="$TMP/root" PREFIX=/usr >/dev/null
is "make uninstall leaves no file" "" "$(find "$TMP/root" -type f)"
if [ "$(id -u)" != 0 ]; then
  like "a place that cannot be written is one sentence" "cannot write below /proc/1/x" \
    "$(build install PREFIX=/proc/1/x)"
fi

# As in a wheel, with NVRTC beside it as pip puts it there.
mkdir -p "$TMP/site-packages/gilua" "$TMP/site-packages/nvidia/cu13/lib"
cp "$GILUA" "$TMP/site-packages/gilua/gilua"
nvrtc() { env -u CUDA_HOME -u CUDA_PATH -u GILUA_NVRTC GILUA_HOME="$TOP" "$1" -e 'print(require("gilua").compile.info().path)'; }
real=$(realpath "$(nvrtc "$GILUA")")
for file in "${real%/*}"/libnvrtc*; do ln -s "$file" "$TMP/site-packages/nvidia/cu13/lib/"; done
ln -sf "$real" "$TMP/site-packages/nvidia/cu13/lib/libnvrtc.so.13"
is "in site-packages it takes the NVRTC that lies there" "$TMP/site-packages/nvidia/cu13/lib/libnvrtc.so.13" \
  "$(nvrtc "$TMP/site-packages/gilua/gilua")"

if ldd "$GILUA" | grep -qE 'asan|ubsan|tsan'; then
  echo "ok $((count += 1)) - make portable # SKIP a sanitized build needs the sanitizers' libraries"
  finish
fi
out=$(build portable)
built=$?
glibc=$(getconf GNU_LIBC_VERSION)
if [ "${glibc#glibc 2.}" -gt 36 ]; then
  like "make portable says that this system is too new" "needs GLIBC_2.*; build on Debian 12 or older" "$out"
  echo "ok $((count += 1)) - make portable # SKIP it runs nowhere older than $glibc"
  finish
fi
ok "$built" "make portable" "$out"
like "says where, how big and for which systems" \
  "portable/gilua-$version-linux-$(uname -m), .*needs glibc 2" "$out"
cp -r "$TOP/portable/gilua-$version-linux-$(uname -m)" "$TMP/moved"
is "a copy elsewhere finds its own library" "function" \
  "$(cd / && env -u GILUA_HOME "$TMP/moved/gilua" -e "$uses_library")"
is "it needs nothing but the C library" "" \
  "$(ldd "$TMP/moved/gilua" | awk '{ print $1 }' |
    grep -vE '^(linux-vdso|libc|libm|libdl|libpthread|/lib64/ld-linux-x86-64)\.so')"
if command -v dpkg-query >/dev/null; then
  for library in lua5.4 sqlite3 png zstd edit; do
    ok "$(cat "$TMP/moved/licences/"*"$library"* 2>/dev/null | grep -qi copyright; echo $?)" "with the licence of $library"
  done
fi
ok "$([ -r "$TMP/moved/kernels/niftyreg/reference.so" ]; echo $?)" "with the kernels' references"
is "and the CUDA library" "hello" "$(cd / && "$TMP/moved/gilua" run -- echo hello)"
finish
