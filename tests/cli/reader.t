#!/bin/bash
# A run is read in Python: the package of docs/python on what gilua left, its notebook, gilua export.
# PYTHON names another Python than the first one here that has pandas.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
export PYTHONPATH=$TOP/docs/python PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg

for python in "$PYTHON" python3 /usr/bin/python3; do
  [ -n "$python" ] && "$python" -c 'import pandas' 2>/dev/null && break
done
if ! "$python" -c 'import pandas' 2>/dev/null; then
  python=${PYTHON:-python3}
  echo "# left out: no Python here has pandas (apt-get install python3-pandas), so that there are no data frames"
fi
if ! "$python" -c 'import sqlite3' 2>/dev/null; then
  echo "1..0 # SKIP there is no python3 with sqlite3"
  exit 0
fi
has() { "$python" -c "import $1" 2>/dev/null; }

"$GILUA" new "$TOP/tests/own/saxpy.cu" saxpy >/dev/null
sed -i 's/^  size = [0-9]*/  size = 4096/; s/block_size_x = {.*/block_size_x = { 32, 64, 256, 512 },/' saxpy/problem.lua
"$GILUA" tune saxpy --quiet --out tuned
"$GILUA" evolve saxpy --population 8 --generations 3 --weak-data --quiet --out run
"$GILUA" export run --out export.csv && "$GILUA" export run --jsonl --out export.jsonl
ok $? "a run is exported"

RUN=run TUNING=tuned EXPORT=export "$python" "$TOP/docs/python/test_reader.py" >reader.said 2>&1
ok $? "the reader's own tests" "$(tail -30 reader.said)"
grep -o 'OK (skipped.*' reader.said | sed 's/^/# left out for want of pandas: /'
is "gilua and the reader know the same schema" \
  "$("$GILUA" -e 'print(require("gilua").archive.VERSION)')" \
  "$("$python" -c 'import gilua_reader; print(gilua_reader.VERSIONS[-1])')"
head -c 3000 run/archive.sqlite >half.sqlite
out=$("$python" -c 'import gilua_reader; gilua_reader.Run("half.sqlite").evaluations()' 2>&1)
like "half an archive is one sentence" "ReaderError: half.sqlite is no archive|ReaderError: .* cannot be read" "$out"
[ "$(id -u)" != 0 ] || echo "# for root, who may write anywhere, a folder that may not be written to is as others"
chmod a-w run/archive.sqlite run
out=$("$python" -c 'import gilua_reader; print(len(gilua_reader.Run("run").rows("evaluations")))')
is "a folder that may not be written to is read" "$(($(wc -l <export.jsonl)))" "$out"
chmod u+w run run/archive.sqlite

# The notebook: its cells in order. By nbconvert where that is, so that it is seen as Jupyter runs it.
cat >cells.py <<'END'
import importlib.util, json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    cells = json.load(file)["cells"]
plots = importlib.util.find_spec("matplotlib")
space = {}
for cell in cells:
    if cell["cell_type"] == "code" and (plots or "matplotlib" not in cell["metadata"].get("tags", [])):
        exec("".join(cell["source"]), space)
assert len(space["line"]) > 0 and len(space["shares"]) == 3 and len(space["times"]) == 3, "empty tables"
if plots:
    assert len(space["plt"].get_fignums()) == 4, "plots"
else:
    print("# left out: there is no matplotlib (pip install matplotlib), so that nothing is plotted")
END
if has pandas; then
  out=$(GILUA_RUN=run "$python" -W error cells.py "$TOP/docs/python/run.ipynb" 2>&1)
  ok $? "the notebook runs" "$out"
  grep '^# left' <<<"$out"
  is "and is kept without what it printed" "" "$(grep -E '"(text|data)":|"execution_count": [0-9]' "$TOP/docs/python/run.ipynb")"
  if has nbconvert && has ipykernel && has matplotlib; then
    GILUA_RUN=$TMP/run env -u MPLBACKEND "$python" -m nbconvert --to notebook --execute --output "$TMP/done.ipynb" \
      "$TOP/docs/python/run.ipynb" >nbconvert.said 2>&1
    ok $? "in Jupyter too" "$(tail -5 nbconvert.said)"
    is "with its four plots" 4 "$(grep -c '"image/png"' done.ipynb)"
  else
    echo "# left out: there is no nbconvert with ipykernel and matplotlib; the cells were run one after another"
  fi
fi

# The package can be installed, here without a network.
if has pip && has setuptools && { has wheel || has setuptools.command.bdist_wheel; }; then
  cp -r "$TOP/docs/python" package
  "$python" -m pip install --quiet --no-build-isolation --no-deps --disable-pip-version-check --target site ./package \
    >pip.said 2>&1
  ok $? "pip installs it" "$(tail -5 pip.said)"
  is "what is installed is it" "$TMP/site/gilua_reader/__init__.py" \
    "$(cd site && PYTHONPATH=. "$python" -c 'import gilua_reader; print(gilua_reader.__file__)')"
  [ -e site/gilua_reader/py.typed ]
  ok $? "typed"
else
  echo "# left out: $python has no pip, setuptools and wheel to install the package without a network"
fi
finish
