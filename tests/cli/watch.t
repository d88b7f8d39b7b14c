#!/bin/bash
# gilua watch: the page of a run, served on this machine's loopback address and to nobody else's pages.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/page.sh"
cd "$TMP" || exit 1

# get PORT [BYTES]: sends them as they are, \r and \n written so, and prints the answer. Without bytes
# it connects, and says nothing till it is killed.
cat >get.lua <<'LUA'
local socket = require("socket.core").tcp4()
socket:settimeout(100)
assert(socket:connect("127.0.0.1", tonumber(arg[1])))
if not arg[2] then
  print "connected"
  io.stdout:flush()
  require("gilua.core").system.sleep(1000)
end
socket:send((arg[2]:gsub("\\r", "\r"):gsub("\\n", "\n")))
local all, _, part = socket:receive "*a"
io.write(all or part or "")
LUA
get() { "$GILUA" get.lua "$@"; }
silent=()
stay() { # stay PORT: a connection that is kept, and on which nothing is said
  : >stays
  "$GILUA" get.lua "$1" >stays 2>&1 &
  silent+=($!)
  disown
  wait_until 'grep -q connected stays' "${silent[-1]}"
}
status_of() { get "$port" "$1" | head -1 | cut -d' ' -f2; }
ask() { status_of "GET $1 HTTP/1.0\r\n\r\n"; } # ask PATH

serve() { # serve NAME COMMAND…: in the background, with its output in NAME.said
  local name=$1
  shift
  : >"$name.said"
  foreground "$@" >"$name.said" 2>"$name.err"
  watcher=$!
  wait_until "grep -q http '$name.said'" $watcher
  url=$(grep -oE 'http://[^ ]*' "$name.said")
  port=$(cut -d: -f3 <<<"$url" | cut -d/ -f1)
  token=$(cut -d/ -f4 <<<"$url")
}

"$GILUA" "$TOP/experiments/quickstart.lua" --side 20 --population 10 --generations 2 --out run --quiet
is "a run to look at" 0 $?
echo secret >secret.txt
ln -s ../secret.txt run/link.txt
mkfifo run/pipe.txt
echo hidden >run/.hidden.txt

serve first "$GILUA" watch run/
like "it says where the page is, by a name that nobody guesses" "^run/: http://127.0.0.1:[0-9]+/[0-9a-f]{24}/$" "$(cat first.said)"
get "$port" "GET /$token/ HTTP/1.1\r\nHost: 127.0.0.1:$port\r\n\r\n" >answer
like "the page" "^HTTP/1.0 200 OK" "$(head -1 answer)"
sed '1,/^\r$/d' answer >served.html
without() { sed -e '/id="mutants">$/,/<\/script>/d' -e '/id="mutants"><\/script>$/d' -e 's/ data-base=""//' "$1"; }
cmp -s <(without served.html) <(without run/report.html)
ok $? "of a run that has ended is the file as it is, but for its mutants"
like "which are asked for: the run" '"best": [0-9]+,.*"source": \[' "$(get "$port" "GET /$token/head HTTP/1.0\r\n\r\n")"
like "its mutants" '"words":\[".*"gain":\[1,' "$(get "$port" "GET /$token/mutants/0 HTTP/1.0\r\n\r\n")"
like "one of them" '"genes": \[ \{ "gene": ' "$(get "$port" "GET /$token/mutant/3 HTTP/1.0\r\n\r\n")"
is "none that there is not" 404 "$(ask "/$token/mutant/999")"
is "no command that there is not" 404 "$(ask "/$token/do/remove/1")"
like "a command is shown before it runs" '"command": "gilua verify run --mutant 3"' \
  "$(get "$port" "GET /$token/do/verify/3 HTTP/1.0\r\n\r\n")"
