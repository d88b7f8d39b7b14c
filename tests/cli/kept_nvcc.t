#!/bin/bash
# tests/nvcc keeps what nvcc makes, and makes it again when anything that it depends on has changed.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
mkdir tests bin programs
cp "$TOP/tests/nvcc" tests
cat >bin/nvcc <<'END'
#!/bin/bash
# The last argument is the source, the one before -o's.
[ "$1" = --version ] && { cat "$(dirname "$0")/version"; exit; }
echo x >>"$CALLS"
echo "a warning" >&2
grep -q slip "${@: -1}" && exit 2
cat "$(dirname "${@: -1}")"/*.h "${@: -1}" >"${@: -2:1}"
END
chmod +x bin/nvcc
echo 13.0 >bin/version
export PATH=$TMP/bin:$PATH CALLS=$TMP/calls
echo 'int main() {}' >programs/one.cu
echo '#define N 1' >programs/one.h
: >calls

built() { # built TEXT CALLS ARGUMENT…: how often nvcc has been called by then
  local text=$1 want=$2
  shift 2
  rm -f one
  tests/nvcc "$@" -o one "$TMP/programs/one.cu" 2>said
  is "$text" "$want" "$(wc -l <calls)"
  cat programs/one.h programs/one.cu | cmp -s - one
  ok $? "$text: it is what nvcc makes"
  is "$text: with what nvcc said" "a warning" "$(cat said)"
}
built "the first time nvcc is called" 1
built "the second time it is not" 1
cd programs || exit 1
../tests/nvcc -o ../one "$TMP/programs/one.cu" 2>/dev/null
cd .. || exit 1
is "nor in another folder, for the source's name is absolute" 1 "$(wc -l <calls)"
echo '#define N 2' >programs/one.h
built "a changed header" 2
echo 'int main() { return 1; }' >programs/one.cu
built "a changed source" 3
built "another option" 4 -g
echo 13.1 >bin/version
built "another compiler" 5
NVCC_PREPEND_FLAGS=-O3 built "a variable that nvcc reads" 6
mkdir more && echo 1 >more/a.h
built "a folder of headers" 7 -I more
echo 2 >more/a.h
built "a header there" 8 -I more
cp programs/one.cu here.cu && cp programs/one.h .
tests/nvcc -o two here.cu 2>/dev/null
mkdir else && cp here.cu one.h else && cd else || exit 1
../tests/nvcc -o two here.cu 2>/dev/null
is "a relative name means another file in another folder" 10 "$(wc -l <"$CALLS")"
cd .. || exit 1
echo slip >programs/one.cu
for time in first second; do
  ends 2 "an error has nvcc's status, the $time time" "a warning" tests/nvcc -o one "$TMP/programs/one.cu"
done
is "and is not kept" 12 "$(wc -l <calls)"
is "nothing half made is left" "" "$(ls build/nvcc | grep making)"
finish
