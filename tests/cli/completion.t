#!/bin/bash
# What the shells' completions offer: commands, their files and folders, options, devices. They and the
# man page are what the program says of itself.
command -v bash >/dev/null || { echo "1..0 # SKIP bash is not here"; exit 0; }
[ -n "${BASH_VERSION-}" ] || exec bash "$0"
. "$(dirname "$0")/tap.sh"

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 403)); then
  echo "1..0 # SKIP the completion needs bash 4.3, this is $BASH_VERSION"
  exit 0
fi

# A place to stand in: two problems, a run, sources, and folders that are none of these.
mkdir -p "$TMP/place/kernels/heat" "$TMP/place/my problems/two words" "$TMP/place/out/heat-1" \
  "$TMP/place/out/paper-2" "$TMP/place/empty" "$TMP/place/src"
cd "$TMP/place" || exit 1
export LC_ALL=C
touch kernels/heat/problem.lua "my problems/two words/problem.lua" out/heat-1/result.json \
  out/paper-2/experiment.json saxpy.cu "odd name.cu" src/deep.cu notes.txt plain.lua
ln -s "$TOP/experiments/quickstart.lua" evolve_it.lua
# A program whose command `tune` lists an option of its own, and which notes what it is asked.
cat >program <<'SH'
#!/bin/sh
echo "$*" >>asked
[ "$1" = tune ] && printf 'usage: gilua tune FOLDER\n\n  --%-20s %s\n' 'budget N' 'runs: at most [these]' 'quiet' 'no progress'
SH
chmod +x program