like "and may fetch nothing" "Content-Security-Policy: default-src 'none'" "$(cat answer)"
like "its files are listed" 'href="result.json"' "$(get "$port" "GET /$token/files HTTP/1.0\r\n\r\n")"
get "$port" "GET /$token/best.cu HTTP/1.0\n\n" | sed '1,/^\r$/d' >best.cu
cmp -s best.cu run/best.cu
ok $? "and can be read"
for path in / /x/ "/$token" "/$token/../secret.txt" "/$token/%2e%2e/secret.txt" "/$token/..%2fsecret.txt" \
  "/$token/link.txt" "/$token/pipe.txt" "/$token/.hidden.txt" "/$token/.lock" "/$token/archive.sqlite" \
  "/$token//etc/passwd" "/$token/which/9/head" "/$token/job/1" "/$token/problem.kept/problem.lua" "/$token/none.txt" "/$token/best.cu%00.html"; do
  is "nothing else is: ${path//$token/TOKEN}" 404 "$(ask "$path")"
done
is "nothing can be sent" 405 "$(status_of "POST /$token/ HTTP/1.0\r\n\r\n")"
is "a page of another name's asks for nothing" 403 "$(status_of "GET /$token/ HTTP/1.1\r\nHost: evil.example\r\n\r\n")"
is "what is no request" 400 "$(status_of 'hello\r\n\r\n')"
is "one without end" "" "$(get "$port" "GET /$token/$(printf '%09000d' 0)")"

cat >drip.lua <<'LUA'
-- drip.lua PORT: a request of a byte now and then; prints what becomes of it
local socket = require("socket.core").tcp4()
assert(socket:connect("127.0.0.1", tonumber(arg[1])))
socket:settimeout(0)
for _ = 1, 240 do
  socket:send "x"
  if select(2, socket:receive(1)) == "closed" then return print "closed" end
  require("gilua.core").system.sleep(0.25)
end
print "kept"
LUA
is "who asks a byte at a time is not heard for ever" closed "$("$GILUA" drip.lua "$port")"
stay "$port"
is "who is silent keeps nobody waiting" 200 "$(ask "/$token/")"

# --- files of any size, a folder that is gone for a moment, readers that do not read

truncate -s 70M run/large.csv
get "$port" "GET /$token/large.csv HTTP/1.0\r\n\r\n" >large.answer
like "a file larger than a text may be: its length" "^Content-Length: 73400320" "$(head -8 large.answer)"
is "and all of it" 73400320 "$(sed '1,/^\r$/d' large.answer | wc -c)"
rm large.answer
cp run/report.html page.html
truncate -s 70M run/report.html
is "a page of that size" 200 "$(ask "/$token/")"
mv page.html run/report.html
mv run away
is "a folder that is gone for a moment cannot be read" 503 "$(ask "/$token/")"
like "which is said, and asked again" "^Refresh: 5" "$(get "$port" "GET /$token/ HTTP/1.0\r\n\r\n")"
mv away run
is "and is there again" 200 "$(ask "/$token/")"
cat >slow.lua <<'LUA'
-- slow.lua PORT TOKEN: readers that take a large file slowly and are never silent, as many as are
-- served at once, and then others: prints how many of these have an answer.
local core = require "gilua.core"
local function ask(name)
  local socket = require("socket.core").tcp4()
  assert(socket:connect("127.0.0.1", tonumber(arg[1])))
  socket:settimeout(100)
  socket:send(("GET /%s/%s HTTP/1.0\r\n\r\n"):format(arg[2], name))
  return socket
end
local slow, honest, begun, served = {}, {}, {}, 0
for i = 1, 64 do slow[i] = ask "large.csv" end
for _, socket in ipairs(slow) do socket:receive(1) end
core.system.sleep(1.1)
for i = 1, 120 do honest[i] = ask "best.cu" end
local until_s = core.system.seconds() + 60 -- the large file takes them twice as long
while served < 120 and core.system.seconds() < until_s do
  for _, socket in ipairs(slow) do socket:settimeout(0) socket:receive(1 << 15) end
  for _, socket in ipairs(honest) do
    socket:settimeout(0)
    local line, _, part = socket:receive("*l", begun[socket])
    begun[socket] = part
    if line and line:find "^HTTP.* 200" then served = served + 1 end
  end
  core.system.sleep(0.05)
