#!/bin/bash
# The programs of kernels/workloads: each is built, right by its own check and clean under all checks
# of the virtual GPU, recorded, and its problem gives the program's answers.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
make=$TOP/kernels/workloads/make
sizes=$TOP/kernels/workloads/sizes
export GILUA

misused "a step that there is not" "usage: make" "$make" bake all
misused "a program that there is not" "there is no program ludd; there are .*lud" "$make" run ludd
misused "no program" "usage: make" "$make" run
fails "without nvcc that is said" "there is no nvcc" env NVCC=./none "$make" run lud
for name in $(awk '!/^#/ { print $1 }' "$sizes" | sort -u); do
  uses=$(awk -v name="$name" '$1 == name { print $2 }' "$sizes" | xargs)
  is "$name: sizes for all uses" "tiny small train train2 validate unseen" "$uses"
  grep -q "^| \`$name\` |" "$TOP/kernels/workloads/README.md"
  ok $? "$name: a row of the README"
done
for folder in "$TOP"/kernels/workloads/*/; do
  grep -q "^$(basename "$folder") " "$sizes"
  ok $? "$(basename "$folder"): sizes"
done

# The scripts for public suites, without these: SCRIPT TITLE ADDRESS FOLDER PROGRAM PROGRAM
without_suite() {
  local script=$TOP/kernels/workloads/$1 out uses
  mkdir -p "$1.suite/$4"
  misused "$2: a step that there is not" "usage: $1" "$script" -R "$1.suite" run "$5"
  misused "$2: no program" "usage: $1" "$script" -R "$1.suite" record
  misused "$2: a program that there is not" "there is no program kmeans; there are .* $5 .*$6" \
    "$script" -R "$1.suite" record kmeans
  fails "where $2 is to be had" "no $2 in ${3##*/}: git clone https://github.com/$3" "$script" build all
  fails "$2: without nvcc that is said" "there is no nvcc" env NVCC=./none "$script" -R "$1.suite" build "$5"
  out=$(NVCC=false "$script" -R "$1.suite" -o R build "$6" "$5" 2>&1)
  is "$2: what cannot be built is told, and the others go on" "1 $6: build FAILED $5: build FAILED" \
    "$? $(grep -o '^[a-z0-9]*: build .*' <<<"$out" | xargs)"
  is "$2: nothing in it is changed" 0 "$(find "$1.suite" -type f | wc -l)"
  uses=$(sed -n "/^sizes()/,/^END/p" "$script" |
    awk '/ (small|other|train|validate|unseen) / { n[$1]++ } END { for (p in n) print n[p] }' | sort -u)
  is "$2: sizes for all uses" 5 "$uses"
}
without_suite rodinia Rodinia yuhc/gpu-rodinia cuda/bfs bfs nw
without_suite polybench PolyBench cavazos-lab/PolyBench-ACC CUDA/stencils bicg mvt

# The script for a GPU, on made-up recordings.
LUA_PATH="$TOP/tests/lua/?.lua;;" "$GILUA" "$TOP/tests/lua/tape.lua" app.cu a.rec b.rec
cp a.rec c.rec
"$GILUA" new a.rec b.rec c.rec -o W/bfs/problem --source app.cu --quiet
gevo=$TOP/tests/gpu/gevo.lua
fails "nothing to evolve" "no problem that ran: kernels/workloads/make -o W problem all" \
  "$GILUA" "$gevo" --problems W --only none
fails "a kind that there is not" "no kind of genes is called 'lines'" "$GILUA" "$gevo" --problems W --kinds lines
out=$("$GILUA" --jobs 2 "$gevo" --problems W --kinds source,ptx --search 1 --living 4 --json all.json 2>&1)
ok $? "kinds of genes are compared" "$out"
like "each has its seconds" "^bfs +ptx +[0-9.]+x \(.*[0-9]+ mutants, +[0-9]+ % right" "$out"
like "and its winner is run on all recordings" "train, validate, unseen: [0-9.]+ [0-9.]+ [0-9.]+$" "$out"
like "a mean over programs" "^  source +\+[0-9.]+ % \(1 programs\); without btree \+[0-9.]+ %" "$out"
like "and all of it as data" '"program":"bfs".*"kinds":\{"source":\{"genome":' "$(tr -d ' \n' <all.json)"

if ! command -v nvcc >/dev/null; then
  echo "ok $((count += 1)) - they run # SKIP there is no nvcc on this machine"
  finish
  exit
fi
sanitized "programs that nvcc built" && { finish; exit; }

cat >answers.lua <<'END'
local core, gi = require "gilua.core", require "gilua"
local problem = gi.problem(arg[1])
local llvm = core.llvm.info()
local function said(compiler)
  gi.options.compiler = compiler
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  local m = farm:evaluate({ "" }, gi.own.case(problem, 1))[1]
  return gi.fitness.right(m) and m.n > 0 and "right" or m.message or m.status
end
local may = arg[2] == "llvm" and llvm and llvm.clang and core.compile.libdevice()
print(said(), may and said "llvm" or "no LLVM", problem.kernel)
END

# Built once; `make` does the same with the sizes of a GPU. Headers of C++14 take two thirds of the time
# of those of C++17.
export NVCC=$TOP/tests/nvcc NVCC_PREPEND_FLAGS=-std=c++14
"$make" -o built -j 2 build all >made.txt 2>&1
ok $? "all are built" "$(tail -20 made.txt)"
for name in $(awk '$2 == "tiny" { print $1 }' "$sizes"); do
  arguments=$(awk -v name="$name" '$1 == name && $2 == "tiny" { $1 = $2 = ""; print }' "$sizes")
  ends 2 "$name: no arguments" "usage: .*SEED" "$GILUA" run --quiet -- "built/$name/$name"
  # shellcheck disable=SC2086 # several arguments
  out=$("$GILUA" run --quiet --check races,uninit,leaks -- "built/$name/$name" $arguments 2>&1)
  is "$name: right, and nothing to complain of" "0 right" "$? $(tail -1 <<<"$out")"
  # shellcheck disable=SC2086
  "$GILUA" record --quiet -o "$name.rec" -- "built/$name/$name" $arguments >/dev/null 2>&1
  out=$("$GILUA" new "$name.rec" "built/$name/problem" --source "$TOP/kernels/workloads/$name/$name.cu" 2>&1)
  ok $? "$name: a problem is made of its recording" "$out"
  case $name in # functions that are no single instruction
  particlefilter | heartwall | sgd | smo | srad) compilers=llvm ;;
  *) compilers= ;;
  esac
  like "$name: whose kernels give the program's answers, whoever compiles them" "^right	(right|no LLVM)	[a-z_,]+$" "$("$GILUA" answers.lua "built/$name/problem" $compilers 2>&1)"
done

# What GEVO found in such programs, as genes by hand: FIND GENES TIMES-AS-FAST CHECKED
out=$("$GILUA" --jobs 1 "$TOP/experiments/gevo_finds.lua" --problems built 2>&1)
find_is() { like "GEVO's find: $1 of $2" "^\| \`$2\` \| $1[^|]* \| $3 \| $4 \| $5 \|$" "$out"; }
find_is "the two barriers" nw 2 '1\.0[0-9]+' ok
find_is "all barriers" nw 6 '1\.0[0-9]+' race
find_is "the barriers of diagonal" lud 3 '1\.0[0-9]+' race
find_is "stores of sums" lud '[4-9]' '1\.0[0-9]+' ok
find_is "loads of a node's edges" bfs 2 '1\.0[0-9]+' ok
find_is "what is computed for x" hotspot 1 wrong ok
find_is "the barriers of a step" hotspot 2 wrong race
finish
