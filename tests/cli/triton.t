#!/bin/bash
# Triton kernels on the virtual GPU by docs/python/gilua_triton: right against numpy for two targets,
# with checks silent; what cannot be launched is said.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
python=${PYTHON:-python3}
if ! "$python" -c 'import numpy, triton' 2>/dev/null; then
  echo "1..0 # SKIP $python has no Triton and numpy (PYTHON names another)"
  exit 0
fi
export PYTHONPATH=$TOP/docs/python PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore TRITON_CACHE_DIR=$TMP/cache
for target in 80 90; do
  GILUA_TRITON_TARGET=$target "$GILUA" run --quiet --check races,global-races,uninit -- \
    "$python" "$TOP/tests/own/triton_kernels.py" >out 2>err
  is "sm_$target: all are right" \
    "softmax right|product in f16 right|product in bf16 right|tensor descriptors right|atomics right" \
    "$(head -5 out | paste -sd'|')"
  like "sm_$target: what is no argument is said" "a list: a kernel takes arrays and numbers, not list" "$(cat out)"
  like "sm_$target: and what lacks" "too few: total takes x, o, n: 1 arguments are given" "$(cat out)"
  like "sm_$target: an access outside has its line" "triton_kernels.py line [0-9]+, kernel outside" "$(cat err)"
  is "sm_$target: it is the one finding" 1 "$(grep -c '^gilua: ' err)"
  like "sm_$target: and the launch fails" "outside: cuCtxSynchronize: an illegal memory access" "$(cat out)"
done
finish
