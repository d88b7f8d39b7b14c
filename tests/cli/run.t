#!/bin/bash
# gilua run: whole programs, built by nvcc as their makefiles would, on the virtual GPU.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

misused "which program?" "named behind --" "$GILUA" run
misused "a check that is none" "did you mean races" "$GILUA" run --check race -- true
misused "no GPU" "start the program itself" "$GILUA" run --device cuda -- true
fails "a program that is not there" "there is no program ./nothing" "$GILUA" run -- ./nothing
"$GILUA" run -- sh -c 'exit 7'
is "a program that is none of CUDA's runs as ever" 7 $?
"$GILUA" run -- sh -c 'kill -9 $$' 2>killed
is "one that a signal ends" 137 $?
like "is said to be" "ended by signal 9" "$(cat killed)"
is "input and output are the program's" "a-b" "$(echo a-b | "$GILUA" run -- cat)"

if ! command -v nvcc >/dev/null; then
  echo "ok $((count += 1)) - CUDA programs # SKIP there is no nvcc on this machine"
  finish
fi
sanitizer_first

. "$TOP/tests/cli/programs.sh"
program saxpy
runs "a program that is right" 53 --json table.json -- sh -c './saxpy && exit 53'
is "prints what it prints" "float: 0 wrong|double: 0 wrong|counter: 53|" "$(tr '\n' '|' <out)"
like "and then there is a table" "saxpy<float> +1 +[0-9.]+ us +[0-9.]+% +120 kB +100%" "$(cat err)"
like "for programs, too" '"name": "void saxpy<float>\(float, float const\*, float\*, int\)"' \
  "$(cat table.json)"
runs "without a table" 0 --quiet -- ./saxpy
is "nothing is said" "" "$(cat err)"

program matrix
runs "tensor cores: wmma, ldmatrix, mma.sync" 0 --quiet -- ./matrix
is "every product is right" 14 "$(grep -c ': right$' out)"

GPU=compute_90a program wgmma
runs "products of a warpgroup" 0 --quiet -- ./wgmma
is "are right in each swizzle and order" 24 "$(grep -c ': right$' out)"
runs "one whose sums are used too early" 1 --quiet -- ./wgmma early
like "is told, with its line" "a register of D is read before wgmma.wait_group .*wgmma.cu line [0-9]+" "$(cat err)"

program faults
wrong() { # wrong WHAT MESSAGE WAIT [OPTION…]: said as the message, and what waiting returns
  local what=$1 message=$2 waited=$3
  shift 3
  runs "$what: status 1" 1 --quiet "$@" -- ./faults "$what"
  like "$what: is told" "$message" "$(cat err)"
  like "$what: what waiting for it returns" "^wait: $waited\$" "$(cat out)"
}
wrong beyond "out-of-bounds write of 4 bytes .* byte 256 of 'cudaMalloc 1' .256 bytes.; block \(0,0,0\), thread \(32,0,0\), .*faults.cu line 8, kernel beyond\(int\*, int\)" \
  cudaErrorIllegalAddress
is "a fault stays" "cudaErrorIllegalAddress" "$(sed -n 's/^last again: //p' out)"
wrong misaligned "misaligned write .* byte 1 of 'cudaMalloc 1'" cudaErrorMisalignedAddress
wrong null "a null pointer" cudaErrorIllegalAddress
wrong assert "assertion failed: n == 7" cudaErrorAssert
is "what it printed before is not lost" "about to fail" "$(head -n 1 out)"
wrong freed "use-after-free write .*'cudaMalloc 2' .*freed by cudaFree" cudaErrorIllegalAddress
wrong texels "texture misuse: 0x[0-9a-f]+ is a texture whose memory was freed; block \(0,0,0\), .*kernel fetches" \
  cudaErrorLaunchFailure
