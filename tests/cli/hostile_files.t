#!/bin/bash
# Files and runs of strangers that attack who opens them (tests/hostile/strangers.lua): each ends in
# one sentence or in a problem that runs, within seconds of a processor and its share of memory;
# nothing is run, and nothing outside of the folder is touched.
. "$(dirname "$0")/tap.sh"
command -v perl >/dev/null || { echo "1..0 # SKIP there is no perl"; exit 0; }
cd "$TMP" || exit 1
if sanitized "memory and seconds of strangers' files"; then finish; fi

cat >rows.lua <<'LUA'
-- rows.lua: makes each row's file in a folder of its own, and prints: folder, kind, name, pattern
local rows = dofile(arg[1])
for i, row in ipairs(rows) do
  local folder = ("row%d"):format(i)
  require("lfs").mkdir(folder)
  if row.text then
    local file <close> = assert(io.open(("%s/%s.cu"):format(folder, row.name), "wb"))
    file:write(row.text)
  end
  local shell <close> = assert(io.open(folder .. "/make.sh", "w"))
  shell:write(row.shell or "")
  print(table.concat({ folder, row.run and "run" or "new", row.name, row.says or "" }, "\t"))
end
LUA
cat >says.lua <<'LUA'
for line in io.lines(arg[1]) do
  if line:find(arg[2]) then return end
end
os.exit(1)
LUA

# An honest run, to be spoilt.
cat >fine.cu <<'END'
__global__ void k(float *x, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = sqrtf(x[i]) + 1;
}
int main() { float *x; cudaMalloc(&x, 4096); k<<<8, 128>>>(x, 1000); }
END
"$GILUA" new fine.cu --quiet
"$GILUA" evolve fine --population 4 --generations 1 --quiet --jobs 1 --out run
winner='<optrestrict_kernel.cu_1><optrestrict_K0>'
sed -i -E '/^  "best"/,/^  }/s/"genome": "[^"]*"/"genome": "'"$winner"'"/' run/result.json
[ -s run/problem.kept/grammar.bnf ]
ok $? "an honest run"

limits() { ulimit -c 0 -t 30 -v 8000000; }
seconds() { # seconds of a processor that CMD… took, its workers' too
  local TIMEFORMAT='%U %S'
  { time (limits; timeout 300 "$@" >out.txt 2>said.txt </dev/null; echo $? >status.txt); } 2>&1 |
    awk '{ print int($1 + $2) }'
}

one() { # one WHAT PATTERN CMD…: as many seconds as it may, no traceback, nothing run
  local what=$1 says=$2 took status
  shift 2
  took=$(seconds "$@")
  status=$(cat status.txt)
  cat said.txt out.txt >both.txt
  [ "$took" -le 20 ] && [ "$status" -lt 124 ]
  ok $? "$what: within its time" "$took s, status $status"
  ! grep -q "stack traceback" both.txt
  ok $? "$what: no traceback" "$(head -c 2000 both.txt)"
  if [ -n "$says" ]; then
    [ "$status" != 0 ] && "$GILUA" "$TMP/says.lua" both.txt "$says"
    ok $? "$what: /$says/" "status $status: $(head -c 1000 both.txt)"
  else
    is "$what: a problem that runs" "0" "$status"
  fi
  is "$what: nothing ran" "" "$(find "$TMP" -name ran -o -name stolen)"
}

# Limits as a person may set them, lower than they are, so that what runs into them does so soon.
SMALL='local trial = require "gilua.new.trial"
  require("gilua").compiler.limit_s, trial.budget, trial.most_bytes = 1, 1e6, 4e6'

"$GILUA" rows.lua "$TOP/tests/hostile/strangers.lua" >rows.txt
ok $? "the rows" "$(head -3 rows.txt)"
outside=$(sha256sum fine.cu /etc/passwd)
while IFS=$'\t' read -r folder kind name says; do
  cd "$TMP/$folder" || exit 1
  [ "$kind" = new ] || cp -r ../run ../fine.cu .
  [ "$kind" = new ] || mv run bad
  bash make.sh
  if [ "$kind" = new ]; then
    one "$name" "$says" "$GILUA" -e "$SMALL" new "$name.cu" made
  else
    one "apply, $name" "$says" "$GILUA" apply bad --diff
    one "apply, $name, in place" "$says" "$GILUA" apply bad --in-place
  fi
done <rows.txt
cd "$TMP" || exit 1
is "nothing outside is changed" "$outside" "$(sha256sum fine.cu /etc/passwd)"
is "nor the file that a run came from" "" "$(for f in */fine.cu; do cmp "$f" fine.cu; done)"
finish
