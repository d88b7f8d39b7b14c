#!/bin/bash
# Kernels of one's own: from files that nobody prepared to improved ones, and what can go wrong.
. "$(dirname "$0")/tap.sh"
cp -r "$TOP"/tests/own/* "$TMP"
cd "$TMP" || exit 1
mv includes header # the name that its problem folder gets
# Smaller programs, which show the same: other tests run them as they are.
sed -i 's/n = 1000003;/n = 20003;/' templates.cu
sed -i 's/n_out = 100000,/n_out = 5000,/' shared.cu
sed -i 's/numPoints = 50000,/numPoints = 2500,/' header/includes.cu
sed -i 's/NumPart = 40001;/NumPart = 2001;/' doubles.cu
sed -i 's/: 1 << 20;/: 4000;/' saxpy.cu
sed -i 's/params = { 3000,/params = { 200,/' structs.cu
sed -i 's/random(20000, 5000,/random(3000, 5000,/' cpp.cu
for file in templates.cu shared.cu doubles.cu header/includes.cu saxpy.cu structs.cu cpp.cu; do
  ! cmp -s $file "$TOP/tests/own/${file/header/includes}"
  ok $? "$file is smaller"
done

small() { # small FOLDER SIZE: a size that takes no time
  sed -i -E "s/^  size = (\{[^}]*\}|[0-9]+),/  size = $2,/" "$1/problem.lua"
  sed -i '/^  checked_size/d' "$1/problem.lua"
}

best_of() { # best_of RUN: its best genome
  sed -n '/^  "best": /,/^  }/s/^    "genome": "\(.*\)",$/\1/p' "$1/result.json"
}

# plain_shuffles FOLDER: doubles.cu without its header, which takes a second to compile. `new` has met
# it; what else is asked does not turn on it.
plain_shuffles() {
  sed -i -e '/cooperative_groups/d' -e 's/auto Warp = .*/int Warp = threadIdx.x % 32;/' -e 's/Warp.size()/32/' \
    -e 's/cg::thread_block_tile<32> Warp/int Warp/' -e 's/Warp.shfl_down(/__shfl_down_sync(~0u, /' \
    -e 's/Warp.thread_rank()/Warp/' "$1/kernel.cu"
  ! grep -E 'cg::|Warp\.' "$1/kernel.cu"
}

# Of most files a few changes of the kernel show as well as all that its data are asked about them.
few() {
  case $1 in
  saxpy | image) ;;
  doubles) echo 'require("gilua.study.adequacy").MOST = 3' ;; # compiles slowly
  *) echo 'require("gilua.study.adequacy").MOST = 10' ;;
  esac
}

story() { # story NAME SIZE ARGUMENT…: what people do with a file
  local name=$1 size=$2 out status few jobs=1
  few=$(few "$1")
  [ "$name" != saxpy ] || jobs=2
  shift 2
  out=$("$GILUA" -e "$few" new "$@" 2>&1)
  ok $? "$name: new" "$out"
  like "$name: it runs" "$name/ is ready" "$out"
  [ "$name" = shared ] && like "$name: nothing of the host's was run" "has a main: with --run it is" "$out"
  [ "$size" = - ] || small "$name" "$size"
  [ "$name" = doubles ] && { plain_shuffles doubles; ok $? "doubles: has plain shuffles from here on"; }
  out=$("$GILUA" -e "$few" check "$name" --jobs 1 2>&1)
  ok $? "$name: check finds nothing wrong" "$out"
  [ "$name" = doubles ] && return # compiles slowly
  case $name in
  saxpy | structs | image) ;; # a line, fields by value, two dimensions
  *) sanitized "$name: evolve, verify, apply" && return ;;
  esac
  out=$("$GILUA" -e "$few" evolve "$name" --population 6 --generations 1 --quiet --jobs $jobs --out "run-$name" 2>&1)
  status=$?
  is "$name: evolve ends with 0 where it found something, else with 3" \
    "$([ -n "$(best_of "run-$name")" ] && echo 0 || echo 3)" $status
  is "$name: and says nothing" "" "$out"
  out=$("$GILUA" verify "run-$name" --cases 1 --jobs 1 2>&1)
  ok $? "$name: verify" "$out"
  like "$name: every answer is right" "all right, largest error" "$out"
  out=$("$GILUA" apply "run-$name" --diff 2>&1)
  is "$name: apply ends as evolve did" $status $?
}

