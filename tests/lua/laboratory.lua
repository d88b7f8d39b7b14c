-- laboratory: the part of a run's page that a reader can ask, in headless Chromium: the page that a
-- run saves, the same served by gilua watch, many mutants, a list of runs.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local browser = require "browser"
local core = require "gilua.core"
local gi = require "gilua"
local lfs = require "lfs"
local madeup = require "madeup"
local tap = require "tap"

local home <close> = gi.tempfolder.new() -- of all cases
local dir = home.path
lfs.mkdir(dir .. "/browser")
local b, why = browser.open(dir .. "/browser")
if not b then
  tap.case("the laboratory", function() tap.skip(why) end)
  tap.done()
  return
end

local function gilua(...)
  local pid = core.system.begin { argv = { "./gilua", ... }, out = dir .. "/out",
    err = dir .. "/err" }
  while true do
    local status = core.system.ended(pid)
    if status then return status end
    core.system.sleep(0.02)
  end
end

for seed = 1, 2 do
  assert(gilua("experiments/quickstart.lua", "--side", "20", "--population", "10", "--generations",
    "4", "--seed", tostring(seed), "--out", dir .. "/runs/r" .. seed, "--quiet") == 0)
end
local run = dir .. "/runs/r1"
local here = lfs.currentdir()
local file = "file://" .. (run:find "^/" and run or here .. "/" .. run) .. "/report.html"
local result = gi.json.decode(gi.textfile.read(run .. "/result.json", "it"))

-- A number of the archive.
local function counted(where)
  local archive <close> = gi.archive.open(run .. "/archive.sqlite", { read_only = true })
  return archive:row("SELECT count(*) AS n FROM evaluations WHERE run = 1 AND " .. where).n
end

-- A mutant that runs to its end and whose answers are wrong.
local function wrong_mutant()
  local archive <close> = gi.archive.open(run .. "/archive.sqlite", { read_only = true })
  return archive:row("SELECT id FROM evaluations WHERE run = 1 AND status = 'ok' AND wrong > 0").id
end

local function ready()
  return b:wait("document.getElementById('laboratory') "
    .. "&& document.getElementById('laboratory').dataset.ready == 'yes'")
end

local function passing()
  core.system.sleep(0.1)
  return tonumber((b:value "document.querySelector('#laboratory .count').textContent")
    :match "^(%d+) of")
end

local function reset()
  b:go(file)
  ready()
end

-- Sets a field as a person's choice does.
local function choose(name, value)
  b:value(("(function () { var e = document.querySelector('#laboratory [name=%s]'); e.value = %s; "
    .. "e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); })()"):format(
    name, gi.json.line(value)))
end

-- Where a mutant is on the canvas, found by pointing; nil: nowhere.
local FIND = [[(function () {
  var c = document.querySelector("#laboratory canvas");
  c.scrollIntoView({ block: "center" });
  var r = c.getBoundingClientRect(), said = document.querySelector("#laboratory .said");
  for (var y = r.top; y < r.bottom; y += 4) for (var x = r.left; x < r.right; x += 4) {
    c.dispatchEvent(new MouseEvent("mousemove", { clientX: x, clientY: y }));
    if (said.textContent.startsWith("%d, ")) return [x, y];
  }
})()]]

tap.case("a saved page has every mutant, names the winner, and needs nobody", function()
  reset()
  tap.is(b.thrown, nil, "no error")
  tap.is(passing(), result.evaluations, "as many as were evaluated")
  local best = b:value "JSON.parse(document.getElementById('mutants').textContent).head.best"
  tap.is(b:value "document.querySelector('#laboratory canvas').getAttribute('aria-label')",
    ("every mutant as a point: the winner, %.3f×, mutant %d"):format(result.speedup, best),
    "the winner")
end)