wrong twice "frees a second time.*'cudaMalloc 2'" cudaSuccess
like "twice: the error is told once" "^last: cudaSuccess" "$(cat out)"
wrong middle "frees inside of an allocation: byte 12" cudaSuccess
wrong copy "cudaMemcpy reads 400 bytes.*'cudaMalloc 1' .256 bytes" cudaSuccess
wrong race "race in shared memory.*line 41.*kernel racy" cudaSuccess --check races
wrong unset "nobody wrote in global memory at byte 0 of 'cudaMalloc 1'" cudaSuccess --check uninit
wrong leak "'cudaMalloc 2' .256 bytes. was never freed" cudaSuccess --check leaks
wrong heap "2 objects \(48 bytes\) that kernels allocated by malloc were never freed; the first: 'malloc of thread \(0,0,0\) of block \(0,0,0\)" \
  cudaSuccess --check leaks
for what in fine race unset leak heap; do runs "$what without --check is fine" 0 -- ./faults $what; done

program repeats
runs "launches again and again" 0 --json table.json -- ./repeats
is "all that they compute is right" "10" "$(grep -c ': right$' out)"
skipped() { sed -n "/\"$1/,/skipped/s/.*skipped\": \([0-9]*\).*/\1/p" table.json; }
is "what changes nothing runs once" 199 "$(skipped 'same(')"
ok "$([ "$(skipped 'relax(')" -gt 214 ]; echo $?)" "so does a sequence that begins again" "$(skipped 'relax(')"
is "what builds on itself is not left out" 39 "$(skipped 'add(')"
is "nor what changes with each launch" 0 "$(skipped 'count(')"
is "what leaves some as it was runs once for each thing it finds there" 57 "$(skipped 'half_of(')"
is "pointers behind pointers are followed" 30 "$(skipped 'table(')"
runs "with every byte checked nothing is left out" 0 --check uninit --json table.json -- ./repeats
is "not even what changes nothing" 0 "$(skipped 'same(')"
runs "--repeats leaves out the rest" 1 --repeats 3 --json table.json -- ./repeats
like "which is said" "^gilua: --repeats: add.* are not run again.* wrong from here on" "$(cat err)"
is "and not exact" 1 "$(grep -c 'what builds on itself: WRONG' out)"

# Parts of the library, each held against the host by the program itself. In three something is done
# wrong on purpose: that is found, and the status is 1.
right() { # right NAME STATUS [FLAG…]
  program "$1" "${@:3}"
  runs "$1: all of it runs" "$2" --quiet -- "./$1"
  is "$1: nothing is wrong" "" "$(grep -v ': right$' out)"
  ok "$([ "$(grep -c ': right$' out)" -gt 8 ]; echo $?)" "$1: and much was looked at"
}
right memory 1
like "a copy out of bounds is a finding" "cudaMemcpy2D writes .* 'cudaMallocPitch" "$(cat err)"
right streams 1
like "so is freeing what is no memory" "cudaFree frees a pointer that was never allocated" "$(cat err)"
right errors 1
like "and after a reset" "which cudaDeviceReset freed" "$(cat err)"
is "what is missing is said once" 1 "$(grep -c 'cudaGraphicsUnregisterResource is not supported' err)"
right textures 0

program nested -rdc=true
runs "kernels that launch kernels" 0 --json table.json --threads 2 -- ./nested
is "all of them are right" 8 "$(grep -c ': right$' out)"
like "errors have texts" "^error 9 of b: invalid configuration argument" "$(cat out)"
is "none is left out" 0 "$(skipped 'launches(')"
runs "the table is that of one thread" 0 --json one.json --threads 1 -- ./nested
is "in each figure" "$(grep -E '"(ticks|global_bytes|warp_instructions)' table.json)" \
  "$(grep -E '"(ticks|global_bytes|warp_instructions)' one.json)"
runs "what goes wrong in one of them is found" 1 -- ./nested bad
like "by its name" "out-of-bounds write .*thread \(64,0,0\).*nested.cu line [0-9]+, kernel beyond\(int\*\)" \
  "$(cat err)"
is "and those after it do not run" "bad: cudaErrorIllegalAddress" "$(cat out)"

program parts -rdc=true "$TOP/tests/programs/parts_other.cu"
runs "device code in parts, and managed variables" 0 -- ./parts
is "all of it is right" "7" "$(grep -c ': right$' out)"
like "a static kernel has its name" "^  negate +1 " "$(cat err)"