story saxpy 4000 saxpy.cu
story templates 4000 templates.cu
story macros - macros.cu
story structs 200 structs.cu
story shared - shared.cu
story many - many.cu
story includes - header/includes.cu --include header/inc --define DIM=3
story image - image.cu
story cpp 3000 cpp.cu
if sanitized "doubles.cu, which compiles slowly"; then :
elif "$GILUA" -e 'os.exit(require("gilua").compile("#include <cooperative_groups.h>\n") ~= nil, true)'; then
  story doubles - doubles.cu
else
  echo "# doubles.cu is left out: NVRTC has no CUDA headers here, and it includes cooperative_groups.h"
fi

# by the other compiler
cat >llvm.lua <<'CODE'
local gi = require "gilua"
gi.options.compiler = "llvm"
for _, folder in ipairs(arg) do
  local farm <close> = gi.farm(gi.problem(folder), { device = "emu", jobs = 1 })
  local m = farm:evaluate({ "" }, { seed = 1 })[1]
  print(folder, gi.fitness.right(m) and farm:ptx "":find "LLVM NVPTX" and "right" or m.message or m.status)
end
CODE
if sanitized "LLVM"; then :
elif "$GILUA" -e 'local c = require("gilua.core"); local l = c.llvm.info(); os.exit(l and l.clang and c.compile.libdevice() ~= nil or false, true)'; then
  mapfile -t folders < <(ls -d saxpy templates macros structs shared many includes image cpp doubles 2>/dev/null)
  out=$("$GILUA" llvm.lua "${folders[@]}" 2>&1)
  for name in "${folders[@]}"; do
    like "$name: right when LLVM compiled it" "^$name	right$" "$out"
  done
else
  echo "# by LLVM none is tried: there is no libLLVM, clang or libdevice"
fi

# what a run found, put back
winner_is() { # winner_is RUN GENOME: whatever evolution found
  sed -i -E '/^  "best"/,/^  }/s/"genome": "[^"]*"/"genome": "'"$2"'"/' "$1/result.json"
}
winner_is run-saxpy \
  "$(sed -nE 's/.*<(_kernel.cu_[0-9]+)> ::= .*/<\1>/p' <("$GILUA" -e 'print(require("gilua").problem("saxpy").grammar)') | head -1)"
cp saxpy.cu before.cu
like "apply prints what it changes" '^-.*y\[' "$("$GILUA" apply run-saxpy)"
[ -f run-saxpy/saxpy.cu ] && cmp -s saxpy.cu before.cu
ok $? "and writes beside the run; the file is as it was"
cp -r run-saxpy told
winner_is told block_size_x=64
out=$("$GILUA" apply told)
like "apply writes a block into the file's launch, and a grid that goes with it" '^\+.*<<<\(n \+ 63\) / 64, 64>>>' "$out"
like "and says so" 'launch is changed too: block_size_x = 64 \(it was 256\), a grid for as many' "$out"
sed -i 's/<<<(n + 255) \/ 256, 256>>>/<<<blocks(n), threads(n)>>>/' saxpy.cu
out=$("$GILUA" apply told --in-place 2>&1)
is "where it does not understand the launch apply ends with 1" 1 $?
like "and says which and what to write" 'line [0-9]+ of saxpy.cu, `saxpy<<<blocks\(n\), threads\(n\)>>>.*write there block_size_x = 64' "$out"
ok "$(grep -q 'blocks(n), threads(n)' saxpy.cu && [ ! -e saxpy.cu.orig ]; echo $?)" "and changes nothing"
like "but with --anyway it does" 'MARKED: .*this one is not understood' "$("$GILUA" apply told --anyway)"
cp before.cu saxpy.cu
"$GILUA" apply run-saxpy --in-place --quiet
cmp -s saxpy.cu.orig before.cu && cmp -s saxpy.cu run-saxpy/saxpy.cu
ok $? "in place the old one is kept"
fails "a file changed since" "saxpy.cu is not what it was" "$GILUA" apply run-saxpy
fails "verify says what is wrong" "are wrong, largest error|illegal|never written|wrong" "$GILUA" verify run-saxpy --cases 1