tap.case("a click shows a mutant: its source is that of best.cu", function()
  reset()
  local best = b:value "JSON.parse(document.getElementById('mutants').textContent).head.best"
  local at = b:value(FIND:format(best))
  if not tap.ok(at, "the winner is on the plot") then return end
  b:click(at[1], at[2])
  tap.ok(b:wait(("document.querySelector('.mutant').dataset.shown == '%d'"):format(best)), "shown")
  tap.is(b:value "document.querySelectorAll('.sources th').length", 4, "three sources and lines")
  tap.is(b:value "document.querySelectorAll('.mutant dt').length", result.genes, "its genes")
  tap.ok(b:value "document.querySelectorAll('.mutant dd').length > 0", "in words")
  b:press ".mutant input[type=checkbox]"
  tap.is(b:value("Array.from(document.querySelectorAll('.sources tbody tr'))"
    .. ".map(function (r) { return r.cells[1]; }).filter(function (c) { "
    .. "return c.className != 'none'; }).map(function (c) { return c.textContent; }).join('\\n')")
    .. "\n", tap.read(run .. "/best.cu"), "all lines are best.cu")
  tap.ok(b:value "document.querySelectorAll('.sources td.add').length > 0", "changes are marked")
  b:press ".family a"
  tap.ok(b:wait(("document.querySelector('.mutant').dataset.shown != '%d'"):format(best)),
    "a relative, too")
  tap.is(b:value "document.querySelectorAll('.buttons').length", 0, "no buttons without a server")
end)

tap.case("filters count what the archive counts", function()
  for _, f in ipairs {
    { { gene = "constantBasis" }, "genome LIKE '%constantBasis%'" },
    { { birth = "mutation" }, "birth = 'mutation'" },
    { { low = "30" }, "registers >= 30" },
    { { high = "29", gene = "constantBasis" },
      "registers <= 29 AND genome LIKE '%constantBasis%'" },
    { { kind = "setting" }, "genome GLOB '[a-zA-Z]*' OR genome GLOB '* [a-zA-Z]*'" },
  } do
    reset()
    for name, value in pairs(f[1]) do choose(name, value) end
    local n = passing()
    tap.is(n, counted("(" .. f[2] .. ")"), f[2])
    tap.ok(n > 0 and n < result.evaluations, "some, not all")
  end
  reset()
  b:press ".chips button"
  tap.ok(passing() < result.evaluations, "a chip leaves out what became of some")
end)

tap.case("what was chosen is there when the page is loaded again", function()
  reset()
  choose("x", "registers")
  choose("gene", "constantBasis")
  local n = passing()
  b:reload()
  ready()
  tap.is(passing(), n, "the filter")
  tap.is(b:value "document.querySelector('#laboratory [name=x]').value", "registers", "the axis")
end)

tap.case("on a phone, in the dark, on paper", function()
  b:size(390, 800, true)
  reset()
  tap.ok(b:value "document.documentElement.scrollWidth <= 390", "nothing is wider than a phone")
  local LETTER = "(function () { var c = document.querySelector('#laboratory canvas'); "
    .. "var d = c.getContext('2d').getImageData(0, 0, 90, 18).data, most = 0, least = 255; "
    .. "for (var i = 0; i < d.length; i += 4) if (d[i + 3] > 200) { most = Math.max(most, d[i]); "
    .. "least = Math.min(least, d[i]); } return [least, most]; })()"
  tap.ok(b:value(LETTER)[2] > 200, "letters are bright in the dark")
  b:value "window.dispatchEvent(new Event('beforeprint'))"
  tap.ok(b:value(LETTER)[2] < 60, "and black on paper")
  b:value "window.dispatchEvent(new Event('afterprint'))"
  b:print(dir .. "/page.pdf")
  tap.is(tap.read(dir .. "/page.pdf"):sub(1, 5), "%PDF-", "it is printed")
  b:size(1000, 800)
end)

tap.case("another saved page is laid over it", function()
  reset()
  local root = b:ask("DOM.getDocument", {}).root.nodeId
  local node = b:ask("DOM.querySelector", { nodeId = root, selector = ".over input" }).nodeId
  local other = file:sub(8):gsub("/r1/", "/r2/")
  b:ask("DOM.setFileInputFiles", { nodeId = node, files = gi.json.array { other } })
  tap.ok(b:wait("/Squares: .*; crosses: .*seed 2/"
    .. ".test(document.querySelector('.runs').textContent)"),
    "both are named")
  tap.ok(passing() > result.evaluations, "and drawn")
  local label = b:value "document.querySelector('#laboratory canvas').getAttribute('aria-label')"
  tap.is(select(2, label:gsub("the winner of", "")), 2, "with both winners")
end)

--------------------------------------------------------------------------------------------------
-- Served

