#!/bin/bash
# gilua serve --mcp: an agent's client asks for tools, calls each, calls wrongly, and cancels.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
if sanitized "a server of agents, whose commands have tests of their own"; then finish; fi
DATA=$TOP/tests/data/judge

coproc SERVER { exec "$GILUA" serve --mcp 2>err; }
server=$SERVER_PID
say() { printf '%s\n' "$1" >&"${SERVER[1]}"; }
call() { # call ID TOOL ARGUMENTS
  say '{"jsonrpc":"2.0","id":'"$1"',"method":"tools/call","params":{"name":"'"$2"'","arguments":'"$3"',"_meta":{"progressToken":"t'"$1"'"}}}'
}
answer() { # answer ID: the answer to it; what comes before it is in $before
  before=
  while IFS= read -r -t 300 line <&"${SERVER[0]}"; do
    if grep -q '"id": '"$1"',' <<<"$line"; then out=$line; return; fi
    before+=$line$'\n'
  done
  out="no answer to $1"
}

call 1 judge '{}'
answer 1
like "nothing goes before initialize" '"code": -32002' "$out"
say '{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
answer 2
like "a version that both speak" '"protocolVersion": "2024-11-05"' "$out"
say '{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}'
answer 3
like "of one that nobody speaks the newest" '"protocolVersion": "2025-06-18"' "$out"
say '{"jsonrpc":"2.0","method":"notifications/initialized"}'
say '{"jsonrpc":"2.0","id":4,"method":"tools/list"}'
answer 4
for tool in new check judge evolve profile; do
  like "a tool: $tool" '"name": "'$tool'", "title": ' "$out"
done
like "with the schema of its arguments" '"required": \[ "old", "new" \], "additionalProperties": false' "$out"

say 'hello'
answer null
like "a line that is no JSON is an error" '"code": -32700' "$out"
say '[1, 2]'
answer null
like "so is what is no message" '"code": -32600' "$out"
say '{"jsonrpc":"2.0","id":5,"method":"tools/sing"}'
answer 5
like "a method that is not there" "\"code\": -32601.*there is no method 'tools/sing'" "$out"
call 6 juge '{}'
answer 6
like "a tool that is not there" "\"code\": -32602.*there is no tool 'juge'" "$out"
call 7 judge '{"old":"a.cu","knew":"b.cu"}'
answer 7
like "an argument that is not there" "has no argument 'knew'; did you mean 'new'" "$out"
call 8 judge '{"old":"a.cu","new":3}'
answer 8
like "one of another type" "'new' must be of the type string" "$out"
call 9 judge '{"old":"nothing.cu","new":"b.cu"}'
answer 9
like "a command that fails is an answer" 'there is no nothing.cu.*exit status 2" } ], "isError": true' "$out"
call 10 new '{"file":"--help"}'
answer 10
like "what looks like an option is a file" '"isError": true' "$out"

call 11 new '{"file":"'"$DATA"'/softmax.cu","folder":"softmax"}'
say '{"jsonrpc":"2.0","id":12,"method":"ping"}'
answer 12
like "who works answers a ping" '"result": \{\}' "$out"
answer 11
like "new: a problem" 'softmax/ is ready.*"isError": false' "$out"
call 13 judge '{"old":"softmax","new":"'"$DATA"'/softmax_skips.cu","cases":1}'
answer 13
like "judge: a verdict is no error" 'WRONG: softmax of .*exit status 1.*"verdict": "wrong".*"isError": false' "$out"
like "it tells what it does meanwhile" '"notifications/progress", "params": \{ "progressToken": "t13", "progress": 1,' "$before"
call 14 check '{"problem":"softmax"}'
call 15 profile '{"problem":"softmax"}'
answer 15
like "profile: what binds it" '"structuredContent": \{ "binds": "[a-z]*"' "$before$out"
case $before in *'"id": 14,'*) out=$(grep '"id": 14,' <<<"$before") ;; *) answer 14 ;; esac
like "check: beside it" '"isError": false' "$out"
call 16 evolve '{"problem":"softmax","population":4,"generations":1,"seed":2}'
answer 16
like "evolve: a run" '"isError": false' "$out"
like "its folder" "out/softmax-2" "$out$(ls out)"
call 17 evolve '{"problem":"softmax","population":50,"generations":50,"seed":3}'
say '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":17}}'
say '{"jsonrpc":"2.0","id":18,"method":"ping"}'
answer 18
unlike=$(grep -c '"id": 17,' <<<"$before")
is "what is cancelled has no answer" 0 "$unlike"
is "and nothing of it goes on" "" "$(ps -o pid= --ppid "$server")"
exec {SERVER[1]}>&-
wait "$server"
is "the end of its input is its end" 0 $?
misused "another way to serve" "say how" "$GILUA" serve
finish