# what can go wrong
fails "no such file" "cannot read the kernel: none.cu: No such file" "$GILUA" new none.cu
fails "a folder in place of a file" "cannot read the kernel: header is a folder" "$GILUA" new header other
echo 'int main() { return 0; }' >host.cu
fails "no kernel in it" "host.cu has no __global__ function" "$GILUA" new host.cu
printf '#define KERNEL extern "C" __global__\n' >words.h
printf '#include "words.h"\nKERNEL void k(int *x) { *x = 1; }\n' >worded.cu
fails "a macro for the word" "worded.cu says KERNEL where others say __global__ \(words.h defines it\)" \
  "$GILUA" new worded.cu
: >empty.cu
fails "an empty file" "empty.cu has no __global__ function" "$GILUA" new empty.cu
head -c 4000 "$GILUA" >binary.cu
fails "a binary file" "binary.cu" "$GILUA" new binary.cu
fails "a folder that is there" "saxpy is there already: give another name" "$GILUA" new saxpy.cu
fails "an unknown kernel" "many.cu has no kernel 'dott'; it has .*dot" "$GILUA" new many.cu m --kernel dott
fails "headers that are nowhere" "--include nowhere: there is no such folder" "$GILUA" new saxpy.cu s --include nowhere
printf 'template <typename T, typename U>\n__global__ void k(T *x) { U u = 1; x[0] = u.none; }\n' >template.cu
fails "a template that does not fit" "does not compile for a GPU alone" "$GILUA" new template.cu
like "arguments of a template that nothing says are guesses" "GUESS: template parameter T is float" \
  "$(printf 'template <typename T>\n__global__ void k(T *x) { x[threadIdx.x] = 1; }\n' >t.cu; "$GILUA" new t.cu)"
like "  an index is a whole number" "GUESS: template parameter IdxType is int" \
  "$(printf 'template <typename IdxType>\n__global__ void k(float *x, IdxType n) { x[threadIdx.x] = n; }\n' \
    >index.cu; "$GILUA" new index.cu)"
mkdir nested && printf '#include "sub.h"\n' >nested/top.h && printf '#define MODE 2\n' >nested/sub.h
cat >branches.cu <<'CODE'
#include "nested/top.h"
__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = i; }
int main() {
    float *x;
    cudaMalloc(&x, 6000 * sizeof(float));
#if MODE == 1
    k<<<94, 64>>>(x, 6000);
#elif MODE == 2
    k<<<47, 128>>>(x, 6000);
#endif
#if ODD(1)
    cudaDeviceSynchronize();
#endif
}
CODE
like "a condition that cannot be judged is told of" "every branch counts, .* the file\(11\): " \
  "$("$GILUA" new branches.cu odd)"
sed -i "s/ODD(1)/defined ODD/" branches.cu
out=$("$GILUA" new branches.cu)
is "of one that can be nothing is said" "" "$(grep "every branch" <<<"$out")"
like "the launch is that of the branch taken, by a header's header" "block_size_x = 128" "$(cat branches/problem.lua)"
cat >warns.cu <<'CODE'
__global__ void warns(float *x, float *first, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (threadIdx.x > 0) s[threadIdx.x] = x[i];
    x[i] = s[threadIdx.x] != 0 ? x[i] + 1 : 0;
    *first = 3;
}
CODE
out=$("$GILUA" new warns.cu && "$GILUA" check warns --jobs 1)
like "check shows what is no fault but may become one, by line" \
  "^!! +warnings +line 7, .* benign race in global memory" "$out"
