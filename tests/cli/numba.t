#!/bin/bash
# Numba's kernels on the virtual GPU by docs/python/gilua_numba: right against numpy, checks silent, and a
# recording of them is a problem.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
python=${PYTHON:-python3}
if ! "$python" -c 'import numba.cuda.cudadrv.driver as d; d._Linker' 2>/dev/null; then
  echo "1..0 # SKIP $python has no numba-cuda (PYTHON names another)"
  exit 0
fi
export PYTHONPATH=$TOP/docs/python PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore
"$GILUA" record --quiet --check races,global-races,uninit -o numba.rec -- \
  "$python" "$TOP/tests/own/numba_kernels.py" >out 2>err
is "all are right" "product right|histogram right" "$(paste -sd'|' out)"
like "an access outside is the finding" "kernel .*outside" "$(grep '^gilua: ' err)"
sed '/^outside\[/d' "$TOP/tests/own/numba_kernels.py" >inside.py
"$GILUA" record --quiet -o inside.rec -- "$python" inside.py >out 2>err
out=$("$GILUA" new inside.rec -o problem --kernel histogram 2>&1)
like "a recording of it is a problem of its PTX" "problem/ is ready" "$out"
finish