end
print(served)
LUA
is "slow readers keep no others out" 120 "$("$GILUA" slow.lua "$port" "$token")"
rm -f run/large.csv
other=$port first=$watcher
serve second "$GILUA" watch run --port "$port"
like "a port that is taken" "cannot listen on port $other of 127.0.0.1: .*choose another with --port" "$(cat second.err)"
serve second env SSH_CONNECTION="10.0.0.1 50000 10.0.0.2 2222" USER=me "$GILUA" watch run
like "over ssh it says how to look" "^  ssh -N -L $port:127.0.0.1:$port -p 2222 me@10.0.0.2$" "$(cat second.said)"
[ "$token" != "$(grep -oE '[0-9a-f]{24}' first.said)" ]
ok $? "each has its own name"
kill -INT "$watcher"
wait "$watcher"
is "Ctrl-C ends it" 130 $?
kill $first
wait $first 2>/dev/null

# --- a run that is on, and one that nobody writes any more

"$GILUA" "$TOP/experiments/quickstart.lua" --side 20 --population 10 --generations 4000 --out on --quiet &
run=$!
disown
wait_until '[ -s on/report.html ]' $run
serve third "$GILUA" watch on
body() { get "$port" "GET /$token/ HTTP/1.0\r\n\r\n" | sed '1,/^\r$/d'; }
body >live.html
like "of a run that is on it says so" '^<body data-state="on" data-served="1" ' "$(grep '^<body' live.html)"
well_formed live.html "its page"
kill -9 $run
while kill -0 $run 2>/dev/null; do sleep 0.01; done
body >dead.html
like "of one that was killed it says that" '^<body data-state="dead" ' "$(grep '^<body' dead.html)"
like "in words, and what goes on" "gilua resume on</code> goes on where it was" "$(cat dead.html)"
rm on/report.html
like "without a page it says so" "it left no page" "$(body)"
stay "$port"
start=$(now_ms)
kill -INT "$watcher"
wait "$watcher"
is "Ctrl-C while somebody is connected: its status" 130 $?
took=$(($(now_ms) - start))
[ $took -lt $SOON_MS ]
ok $? "at once" "$took ms"
is "one sentence" "gilua: interrupted" "$(cat third.err)"
kill "${silent[@]}"

# --- a folder that holds runs: a line each, and theirs below it

mkdir -p isles/ring
for name in 2 10 "a <b"; do cp -r run "isles/$name"; done
"$GILUA" -e 'local s = assert(require("gilua.core").store.open "isles/10/archive.sqlite")
  assert(s:execute "UPDATE run SET ended = NULL")'
serve fourth "$GILUA" watch isles
body >isles.html
well_formed isles.html "the page of several runs"
is "each has a line, in their order" "2/ 10/ a%20%3Cb/ " "$(grep -oE 'href="[^"]*"' isles.html | cut -d'"' -f2 | tr '\n' ' ')"
like "with what its last generation came to" '>2</a></td><td class="l" data-sort="ended">ended</td>.*<td class="l" data-sort="emu">emu</td><td class="r" data-sort="2">2</td><td class="r" data-sort="[0-9.]+">[0-9.]+×' "$(cat isles.html)"
like "and whether it is at its end" '>10</a></td><td class="l" data-sort="[^"]*">not at its end; nobody is at work' "$(cat isles.html)"
get "$port" "GET /$token/2/ HTTP/1.0\r\n\r\n" | sed '1,/^\r$/d' >below.html
cmp -s <(without below.html) <(without run/report.html)
ok $? "a run's own page lies below it"
is "whatever its name" 200 "$(ask "/$token/a%20%3Cb/")"
for path in "/$token/files" "/$token/ring/" "/$token/2" "/$token/2/archive.sqlite" "/$token/2/../../secret.txt" "/$token/none/"; do
  is "nothing else is: ${path//$token/TOKEN}" 404 "$(ask "$path")"
done
kill -INT "$watcher"
wait "$watcher"
for command in log "show 1" verify resume replay; do
  words=($command)
  fails "gilua $command of such a folder names them" "isles is no run, but holds some: (.*/)?isles/2, (.*/)?isles/10, (.*/)?isles/a <b" \
    "$GILUA" "${words[0]}" isles "${words[@]:1}"
done

mkdir empty
fails "a folder that is no run" "empty is no run" "$GILUA" watch empty
fails "none at all" "nowhere is no folder of a run" "$GILUA" watch nowhere
misused "a port that is none" "--port must be at most 65535" "$GILUA" watch run --port 70000
finish
