#!/bin/bash
# gilua doctor: NVRTC without the headers that kernels include is not well, and which are missing is said.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

json() { "$GILUA" -e 'local v = require("gilua").json.decode(io.read "a") for k in ("'"$1"'"):gmatch "[^.]+" do v = v[tonumber(k) or k] end print(v)'; }

info() { "$GILUA" -e "print(require('gilua').compile.info().$1 or '')"; }
nvrtc=$(info path) include=$(info include)
if [ -z "$include" ]; then
  echo "ok $((count += 1)) - doctor # SKIP NVRTC has no CUDA headers beside it here: make deps fetches them"
  finish
fi
real=$(realpath "$nvrtc")

said=$("$GILUA" doctor)
is "with all headers it is well" 0 $?
like "and says what compiled" "^ok +CUDA headers +/.*; kernels with halves, cuda/std and cooperative groups compile$" "$said"

# NVRTC's real file in a folder of our own, for headers are looked for beside that.
mkdir -p bare/lib
for file in "${real%/*}"/libnvrtc*.so*; do
  case $file in *.alt.*) ;; *) ln "$(realpath "$file")" "bare/lib/${file##*/}" 2>/dev/null || cp -L "$file" bare/lib/ ;; esac
done
without() { # without TEXT REGEX
  local out
  out=$(GILUA_NVRTC=$TMP/bare/lib "$GILUA" doctor 2>&1)
  is "$1: status 1" 1 $?
  like "  what is missing" "$2" "$out"
  like "  and how to get it" "^ +to do: .make deps. .*pip install -r .*/data/nvrtc.txt" "$out"
}
without "no headers at all" \
  '^no +CUDA headers +kernels with halves, cuda/std, cooperative groups do not compile: .*"cuda_fp16.h"'
mkdir bare/include # copies: the compiler may not read where links lead to
cp "$include"/*.h "$include"/*.hpp bare/include/ && cp -r "$include"/cooperative_groups bare/include/
without "the headers of nvidia-cuda-runtime alone" \
  '^no +CUDA headers +kernels with (halves, )?cuda/std, cooperative groups do not compile: .*"(nv/target|cuda/std/type_traits)"'
GILUA_NVRTC=$TMP/bare/lib "$GILUA" doctor --json 2>/dev/null >said.json
is "programs are told so" "false wrong" "$(json ok <said.json) $(json findings.3.verdict <said.json)"

# What pip puts beside NVRTC of CUDA 12: a folder for each wheel.
mkdir -p twelve/nvidia/cuda_nvrtc twelve/nvidia/cuda_runtime twelve/nvidia/cuda_cccl
mv bare/lib twelve/nvidia/cuda_nvrtc/lib && mv bare/include twelve/nvidia/cuda_runtime/include
mkdir twelve/nvidia/cuda_cccl/include
mapfile -t folders < <("$GILUA" -e 'for _, p in ipairs(require("gilua").compile.info().includes) do print(p) end')
for folder in "${folders[@]}"; do
  [ ! -e "$folder/cuda/std" ] || cp -r "$folder/nv" "$folder/cuda" twelve/nvidia/cuda_cccl/include/ || exit 1
done
out=$(GILUA_NVRTC=$TMP/twelve "$GILUA" doctor 2>&1)
is "with nvidia-cuda-cccl-cu12 beside them it is well" 0 $?
like "  where the folders are the wheels'" "^ok +CUDA headers +.*/cuda_runtime/include; kernels" "$out"
finish