kept_nvcc -std=c++14 -ptx -arch=compute_90 -o driver_kernels.ptx \
  "$TOP/tests/programs/driver_kernels.cu" 2>nvcc.log
right driver 0 -L"$(dirname "$(command -v nvcc)")/../lib64/stubs" -lcuda
runs "a wait for what comes later" 4 --quiet -- ./driver wait
like "is told" "cuStreamWaitValue32 waits for a value that is not there yet .7 is." "$(cat err)"

# What a program asks of the card: it is built for compute_80, and runs on a card with 64 MiB.
kept_nvcc -std=c++14 -cudart shared -gencode arch=compute_80,code=compute_80 -o card \
  "$TOP/tests/programs/card.cu" >card.log 2>&1
ok $? "card.cu builds" "$(cat card.log)"
runs "a card with little memory" 0 --quiet --memory 64M -- ./card
is "what the card says" "attributes: 80 90
memory: 64 of 64 MiB
64 MiB: cudaSuccess, 1 more byte: cudaErrorMemoryAllocation
more than any machine has: cudaErrorMemoryAllocation
time goes on: yes" "$(cat out)"
runs "a card on this machine" 0 --quiet -- ./card most
machine=$(awk '/MemTotal/ { printf "%d", $2 / 1024 / 4 * 3 + 1 }' /proc/meminfo)
[ "$(sed 's/.* of \([0-9]*\) MiB/\1/' out)" -le "$machine" ]
ok $? "it has at most three quarters of the machine's memory" "$(cat out), the machine $machine"
misused "a size that is none" "must be a size" "$GILUA" run --memory lots -- ./card

# Errors that a program does not look at: one finding for each marked line, and for no other.
program unread -g
runs "calls that fail and nobody looks" 1 --quiet --json unread.json -- ./unread bug
is "are told, each at its line" "$(grep -n '// BUG' "$TOP/tests/programs/unread.cu" | cut -d: -f1 | sort -n)" \
  "$(grep -o 'unread.cu line [0-9]*, in' err | grep -o '[0-9]*' | sort -n)"
like "by the call's name, the error's and the reason" \
  "cudaLaunchKernel failed with cudaErrorInvalidConfiguration .*a block of 2048 x 1 x 1 threads; .*kernel set\(float\*\), and the program does not look" "$(cat err)"
like "as often as they happen" '"count": 3' "$(cat unread.json)"
like "with their lines for programs, too" '"kind": "api_error"' "$(cat unread.json)"
runs "unless they are not asked for" 1 --quiet --api-errors no -- ./unread bug
is "but for copies out of bounds" 1 "$(grep -c unread.cu err)"
misused "yes or no" "must be yes or no" "$GILUA" run --api-errors some -- ./unread bug
runs "what a program looks at is its own affair" 0 --quiet -- ./unread fix
is "and not told" "" "$(cat err)"
runs "a program that ends without its exit functions" 1 --quiet -- ./unread dies
like "has them told as well" "grid of 0 x 1 x 1 blocks" "$(cat err)"
runs "after a fault" 1 --quiet --check leaks -- ./unread fault
is "nothing is told but the fault" 1 "$(grep -c 'gilua:' err)"
program unread -g -O2
runs "in optimised code, too" 1 --quiet -- ./unread bug
is "calls are told, each at its line" "$(grep -n '// BUG' "$TOP/tests/programs/unread.cu" | cut -d: -f1 | sort -n)" \
  "$(grep -o 'unread.cu line [0-9]*, in' err | grep -o '[0-9]*' | sort -n)"
runs "and none that the program looks at" 0 --quiet -- ./unread fix
is "is told" "" "$(cat err)"
strip unread
runs "without symbols" 1 --quiet -- ./unread bug
like "addresses say where" "look at the error; at 0x[0-9a-f]+ of the program" "$(cat err)"
runs "and what is looked at is seen" 0 --quiet -- ./unread fix

