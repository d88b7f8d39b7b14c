#!/bin/bash
# gilua run: programs that lie to the runtime. Each lie is an error code or a sentence; none ends by a
# signal, hangs or fills memory.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
command -v gcc >/dev/null || { echo "1..0 # SKIP there is no gcc"; exit 0; }
sanitizer_first

runtime=$TOP/lib/libcudart.so.13
LD_PRELOAD='' gcc -o liar "$TOP/tests/hostile/liar.c" "$runtime" || exit 1

# lies HOW STATUS PATTERN…: it ends so, and what it and gilua said matches
lies() {
  local how=$1 want=$2 out status pattern
  shift 2
  out=$(ulimit -c 0 -t 30; timeout 300 "$GILUA" run -- ./liar "$how" 2>&1 </dev/null)
  status=$?
  is "$how: its status" "$want" "$status"
  for pattern in "$@"; do like "$how" "$pattern" "$out"; done
}

lies magic 4 "what the program registers is no fat binary"
lies nothing 4 "no fat binary"
lies handle 0 "^98 cudaLaunchKernel"
lies endless 4 "fat binary"
lies bomb 4 "fat binary has impossible sizes"
lies memory 1 "^2 cudaMalloc\(&p, SIZE_MAX" "^2 cudaMalloc\(&p, \(size_t\)1 << 45" "^2 cudaMallocManaged" \
  "writes 1152921504606846976 bytes" "byte 1000000 of 'cudaMalloc 1'" "^1 cudaMemset\(\(void" \
  "^21 cudaMemcpy" "frees a pointer that was never allocated" "frees a second time" "^13 cudaMemcpyToSymbol"
lies handles 0 "^98 cudaFuncGetAttributes" "^400 cudaStreamSynchronize" "^400 cudaEventRecord" \
  "^1 cudaGraphLaunch" "^1 cudaDestroyTextureObject" "^1 cudaFreeArray" "^98 cudaLaunchKernel"
finish
