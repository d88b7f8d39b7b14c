-- Messages between machines: core.net against a NATS server of this test's own.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local core = require "gilua.core"
local natsserver = require "natsserver"

natsserver.or_skip()

local function connected(server, o)
  o = o or {}
  o.url = o.url or server.url
  return assert(core.net.open(o))
end

-- The next n messages, in their order.
local function messages(net, n)
  local list = {}
  while #list < n do
    local subject, bytes = net:take()
    if subject then
      list[#list + 1] = { subject, bytes }
    elseif not net:wait(60) then
      return list
    end
  end
  return list
end

-- What was asked for before is in force once this comes back.
local function settled(net)
  assert(net:subscribe "echo" and net:publish("echo", ""))
  messages(net, 1)
end

tap.case("what is published comes to who has asked for it, whole and in order", function()
  local server <close> = natsserver.open()
  local a <close> = connected(server)
  local b <close> = connected(server)
  assert(b:subscribe "gilua.*.work")
  settled(b)
  local large = ("x\0y"):rep(200000)
  a:publish("gilua.one.work", "first")
  a:publish("gilua.other", "not asked for")
  a:publish("gilua.two.work", large)
  a:publish("gilua.one.work", "")
  local got = messages(b, 3)
  tap.is(got[1][1] .. got[1][2] .. got[2][1] .. got[3][2], "gilua.one.workfirstgilua.two.work",
    "subjects and order")
  tap.is(got[2][2] == large, true, "600 kB with zeros")
  tap.is(b:wait(0), false, "nothing else")
  tap.is(select("#", b:take()), 0, "nor is there anything to take")
  local ok, why, code = a:publish("gilua.one.work", ("x"):rep(a:most_bytes() + 1))
  tap.is(tostring(ok) .. code, "nilusage", "more than the server takes is refused")
  tap.has(why, "the server takes 1048576", "which says how much it does")
end)

tap.case("many messages that nobody takes for a while are all there", function()
  local server <close> = natsserver.open()
  local a <close> = connected(server)
  local b <close> = connected(server)
  assert(b:subscribe "n")
  settled(b)
  for i = 1, 20000 do a:publish("n", tostring(i)) end -- twice what the pipe holds
  local got = messages(b, 20000)
  local wrong = 0
  for i, m in ipairs(got) do wrong = wrong + (m[2] == tostring(i) and 0 or 1) end
  tap.is(#got .. " " .. wrong, "20000 0", "in order")
  for i = 1, 20000 do a:publish("n", tostring(i)) end
  assert(b:wait(60))
  b:close() -- with a thread at the full pipe
end)

tap.case("a server is killed and comes back: who has asked for a subject still gets it", function()
  local server <close> = natsserver.open()
  local a <close> = connected(server)
  local b <close> = connected(server)
  assert(b:subscribe "s")
  settled(b)
  server:kill()
  natsserver.waits_for("cut", function() return a:state() == "cut" and b:state() == "cut" end)
  assert(a:publish("s", "published while it was away"))
  server:start()
  natsserver.waits_for("connection", function() return b:state() == "connected" end)
  natsserver.waits_for("connection", function() return a:state() == "connected" end)
  local got
  natsserver.waits_for("message", function()
    a:publish("s", "again")
    got = b:wait(0.1) and select(2, b:take())
    return got
  end)
  tap.is(got == "again" or got == "published while it was away", true, "messages flow")
end)

tap.case("who is refused is told why", function()
  local server <close> = natsserver.open "authorization { user: gi, password: s3cret, timeout: 60 }"
  local function refusal(o)
    o.url = o.url or server.url
    local net, why, code = core.net.open(o)
    if net then return "let in" end
    return code .. ": " .. why
  end
  tap.has(refusal {}, "io: the NATS server at " .. server.url .. " does not know this user (none)",
    "no name")
  tap.has(refusal { user = "gi", password = "wrong" }, "does not know this user and password",
    "a wrong password")
  tap.is(refusal { user = "gi", password = "s3cret" }, "let in", "the right one")
  tap.has(refusal { url = "nats://127.0.0.1:1" }, "io: no NATS server answers at", "nobody there")
  for _, url in ipairs { "http://x", "nats://", "nats:/x:1", "nats://:4222", "nats://x:",
    "nats://x:0", "nats://x:65536", "nats://x:4222x", "nats://x:-1", "nats://x,nats://y",
    "nats://[::1", "x:4222" } do
    tap.has(refusal { url = url }, ("usage: '%s' is no address"):format(url), url)
  end
  for _, url in ipairs { "nats://127.0.0.1:1/", "nats://[::1]:1", "tls://[::1]:1" } do
    tap.has(refusal { url = url }, "io: no NATS server answers at", url)
  end
  tap.has(refusal { url = server.url:gsub("nats", "tls"), user = "gi", password = "s3cret" },
    "io: the NATS server at tls://127.0.0.1:" .. server.port .. " has no encryption", "an open one")
  local other = assert(require "socket.core".tcp())
  assert(other:bind("127.0.0.1", 0) and other:listen())
  local _, port = other:getsockname()
  tap.has(refusal { url = "nats://127.0.0.1:" .. port },
    ("io: what listens at nats://127.0.0.1:%d does not answer as a NATS server"):format(port),
    "another's")
  other:close()
  tap.has(refusal { ca = "/nowhere/ca.pem" }, "usage: the certificates of /nowhere/ca.pem cannot",
    "no such file")
  tap.has(refusal { key = "/nowhere/key.pem" }, "one is missing", "half a certificate")
end)

tap.case("a token, and a connection that is encrypted", function()
  local dir = tap.folder()
  local made = os.execute(("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
    .. "-nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 "
    .. "-keyout %s/key.pem -out %s/crt.pem 2>/dev/null"):format(dir, dir))
  if not made then return tap.note "no openssl: no certificate, no encryption" end
  local server <close> = natsserver.open(("authorization { token: t0ken, timeout: 60 }\n"
    .. "tls { cert_file: '%s/crt.pem', key_file: '%s/key.pem', timeout: 60 }"):format(dir, dir))
  local net, why = core.net.open { url = server.url, token = "t0ken" }
  tap.is(net, nil, "a certificate that nobody vouches for")
  tap.has(why, "the NATS server at " .. server.url .. " cannot be used", "is refused")
  local a <close> = connected(server, { token = "t0ken", ca = dir .. "/crt.pem" })
  assert(a:subscribe "x")
  a:publish("x", "sealed")
  tap.is(messages(a, 1)[1][2], "sealed", "with the site's certificate")
  net, why = core.net.open { url = server.url, token = "wrong", ca = dir .. "/crt.pem" }
  tap.is(net, nil, "a wrong token")
  tap.has(why, "does not know this token", "is refused")
end)

tap.done()
