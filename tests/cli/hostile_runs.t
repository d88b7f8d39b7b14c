#!/bin/bash
# Runs of strangers that attack who looks at them: archives that are none, pipes, links that lead out,
# views that never end; and a problem that is a pipe. Each ends in one sentence, nothing runs, and what they lead to is untouched.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

cat >spoil.lua <<'LUA'
-- spoil.lua SQL: what a stranger does to the archive of bad/
local db = assert(require("gilua.core").store.open "bad/archive.sqlite")
assert(db:execute(arg[1]))
LUA
echo 'return function(own) return own.ticks end' >ticks.lua
mkdir honest
"$GILUA" -e 'local core, gi = require "gilua.core", require "gilua"
  assert(core.store.open "honest/archive.sqlite"):execute(gi.textfile.read("'"$TOP"'/tests/data/archive-1.sql", "it"))
  gi.archive.open("honest/archive.sqlite"):close()'
like "an honest archive" "compile_error" "$("$GILUA" log honest)"
echo precious >precious

fresh() { rm -rf bad && cp -r honest bad; }

# attacked WHAT SENTENCE COMMAND…: each is refused so, soon
attacked() {
  local what=$1 says=$2 command
  shift 2
  for command in "$@"; do
    # shellcheck disable=SC2086
    fails "$what: $command" "^gilua: .*$says" timeout 60 "$GILUA" $command
  done
  is "$what: what is outside is as it was" "precious" "$(cat precious)"
}
LOOKS=("log bad" "export bad" "rescore bad ticks.lua" "show bad 2" "replay bad")

fresh && echo garbage >bad/archive.sqlite
attacked "no database" "is no archive of gilua's, or a broken one: .*not a database" "${LOOKS[@]}" "resume bad"
fresh && truncate -s 1T bad/archive.sqlite && dd if=/dev/zero of=bad/archive.sqlite bs=64 count=1 conv=notrunc 2>dd.txt
attacked "a terabyte" "is no archive of gilua's, or a broken one" "log bad" "merge all bad"
fresh && rm bad/archive.sqlite && mkfifo bad/archive.sqlite
attacked "a pipe" "is not a file but a pipe|is not there" "log bad" "resume bad" "merge all bad"
for end in wal shm journal; do
  fresh && ln -s "$TMP/precious" bad/archive.sqlite-$end
  attacked "a link beside it, $end" "archive.sqlite-$end is not a file but a link" "log bad" "resume bad"
done
fresh && mkfifo bad/archive.sqlite-wal
attacked "a pipe beside it" "archive.sqlite-wal is not a file but a pipe" "log bad" "resume bad"

ENDLESS="AS WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c)"
fresh && "$GILUA" spoil.lua "ALTER TABLE genome RENAME TO other;
  CREATE VIEW genome $ENDLESS SELECT id, 'x' AS text FROM c"
attacked "a table that never ends" "its view '[a-z]+' is not gilua's" "${LOOKS[@]}" "resume bad" "merge all bad"
fresh && "$GILUA" spoil.lua "DROP VIEW evaluations; CREATE VIEW evaluations $ENDLESS SELECT id AS run, id FROM c"
attacked "a view that never ends" "its view 'evaluations' is not gilua's" "${LOOKS[@]}"
fresh && "$GILUA" spoil.lua "CREATE TRIGGER mine AFTER INSERT ON run BEGIN DELETE FROM evaluation; END"
attacked "a trigger" "its trigger 'mine' is not gilua's" "log bad" "resume bad"
fresh && "$GILUA" spoil.lua "CREATE VIEW mine AS SELECT id FROM evaluation"
like "a view of a person's own is none" "compile_error" "$("$GILUA" log bad)"

fresh && "$GILUA" spoil.lua "UPDATE measurement SET reply = zeroblob(100000)"
attacked "measurements of zeros" "is broken|does not tell" "replay bad"
fresh && "$GILUA" spoil.lua "UPDATE run SET ended = NULL, command = '[\"touch ran\"]'"
attacked "a command that is none" "does not tell how the run was begun" "resume bad"
fresh && "$GILUA" spoil.lua "UPDATE run SET ended = NULL, command = NULL, scheme = 7"
attacked "none at all" "does not tell" "resume bad" "replay bad"
fresh && "$GILUA" spoil.lua "UPDATE genome SET text = char(27) || ']0;mine' || char(7) || id"
is "control characters do not come to the terminal" 0 \
  "$({ "$GILUA" log bad; "$GILUA" show bad 3; "$GILUA" rescore bad ticks.lua; } 2>&1 | grep -c $'\e')"
mkdir problem && mkfifo problem/problem.lua
attacked "a problem that is a pipe" "problem/problem.lua is a named pipe, not a file" "check problem" "evolve problem"
mkfifo pipe.lua
fresh
attacked "a formula that is a pipe" "pipe.lua is a named pipe" "rescore bad pipe.lua"
# gilua waits for who will never write: asked to end, it does
mkfifo waits
"$GILUA" -e 'print "waits" io.stdout:flush() io.open "waits"' >said.txt 2>&1 &
waiting=$!
for _ in $(seq 400); do grep -q waits said.txt && break; sleep 0.05; done
sleep 0.2
kill -TERM $waiting
for _ in $(seq 400); do kill -0 $waiting 2>/dev/null || break; sleep 0.05; done
kill -9 $waiting 2>/dev/null
wait $waiting 2>/dev/null
is "SIGTERM ends who opens a pipe" 143 $?
is "nothing ran" "" "$(find . -name ran -o -name all)"
finish
