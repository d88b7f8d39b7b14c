#!/bin/bash
# Stand-ins of closed libraries but cuBLAS and cuFFT (tests/cli/run.t): each function beside loops.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

if ! command -v nvcc >/dev/null; then
  echo "ok $((count += 1)) - stand-ins of closed libraries # SKIP there is no nvcc on this machine"
  finish
fi
sanitizer_first
. "$TOP/tests/cli/programs.sh"
toolkit=$(dirname "$(command -v nvcc)")/..
everything=uninit,order,streams,races,global-races

has() { [ -e "$toolkit/include/$1" ]; } # has HEADER
skipped() { echo "ok $((count += 1)) - $1 # SKIP there is no $2 on this machine"; }

right() { # right NAME COUNT ARGUMENT…: every line of the program says that a function is right
  local name=$1 want=$2
  shift 2
  runs "$name: the stand-in is right" 0 --quiet --check $everything -- "./$name" "$@"
  is "$name: nothing is wrong" "" "$(grep WRONG out)"
  is "$name: so many are right" "$want" "$(grep -c ': right$' out)"
  is "$name: nothing is found" "" "$(cat err)"
}

if has curand.h; then
  program rand -lcurand
  right rand 23
  runs "numbers beyond an array's end" 201 --quiet -- ./rand beyond
  like "are told as the call's" "curandGenerateUniform writes 256 bytes: .*'cudaMalloc 1' .252 bytes.; in main" "$(cat err)"
  if [ -e "$toolkit/lib64/libcurand.so.10" ] || [ -e "$toolkit/lib/libcurand.so.10" ]; then
    right rand 3 closed
  else
    skipped "what NVIDIA's cuRAND computes" libcurand.so.10
  fi
  GILUA_NVIDIA_LIBRARY=$TMP/nothing runs "without NVIDIA's library" 5 --quiet -- ./rand closed
  like "its generators end with a sentence" "NVIDIA's own libcurand.so.10, which is not on this machine" "$(cat err)"
else
  skipped cuRAND curand.h
fi

if has cublasLt.h && "$GILUA" -e 'os.exit(package.loadlib("libblas.so.3", "*") ~= nil)'; then
  program lt -lcublasLt
  right lt 41
  runs "an epilogue of cublasLt that is not there" 4 --quiet -- ./lt missing
  like "is named at the end" "cublasLtMatmul with an epilogue other than bias, RELU and GELU is not supported on the virtual GPU" \
    "$(tail -1 err)"
else
  skipped cublasLt "cublasLt.h or no BLAS"
fi

if has cusparse.h; then
  program sparse -lcusparse
  right sparse 56
  runs "a column that is not there" 6 --quiet -- ./sparse beyond
  like "is told" "cusparseSpMV: the index of entry 1 is 2, and there are 2 columns; in beyond" "$(cat err)"
  runs "a function of cuSPARSE that is not there" 10 --quiet -- ./sparse missing
  like "is named at the end" "cusparseScsrilu02 is not supported on the virtual GPU; results" "$(tail -1 err)"
else
  skipped cuSPARSE cusparse.h
fi

if has cusolverDn.h && "$GILUA" -e 'os.exit(package.loadlib("liblapack.so.3", "*") ~= nil or
    package.loadlib("libopenblas.so.0", "*") ~= nil)'; then
  program solver -lcusolver
  right solver 21
  runs "a matrix that is too small" 6 --quiet -- ./solver beyond
  like "is told as the call's" "cusolverDnZpotrf writes 16 bytes: .*'cudaMalloc 3' .384 bytes.; in main" "$(cat err)"
else
  skipped cuSOLVER "cusolverDn.h or no LAPACK"
fi

finish
