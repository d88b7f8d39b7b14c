#!/bin/bash
# gilua nvcc and gilua run --build: programs built by their own makefiles, as they were published.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
if sanitized "makefiles, whose compilers are not ours: what gilua does has a test in run.t"; then finish; fi

misused "what is to be compiled?" "gilua nvcc -o app app.cu" "$GILUA" nvcc
like "its help" "options that name GPUs, -cudart" "$("$GILUA" nvcc --help | tr 'O' 'o')"

# What nvcc gets: a compiler that prints its words, a line each.
printf '#!/bin/sh\nprintf "%%s\\n" "$@"\necho "append:$NVCC_APPEND_FLAGS"\n' >words && chmod +x words
export GILUA_NVCC=$TMP/words
gets() { "$GILUA" nvcc "$@" | tr '\n' ' '; }
like "GPUs, library and debugging are replaced" \
  "^-O3 -o app app.cu -cudart shared -gencode arch=compute_90,code=compute_90 -lineinfo -I" \
  "$(gets -O3 -arch sm_35 -gencode arch=compute_20,code=sm_20 --gpu-code=sm_70 -cudart static -G -o app app.cu)"
is "each once" 1 "$(gets -arch=sm_80 -lineinfo a.cu -cudart=none | grep -o cudart | wc -l)"
like "instructions of sm_90a stay" "arch=compute_90a,code=compute_90a" \
  "$(gets -gencode arch=compute_90a,code=sm_90a a.cu)"
is "machine code that is asked for is made" "-cubin -arch=sm_90 a.cu append: " "$(gets -cubin -arch=sm_90 a.cu)"
is "NVTX is headers alone" 0 "$(gets a.cu -lnvToolsExt | grep -c nvToolsExt)"
like "words with spaces stay whole" "^-DX=a b -o" "$(gets '-DX=a b' -o x x.cu)"
like "flags of the environment are not added" "append: $" "$(NVCC_APPEND_FLAGS=-arch=sm_35 gets a.cu)"
printf '#!/bin/sh\nexit 7\n' >words
"$GILUA" nvcc a.cu
is "its status is nvcc's" 7 $?
GILUA_NVCC=/nowhere/nvcc fails "no compiler" "/nowhere/nvcc" "$GILUA" nvcc a.cu
unset GILUA_NVCC

if ! command -v nvcc >/dev/null; then
  echo "ok $((count += 1)) - programs # SKIP there is no nvcc on this machine"
  finish
fi
sanitizer_first

mkdir 'old program'
cat >'old program/old.cu' <<'CU'
// As programs were written for CUDA 5 to 12.
#include <stdio.h>
#include <helper_cuda.h>
#include <helper_functions.h>

__global__ void twice(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}

int main(int argc, char **argv)
{
    const int n = 1000;
    cudaDeviceProp prop = {0};
    StopWatchInterface *timer;
    int *x, device = findCudaDevice(argc, (const char **)argv), wrong = 0;
    sdkCreateTimer(&timer), sdkStartTimer(&timer);
    checkCudaErrors(cudaGetDeviceProperties(&prop, device));
    checkCudaErrors(cudaMallocManaged(&x, n * sizeof *x));
    checkCudaErrors(cudaMemAdvise(x, n * sizeof *x, cudaMemAdviseSetPreferredLocation, device));
    checkCudaErrors(cudaMemPrefetchAsync(x, n * sizeof *x, device, 0));
    for (int i = 0; i < n; i++) x[i] = i;
    twice<<<(n + 255) / 256, 256>>>(x, n);
    getLastCudaError("twice");
    cudaThreadSynchronize();
    sdkStopTimer(&timer);
    for (int i = 0; i < n; i++) wrong += x[i] != 2 * i;
    printf("%d wrong, clock %s, %d bits, time %s\n", wrong, prop.clockRate > 0 && prop.memoryClockRate > 0 ? "known" : "unknown",
           getCmdLineArgumentInt(argc, (const char **)argv, "bits"), sdkGetTimerValue(&timer) >= 0 ? "told" : "untold");
    sdkDeleteTimer(&timer);
    cudaThreadExit();
    return wrong;
}
CU
# A makefile that names a compiler that is not there, and GPUs that nvcc does not know any more.
printf 'NVCC = /opt/cuda-5.5/bin/nvcc\nold: old.cu\n\t$(NVCC) -std=c++11 -arch=sm_20 -G -cudart static -o $@ $<\n' \
  >'old program/Makefile'
cd 'old program' || exit 1
"$GILUA" run --quiet --build 'make -s' -- ./old --bits=3 >out 2>err
is "an old program is built and runs" 0 $?
is "and is right" "0 wrong, clock known, 3 bits, time told" "$(cat out)"
is "without a word" "" "$(cat err)"
fails "a build that fails" "./old is not built: --build 'exit 3' ended with status 3" \
  "$GILUA" run --build 'exit 3' -- ./old
"$GILUA" record --quiet --build 'make -s -B' -o old.rec -- ./old >out 2>err
is "a recording is built, too" 0 $?
ok "$([ -s old.rec ]; echo $?)" "and there"

# One whose makefile names a whole toolkit that is not there, and NVTX as CUDA 12 had it.
cd .. && mkdir parts && cd parts || exit 1
printf '#include <nvToolsExt.h>\n__global__ void one(int *x) { *x = 1; }\nvoid start(int *x)%s\n' \
  '{ nvtxRangePushA("one"); one<<<1, 1>>>(x); nvtxRangePop(); }' >kernel.cu
cat >main.cpp <<'CPP'
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime_api.h>
void start(int *x);
int main() {
    int *x, value = 0, version = 0;
    cuDriverGetVersion(&version);
    cudaMalloc((void **)&x, 4);
    start(x);
    cudaMemcpy(&value, x, 4, cudaMemcpyDeviceToHost);
    cudaFree(x);
    printf("%d %d\n", value, version > 0);
}
CPP
cat >Makefile <<'MAKE'
root = /opt/cuda-5.5
nvcc = $(root)/bin/nvcc
parts: main.o kernel.o
	g++ -o $@ $^ -L$(root)/lib64 -lcudart -lcuda
main.o: main.cpp
	g++ -I$(root)/include -c $<
kernel.o: kernel.cu
	$(nvcc) -lnvToolsExt -c $<
MAKE
env -u CPATH -u LIBRARY_PATH "$GILUA" run --quiet --build 'make -s' -- ./parts >out 2>err
is "a program whose toolkit is not there is built and runs" "0 1 1" "$? $(cat out)"
is "without a word, either" "" "$(cat err)"
env -u CPATH "$GILUA" run --quiet --build 'printf %s "$CPATH" >headers' -- ./parts >out 2>err
ok "$([ -e "$(cat headers)/cuda.h" ]; echo $?)" "the host's compiler finds CUDA's headers" "$(cat headers)"

finish