offers() { # offers TEXT WANTED WORD…: bash's answers for the last word, one a line, are WANTED
  local text=$1 wanted=$2 got
  shift 2
  # shellcheck disable=SC2016
  got=$(bash -uc '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gilua
    [ ${#COMPREPLY[@]} = 0 ] || printf "%s\n" "${COMPREPLY[@]}"' - \
    "$TOP/docs/gilua.bash-completion" "$@" 2>&1)
  is "$text" "$(printf '%b' "$wanted")" "$got"
}

offers "ways to search" "gevo\nlangdon\nsteady" gilua evolve kernels/heat --scheme ""
offers "one that begins so" "--scheme=langdon" gilua evolve kernels/heat --scheme=l
offers "commands, scripts and folders come first" \
  "agent\napply\ncalibrate\ncheck\ncluster\ndiff\ndoctor\nempty\nevolve\nevolve_it.lua\nexport\nhelp\nimprove\njudge\nkernels\nlog\nmerge\nmy problems\nnew\nnvcc\nout\nplain.lua\nprofile\nrecord\nreplay\nrescore\nresume\nrun\nserve\nshow\nsrc\ntune\nverify\nversion\nwatch" \
  gilua ""
offers "a command" "doctor" gilua "do"
offers "after options and their values, too" "check" gilua --quiet --seed 3 -e "x = 1" ch
offers "the value of an option is no command" "" gilua --seed ""
offers "doctor takes nothing" "" gilua doctor ""
offers "help takes a command" "check" gilua help ch
offers "and no more" "" gilua help check ""

for command in $("$GILUA" --help | sed -nE 's/^ +gilua ([a-z]+) .*/\1/p'); do
  cd empty || exit 1 # where no script begins like it
  offers "$command, which --help tells of" "$command" gilua "$command"
  cd .. || exit 1
  grep -q "^    '$command:" "$TOP/docs/_gilua"
  ok $? "zsh's completion has it"
done

mkdir written
(cd "$TOP" && "$GILUA" docs/commands.lua "$TMP/place/written")
for file in gilua.1 gilua.bash-completion _gilua gilua.fish; do
  difference=$(diff "$TOP/docs/$file" "written/$file" 2>&1)
  ok $? "docs/$file is what the program says (make docs writes it)" "$difference"
done
rm -r written

offers "new takes a CUDA source" "odd name.cu\nout" gilua new o
offers "in a folder" "src/deep.cu" gilua new src/
offers "then a name, which is the person's" "" gilua new saxpy.cu ""
for command in check tune evolve; do
  offers "$command takes a problem folder" "kernels\nmy problems" gilua $command ""
  offers "$command, one level down" "kernels/heat" gilua $command kernels/
done
for command in apply verify resume log show export rescore replay diff merge; do
  offers "$command takes a run folder" "out" gilua $command ""
  offers "$command, one level down" "out/heat-1\nout/paper-2" gilua $command out/
done
offers "where no folder is one, all are offered" "empty" gilua tune e
# shellcheck disable=SC2088
HOME=$PWD offers "a home is found" "~/kernels\n~/my problems" gilua tune "~/"
offers "a script may take any file" "notes.txt" gilua plain.lua n
offers "--out takes a folder" "out" gilua evolve kernels/heat --out o

offers "--from takes a run" "out" gilua evolve kernels/heat --from o

offers "options before a command" "--cluster\n--device\n--help\n--jobs\n--out\n--quiet\n--seed\n--version\n-e\n-i\n-l\n-v" \
  gilua -
offers "Lua's are not a command's" "--cluster\n--device\n--help\n--jobs\n--out\n--quiet\n--seed" \
  ./program evolve kernels/heat -
offers "options that a command lists" "--budget" ./program tune kernels/heat --b
offers "options that a script lists" "--population" "$GILUA" evolve_it.lua --pop
offers "options of a command of gilua's own" "--kernel" "$GILUA" new saxpy.cu --k
rm -f asked
offers "a script without gi.cli is not run" "" ./program plain.lua --b
touch tune
offers "nor a file that has a command's name" "" ./program tune --b
rm tune
offers "nor doctor" "" ./program doctor --b
[ ! -e asked ]
ok $? "so nothing was asked" "$(cat asked 2>&1)"

offers "devices" "cuda\ncuda:0\ncuda:1" gilua --device c
offers "a device after =, as bash parts it" "cuda\ncuda:0\ncuda:1" gilua --device = c
offers "right after it" "emu\ncuda\ncuda:0\ncuda:1" gilua --device =
offers "with = in the word, where bash does not part it" "--device=emu" gilua --device=e
offers "the number of a device, as bash parts it" "0\n1" gilua --device cuda :
offers "and both" "1" gilua --device = cuda : 1
offers "a parted device is no command" "check" gilua --device cuda : 0 ch

if command -v fish >/dev/null; then
  fish_offers() { # fish_offers TEXT WANTED LINE: fish's answers for the end of LINE, one a line
    is "fish: $1" "$(printf '%b' "$2")" "$(fish --no-config -c 'source $argv[1]
      complete -C $argv[2] | string replace -r "\t.*" ""' "$TOP/docs/gilua.fish" "$3" 2>&1 | sort)"
  }
  fish_offers "a command" "check" "gilua ch"
  fish_offers "after options and their values, too" "check" "gilua --quiet --seed 3 ch"
  fish_offers "help takes a command" "check" "gilua help ch"
  fish_offers "a command takes a problem folder" "kernels/heat/" "gilua tune kernels/"
  fish_offers "or a run folder" "out/heat-1/\nout/paper-2/" "gilua apply out/"
  fish_offers "where no folder is one, all are offered" "empty/" "gilua tune e"
  fish_offers "new takes a CUDA source" "saxpy.cu" "gilua new sa"
  fish_offers "devices" "cuda\ncuda:0\ncuda:1" "gilua --device c"
  fish_offers "options that a script lists" "--population" "$GILUA evolve_it.lua --pop"
  rm -f asked
  mkdir fish # which goes by the program's name
  ln -s ../program fish/gilua
  fish_offers "options that a command lists" "--budget" "./fish/gilua tune --b"
  fish_offers "a script without gi.cli is not run" "" "./fish/gilua plain.lua --b"
  is "fish: only the command was asked" "tune --help" "$(cat asked)"
else
  echo "ok $((count += 1)) - fish's completion # SKIP fish is not here"
fi

if ! command -v zsh >/dev/null; then
  echo "ok $((count += 1)) - zsh's completion # SKIP zsh is not here"
  finish
fi
zsh -n "$TOP/docs/_gilua"
ok $? "zsh reads its completion"
inside() { # inside CODE: what CODE prints where the functions of zsh's completion are known
  zsh -fc "$(sed '$d' "$TOP/docs/_gilua")"$'\n'"known=(tune:text) program=./program; $1" 2>&1
}
# shellcheck disable=SC2016
{
  is "zsh: options that a command lists" '--budget=[runs\: at most \[these\]]:N: ' \
    "$(inside '_gilua_own tune; print -r -- $own')"
  like "zsh: options that a script lists" '^--population=\[.*\]:N: $' \
    "$(inside "program='$GILUA'; "'_gilua_own evolve_it.lua; print -rl -- $own')"
  is "zsh: folders that lead to a problem" "kernels my problems" \
    "$(inside 'markers=(problem.lua); print -r -- *(/+_gilua_leads)')"
}
finish
