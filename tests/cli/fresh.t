#!/bin/bash
# .ci/fresh, which holds the README on a bare Debian: where it cannot it says so, and its verdicts.
. "$(dirname "$0")/tap.sh"
mkdir "$TMP/bin"
plays() { printf '#!/bin/sh\n%s\n' "$2" >"$TMP/bin/$1" && chmod +x "$TMP/bin/$1"; }
fresh() { PATH=$TMP/bin:$PATH "$TOP/.ci/fresh" "$@"; }

fails "what is none of its forms" "there is no 'slow': quick, or nothing" fresh slow
plays id 'echo 1000'
fails "one who is not root" "nothing was tried: .* run it as root" fresh quick
plays id 'echo 0'
plays debootstrap :
plays unshare 'exit 1'
fails "a machine that allows no mounts" "nothing was tried: .*unshare.*--privileged" fresh quick

# shellcheck source=/dev/null
verdicts() { (. "$TOP/.ci/fresh"; set +e; "$@"); }

awk '/^## Sixty/ { on = 1 } on && /^```/ { n++; next } on && n == 3 && $0 != "…"' "$TOP/README.md" >"$TMP/demo"
ok "$([ "$(wc -l <"$TMP/demo")" -gt 20 ]; echo $?)" "the README shows the demo"
sed -i 's/ in 0:49 (26.7 a/ in 2:31 (8.9 a/; 3i some line between' "$TMP/demo"
out=$(verdicts word_for_word "$TMP/demo")
is "other seconds, and lines between, are the README's words" "0 " "$? $out"
differs() { # differs TEXT SED
  local out
  sed "$2" "$TMP/demo" >"$TMP/other"
  ! cmp -s "$TMP/demo" "$TMP/other" && out=$(verdicts word_for_word "$TMP/other")
  is "$1 is not" 1 $?
  like "  which is said" "the demo does not say: " "$out"
}
differs "another digit" '/speed-up/s/[0-9]x$/0x/'
differs "a line less" '/mean error/d'
differs "nothing" '1,$d'

mkdir -p "$TMP/root/etc/systemd/system/multi-user.target.wants" "$TMP/root/root/gilua/deps"
echo root:x:0:0 >"$TMP/root/etc/passwd"
seen() { # seen CHANGE: what is told after it
  root=$TMP/root
  packages() { echo "base 100"; [ ! -e "$TMP/more" ] || echo "more 2000"; }
  look
  eval "$1"
  told "make it"
}
out=$(verdicts seen 'touch "$TMP/more"')
is "a package is no fault" 0 $?
like "  its name and size" "make it installed 1 packages, 2 MB: more" "$out"
out=$(verdicts seen 'echo nats:x:102:105 >>$root/etc/passwd')
is "a user is" 1 $?
like "  its name" "users before: root; new: nats$" "$out"
out=$(verdicts seen 'touch $root/etc/systemd/system/multi-user.target.wants/nats.service')
is "a service is" 1 $?
like "  its name" "services before: ; new: etc/systemd/system/multi-user.target.wants/nats.service$" "$out"
finish
