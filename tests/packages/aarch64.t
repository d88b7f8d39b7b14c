#!/bin/bash
# gilua on aarch64 (make package-test; as root, with Debian's packages and PyPI at hand): built with Debian's cross
# compiler on a bare Debian 12 and run by qemu-user, it passes tests of each room, and an evolution
# gives the very files that it gives here. BARE names a debootstrap folder to copy.
. "$(dirname "$0")/../cli/tap.sh"

skip_all() { echo "1..0 # SKIP $*"; exit 0; }
[ "$(id -u)" = 0 ] || skip_all "roots are made by root"
command -v debootstrap >/dev/null || skip_all "please install debootstrap"
WORK=$TOP/build/package-test
BARE=${BARE:-$WORK/bare}
ROOT=${ROOT:-$WORK/root-aarch64}
mkdir -p "$WORK"

# inside FLAGS COMMAND: of bash, in that root, with mounts (and what else FLAGS say) of its own.
inside() {
  # shellcheck disable=SC2086
  unshare --mount --propagation private $1 bash -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
    { [ -z "$3" ] || mount -t binfmt_misc binfmt_misc "$1/proc/sys/fs/binfmt_misc"; } &&
    exec chroot "$1" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root DEBIAN_FRONTEND=noninteractive \
      LC_ALL=C.UTF-8 bash -ec "$2"' - "$ROOT" "cd /root; $2" "$1" 2>&1
}
# What it runs is for aarch64, its workers too: in a namespace whose kernel hands that to qemu.
arm() { inside "--user --map-root-user --pid --fork" "cat binfmt >/proc/sys/fs/binfmt_misc/register; cd gilua; $1"; }

if [ ! -x "$ROOT/usr/bin/qemu-aarch64" ]; then
  [ -x "$BARE/usr/bin/apt-get" ] || debootstrap --variant=minbase bookworm "$BARE" >"$WORK/debootstrap.log" 2>&1
  rm -rf "$ROOT" && cp -a "$BARE" "$ROOT" && cp -L /etc/resolv.conf "$ROOT/etc/resolv.conf"
  libraries=$(printf '%s:arm64 ' liblua5.4-dev lua-filesystem-dev lua-socket-dev libnifti2-dev zlib1g-dev libpng-dev \
    libffi-dev libseccomp-dev libsqlite3-dev libedit-dev libzstd-dev liblz4-dev libxxhash-dev)
  out=$(inside "" "dpkg --add-architecture arm64; apt-get -qq update
    apt-get -qq install -y --no-install-recommends crossbuild-essential-arm64 make pkg-config perl qemu-user $libraries")
  ok $? "Debian's cross compiler, qemu and libraries" "$(tail -n 5 <<<"$out")"
fi
cat >"$ROOT/root/binfmt" <<'EOT'
:qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64:F
EOT

rm -rf "$ROOT/root/first"
mkdir -p "$ROOT/root/gilua" # what was built there last time stays
find "$ROOT/root/gilua" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
(cd "$TOP" && git ls-files -z | tar --null -T - -cf -) | tar -C "$ROOT/root/gilua" -xf -
out=$(inside "" "cd gilua; make -j$(nproc) CC=aarch64-linux-gnu-gcc WERROR=1")
ok $? "it is built, without a warning" "$(tail -n 5 <<<"$out")"

# Both are to see the same PTX.
is "the NVRTC here is of the version of data/nvrtc.txt" \
  "$(sed -nE 's/^nvidia-cuda-nvrtc==([0-9]+\.[0-9]+).*/\1/p' "$TOP/data/nvrtc.txt")" \
  "$("$GILUA" -e 'print(require("gilua").compile.info().version)')"
out=$(python3 -m pip download -q --require-hashes --no-deps --only-binary=:all: --platform manylinux2014_aarch64 \
  -d "$TMP/wheels" -r "$TOP/data/nvrtc.txt" 2>&1 &&
  for wheel in "$TMP"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$ROOT/root/gilua/deps/nvrtc" 2>&1 || exit; done)
ok $? "NVRTC and its headers for aarch64" "$out"

like "it starts, and finds NVRTC with its headers" "^ok +CUDA headers" "$(arm "./gilua doctor")"
for test in genome json core_array select core_device; do
  out=$(arm "./gilua tests/lua/$test.lua")
  ok $? "tests/lua/$test.lua" "$(grep -A 5 '^not ok' <<<"$out")"
done
small="--side 24 --population 8 --generations 2 --jobs 2 --quiet --out"
out=$(arm "./gilua experiments/quickstart.lua $small /root/first")
ok $? "an evolution" "$out"
"$GILUA" "$TOP/experiments/quickstart.lua" $small "$TMP/first"
for file in generations.csv best.cu best.patch; do
  cmp -s "$ROOT/root/first/$file" "$TMP/first/$file"
  ok $? "$file is the same as here"
done
finish
