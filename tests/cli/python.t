#!/bin/bash
# The Python module gilua: judge, evolve and run are the program's own results, as dicts and frames.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
export PYTHONPATH=$TOP/docs/python PYTHONDONTWRITEBYTECODE=1 GILUA
python=${PYTHON:-python3}
if ! "$python" -c 'import sqlite3' 2>/dev/null; then
  echo "1..0 # SKIP there is no python3 with sqlite3"
  exit 0
fi

sed 's/1 << 20/1 << 10/' "$TOP/tests/own/saxpy.cu" >old.cu
sed 's/a \* x\[i\]/a * x[i] + 1/' old.cu >wrong.cu
cmp -s old.cu wrong.cu && ok 1 "the other kernel is another"
py() { "$python" -W error -c "import gilua
$1" 2>&1; }
is "a kernel is as right as itself, and no faster" "True False 3" \
  "$(py 'r = gilua.judge("old.cu", "old.cu", cases=1, own_size=True); print(r.right, r.faster, r.status)')"
is "another is wrong, with the first data that tell" "False wrong 1" \
  "$(py 'r = gilua.judge("old.cu", "wrong.cu", cases=1, own_size=True); print(r.right, r["verdict"], r.status)')"
like "what cannot be judged is an error, with the program's sentence and status" "^there is no nowhere.cu 2$" \
  "$(py 'try: gilua.judge("nowhere.cu", "old.cu")
except gilua.Error as e: print(e, e.status)')"
is "no program" "there is no program gilua: name it in \$GILUA, or put it on PATH" "$(GILUA='' py 'import os
os.environ["PATH"] = "/nowhere"
try: gilua.judge("old.cu", "old.cu")
except gilua.Error as e: print(e)')"

"$GILUA" new old.cu problem >/dev/null
is "an evolution is its result, and its run" "True True run" "$(py 'r = gilua.evolve("problem", out="run",
  population=4, generations=1, weak_data=True, seed=2); print(r["speedup"] >= 1 and r["seed"] == 2,
  len(r.run.rows("evaluations")) >= 4, r["folder"])')"
like "an option that there is not is an error" "generation.* 2$" \
  "$(py 'try: gilua.evolve("problem", generation=1)
except gilua.Error as e: print(e, e.status)')"

if ! sanitized "a program that ran, whose library wants the sanitizer's before it" \
  && command -v nvcc >/dev/null && program saxpy; then
  is "a program that ran" "0 True []" "$(py 'r = gilua.run("./saxpy"); print(r.status, len(r["kernels"]) > 0, r["findings"])')"
fi
like "a program that cannot be run is an error" "nothing" "$(py 'try: gilua.run("./nothing")
except gilua.Error as e: print(e)')"
if "$python" -c 'import pandas' 2>/dev/null; then
  is "a list as a frame" "['all sorts'] " "$("$python" -c 'import gilua
r = gilua.judge("old.cu", "wrong.cu", cases=1, own_size=True)
print(list(r.frame("data")["data"][:1]), end=" ")')"
fi
finish