program limits -gencode arch=compute_90,code=sm_90 -Xptxas -v # which says how many registers it gives
runs "what a GPU refuses" 0 --quiet -- ./limits
is "is refused as there" "" "$(grep -v -e ': right$' -e '^registers: ' out)"
given() { grep -A3 "Compiling entry function '_Z$1P" limits.log | sed -n 's/.*Used \([0-9]*\) reg.*/\1/p' | head -n 1; }
is "kernels have the registers that ptxas gives" "registers: $(given 6hungry) $(given 7bounded)" \
  "$(grep '^registers' out)"
ok "$([ "$(grep -c ': right$' out)" = 30 ]; echo $?)" "all of it" "$(cat out)"
runs "a stack that the program has lowered" 1 --quiet -- ./limits deep
like "is too small" "stack overflow: call of .*deep.* and there are 512 .cudaLimitStackSize" "$(cat err)"

# However a program ends, what ran is told of.
program ends
for how in "plain 0" "exit 5" "_exit 6" "abort 134" "crash 139"; do
  runs "it ends: $how" "${how#* }" -- ./ends "${how% *}"
  like "it ends: $how: the table is there" "work +1 " "$(cat err)"
done
like "the signal is named" "ended by signal 11" "$(cat err)"
runs "a kernel that waits for what never comes" 1 -- ./ends endless
like "is told at its line" "endless wait.* warp 0 runs .* looks at .*byte 0.*ends.cu line 19" "$(cat err)"
runs "what is freed after main is no leak" 0 --check leaks -- ./ends plain
runs "a child forked too late" 0 -- ./ends fork
like "is refused, as CUDA does" "child: cudaErrorInitializationError" "$(cat out)"
like "and adds nothing to the table" "work +1 " "$(cat err)"
runs "a child forked first" 0 -- ./ends "fork first"
like "runs, and both are in the table" "work +2 " "$(cat err)"
interrupted() { # interrupted SIGNAL STATUS: while a kernel goes on for ever
  rm -f out err
  "$GILUA" run -- ./ends wait >out 2>err </dev/null &
  local pid=$!
  for ((i = 0; i < 300; i++)); do
    grep -qs waits out && break
    sleep 0.1
  done
  kill -s "$1" $pid
  wait $pid
  is "SIG$1 reaches the program, and its status comes back" "$2" $?
  like "what ran until then is told of" "work +1 " "$(cat err)"
}
interrupted TERM 143
patient() { # patient HOW TIMES: with a second's patience, until it was named so often
  "$GILUA" run --patience 1 -- ./ends "$1" >out 2>err </dev/null &
  local pid=$!
  for ((i = 0; i < 300; i++)); do
    (($(grep -c 'been running' err) >= $2)) && break
    sleep 0.1
  done
  kill $pid
  wait $pid
}
patient wait 1
like "a kernel that runs long is named, and why that may be" \
  'kernel forever(.*) has been running for [1-9] s, and none of its 1 x 1 x 1 blocks .* waits for ever' \
  "$(cat err)"
patient "wait last" 2
like "of one whose blocks end, the share is told" \
  'running for [1-9] s: 3 of 4 blocks [(]75.0 %[)] are done; at this rate it takes [1-3] s more' "$(cat err)"
is "again after twice the time, not each second" 2 "$(grep -c 'been running' err)"
interrupted HUP 129