local server, url

local function serve(...)
  server = core.system.begin { argv = { "./gilua", "watch", ... }, out = dir .. "/watch",
    err = dir .. "/watch.err" }
  for _ = 1, 1000 do
    local file_ = io.open(dir .. "/watch")
    local text = file_ and file_:read "a" or ""
    if file_ then file_:close() end
    url = text:match "http://%S+"
    if url then return end
    core.system.sleep(0.02)
  end
end

local function press(text)
  b:value(("Array.from(document.querySelectorAll('.mutant button')).find(function (e) { "
    .. "return e.textContent == %s; }).id = 'pressed'"):format(gi.json.line(text)))
  b:press "#pressed"
  b:value "document.getElementById('pressed').id = ''"
  if not b:wait "document.querySelector('.job button')" then return "no command" end
  b:press ".job button"
  b:wait("/Done|Ended/.test(document.querySelector('.job').textContent)", 120)
  return b:value "document.querySelector('.job').textContent"
end

tap.case("served: buttons run gilua's commands", function()
  serve(dir .. "/runs")
  b:go(url .. "r1/#mutant=" .. counted "1")
  ready()
  tap.is(passing(), result.evaluations, "every mutant")
  tap.is(b:value "document.getElementById('mutants').textContent.trim()", "",
    "the page has none of them in it")
  tap.ok(b:wait "document.querySelector('.buttons')", "there are buttons")
  tap.has(press "Profile by line", "Done.", "a profile")
  tap.ok(b:wait "document.querySelector('.sources th.part')", "beside the lines")
  local told = press "knock it out"
  tap.has(told, "--without 1", "its command")
  tap.has(told, "Without it: ", "a gene is knocked out")
  b:go(url .. "r1/#mutant=" .. wrong_mutant())
  tap.ok(b:wait "document.querySelector('.buttons')", "a wrong mutant's buttons")
  tap.has(press "Where it is wrong", " instead of ", "its answers by index")
  choose("over", "../r2/")
  tap.ok(b:wait "/seed 2/.test(document.querySelector('.runs').textContent)", "another run over it")
  tap.is(b.thrown, nil, "no error")
end)

tap.case("a list of runs is sorted by what is clicked", function()
  b:go(url)
  local function first() return b:value "document.querySelector('tbody a').textContent" end
  b:value "document.querySelectorAll('th button')[0].click()"
  tap.is(first(), "r1", "by name")
  b:value "document.querySelectorAll('th button')[0].click()"
  tap.is(first(), "r2", "the other way round")
  b:value "document.querySelectorAll('th button')[5].click()"
  local gains = b:value("Array.from(document.querySelectorAll('tbody tr')).map(function (r) { "
    .. "return +r.cells[5].dataset.sort; })")
  tap.ok(gains[1] <= gains[2], "by gain")
  core.system.stop(server)
end)

tap.case("who only looks cannot run anything", function()
  serve(run, "--look")
  b:go(url)
  ready()
  tap.is(b:value(("fetch('%sdo/verify/1', { method: 'POST' }).then(function (a) { "
    .. "return a.status; })"):format(url)), 405, "nothing can be sent")
  tap.is(b:value(("fetch('%sdo/verify/1').then(function (a) { return a.status; })"):format(url)),
    404, "nor asked for")
  core.system.stop(server)
end)

tap.case("of 100 000 mutants the first are there at once", function()
  lfs.mkdir(dir .. "/big")
  madeup.archive(dir .. "/big/archive.sqlite", 100000)
  serve(dir .. "/big")
  local began = core.system.seconds()
  b:ask("Page.navigate", { url = url .. "laboratory" })
  b:wait("(document.getElementById('laboratory') || { dataset: {} }).dataset.drawn > 0", 60)
  local took = core.system.seconds() - began
  tap.note(("the first picture after %.2f s"):format(took))
  tap.ok(took < 10, "the first picture: 2 s on a machine that is not busy")
  tap.ok(ready(), "and all of them later")
  tap.note(("all after %.2f s"):format(core.system.seconds() - began))
  tap.has(b:value "document.querySelector('#laboratory .count').textContent",
    "100\u{202f}000 of 100\u{202f}000 mutants", "every one")
  core.system.stop(server)
end)

b:close()
tap.done()