like "each of them" "^!! +line 6, .* nobody wrote in shared memory.* it decides a branch" "$out"
printf 'texture<float, 1> t;\n__global__ void k(float *x) { x[0] = tex1Dfetch(t, 0); }\n' >texture.cu
fails "a texture that is a reference" "texture of line 1 in texture.cu, a reference. CUDA 12 has removed" \
  "$GILUA" new texture.cu
printf '__global__ void k(float *x) { x[0] = 1 }\n' >slip.cu
printf '__global__ void k(const float *x) { float y = x[0]; }\n' >silent.cu
fails "a kernel that writes nothing" "kernel k writes to none of its arguments.*--run compares" "$GILUA" new silent.cu
fails "a slip" "slip.cu:1: expected" "$GILUA" new slip.cu
for name in texture slip template; do [ ! -e $name ] || echo $name; done >left
is "nothing is left of what failed" "" "$(cat left)"
fails "a run that is none" "header is no run: it has neither result.json" "$GILUA" apply header
mkdir bad && echo 'no json' >bad/result.json
fails "a result that is none" "bad/result.json" "$GILUA" verify bad
no_winner "a run that found nothing" "names no winner" bash -c "echo '{}' >bad/result.json; '$GILUA' apply bad"
fails "a problem that is none" "no problem.lua in header" "$GILUA" check header
: >plain
fails "results that cannot be written" "plain/out" "$GILUA" tune saxpy --out plain/out
fails "a folder that cannot be made" "plain/new" "$GILUA" new saxpy.cu plain/new

said() { # said COMMAND…: what it complains of is in said.txt, too
  "$@" 2>said.txt
  local status=$?
  cat said.txt >&2
  return $status
}
wrong() { # wrong TEXT REGEX SED COMMAND…: one thing in problem.lua changed
  local text=$1 regex=$2 change=$3
  shift 3
  rm -rf w && cp -r templates w && sed -i "$change" w/problem.lua
  fails "$text" "$regex" said "$GILUA" "$@" w --jobs 1
  is "$text: one sentence" 1 "$(wc -l <said.txt)"
}
wrong "size 0" "w/problem.lua: size: each is a whole number above 0" 's/^  size = [0-9]*/  size = 0/' check
wrong "a huge size" "argument 3 \(n\): 1000000000000000 does not fit u32" 's/^  size = [0-9]*/  size = 1e15/' evolve
wrong "a count" "argument 1 \(in\): count: 'foo' has no value" '/name = "in"/s/count = "*[a-z_0-9]*"*/count = "foo"/' check
wrong "a role" "did you mean 'out'" 's/role = "[a-z]*"/role = "oout"/' check
wrong "a tolerance" "argument 2: unknown field 'rel_eror'; did you mean 'rel_error'" 's/rel_error/rel_eror/' check
wrong "a block" "from 1 to 1024" 's/^  block_size_x = [0-9]*/  block_size_x = 4096/' tune
wrong "rules that nothing keeps" "no setting satisfies the restrictions of w" 's/^  tune_params = {/  restrictions = { "block_size_x < 1" },\n  tune_params = { block_size_x = { 32, 64 },/' tune
wrong "a syntax error" "w/problem.lua:[0-9]+: " 's/^  size = /  size = = /' check
wrong "nothing returned" "w/problem.lua" 's/^return {/local t = {/' check
wrong "a source that is not there" "cannot read the kernel: w/none.cu" 's/"kernel.cu"/"none.cu"/' check
wrong "a source that is a folder" "cannot read the kernel" 's/"kernel.cu"/"."/' check
wrong "a kernel that is not there" "no __global__ function named none" 's/kernel = "reduceSum"/kernel = "none"/' check
wrong "an argument too few" "takes 3 arguments, not 2" '/name = "n"/d;s/"n"/10/g' check
wrong "an argument of another size" "argument" '/name = "n"/s/i32\|u32/i64/' evolve
rm -rf w && cp -r templates w && sed -i 's/^return {/return { reference = function(a) a.out[1] = 7 end,/' w/problem.lua
fails "check ends with 1 where it finds something wrong" "^$" "$GILUA" check w --jobs 1
like "and says what" "^no +reference" "$("$GILUA" check w --jobs 1)"
finish