# cuBLAS, whose header and library come with CUDA's toolkit.
toolkit=$(dirname "$(command -v nvcc)")/..
if [ -e "$toolkit/include/cublas_v2.h" ] && "$GILUA" -e 'os.exit(package.loadlib("libblas.so.3", "*") ~= nil)'; then
  program blas -lcublas
  runs "cuBLAS stands in" 0 --quiet --check uninit,order,streams,races,global-races -- ./blas
  is "its functions are right" 0 "$(grep -c WRONG out)"
  is "each of them" 89 "$(grep -c right out)"
  is "and nothing is found" "" "$(cat err)"
  runs "a vector that is too short" 13 --quiet -- ./blas beyond
  like "is told as the call's" "cublasSscal_v2 writes 68 bytes: .*'cudaMalloc 1' .64 bytes.; in main" "$(cat err)"
  runs "a vector of the host's" 13 --quiet -- ./blas host
  like "is told, too" "cublasSscal_v2 writes memory of the host at 0x" "$(cat err)"
  runs "values that nobody wrote, where nothing reads" 0 --quiet --check uninit -- ./blas parts
  is "are no matter" "" "$(cat err)"
  runs "and where the result is added to" 1 --quiet --check uninit -- ./blas parts read
  like "are told" "36 bytes that nobody wrote .* cublasSgemm_v2 reads there is computed with" "$(cat err)"
  runs "undefined values" 1 --quiet --check uninit -- ./blas undefined
  like "are told where BLAS computes with them" "16 bytes that nobody wrote .* cublasSscal_v2 reads there is computed with" \
    "$(cat err)"
  runs "a function that is not there" 15 --quiet -- ./blas missing
  like "is named at the end, too" "cublasXtCreate is not supported on the virtual GPU; results" "$(tail -1 err)"
  "$GILUA" record --quiet -o blas.rec -- ./blas kernels >out 2>err
  is "a recording between kernels" 0 "$?"
  "$GILUA" new blas.rec halves --quiet && "$GILUA" check halves --quiet --jobs 1 >out 2>&1
  ok $? "gives the kernel behind a product what the product wrote" "$(cat out err)"
else
  echo "ok $((count += 1)) - cuBLAS # SKIP there is no cublas_v2.h or no BLAS on this machine"
fi

# cuFFT, over FFTW.
if [ -e "$toolkit/include/cufft.h" ] && "$GILUA" -e 'os.exit(package.loadlib("libfftw3f.so.3", "*") and
    package.loadlib("libfftw3.so.3", "*") ~= nil)'; then
  program fft -lcufft
  runs "cuFFT stands in" 0 --quiet --check uninit,order,streams,races,global-races -- ./fft
  is "its functions are right" 9 "$(grep -c right out)"
  is "and nothing is found" "" "$(cat err)"
  runs "a transform of memory that is too short" 6 --quiet -- ./fft beyond
  like "is told as the call's" "cufftExecC2C reads 512 bytes: .*'cudaMalloc 1' .504 bytes.; in main" "$(cat err)"
else
  echo "ok $((count += 1)) - cuFFT # SKIP there is no cufft.h or no FFTW on this machine"
fi

# What cannot take the library's place, and what holds nothing that could run.
kept_nvcc -std=c++14 -c -o saxpy.o "$TOP/tests/programs/saxpy.cu" 2>nvcc.log
kept_nvcc -cudart static -o closed saxpy.o 2>nvcc.log
fails "a program with a library of its own" "build it with" "$GILUA" run -- ./closed
kept_nvcc -std=c++14 -cudart shared -gencode arch=compute_90,code=sm_90 -o code \
  "$TOP/tests/programs/saxpy.cu" 2>nvcc.log
runs "a program with machine code alone" 4 -- ./code
like "is told how to build it" "code for sm_90.* -gencode arch=compute_90,code=compute_90" \
  "$(cat err)"
is "and computes nothing" "" "$(cat out)"
echo '#include <stddef.h>
int cuInit(unsigned), cuGetExportTable(const void **, const void *);
__attribute__((constructor)) static void begin(void) { cuInit(0), cuGetExportTable(NULL, NULL); }' >closed.c
if gcc -shared -fPIC -Wl,-soname,libcusparse.so.12 -o libcusparse.so.12 closed.c &&
  kept_nvcc -cudart shared -Xlinker --no-as-needed,./libcusparse.so.12 -o sparse saxpy.o 2>nvcc.log; then
  LD_LIBRARY_PATH=. runs "a program that does not look at what a closed library says" 4 --quiet -- ./sparse
  like "closed libraries are named" "./sparse needs libcusparse.so.12, whose kernels are machine code" "$(cat err)"
  like "and at the end, too" "libcusparse.so.12 found no GPU: its kernels are machine code" "$(tail -1 err)"
fi
like "the library alone says how it is used" "gilua run -- PROGRAM" \
  "$(LD_LIBRARY_PATH=$TOP/lib ./saxpy 2>&1)"
finish
