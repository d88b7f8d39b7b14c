-- boxedprogram: a stranger's program in the box: what it may do, what it may not, and its end.

package.path = "tests/lua/?.lua;" .. package.path
local boxedprogram = require "gilua.farm.boxedprogram"
local core = require "gilua.core"
local scratch = require "scratch"
local tap = require "tap"

if boxedprogram.missing() then
  print("ok 1 - a box # SKIP " .. boxedprogram.missing())
  print "1..1"
  return
end

local function shell(folder, script, limit_s)
  return boxedprogram.run({ "sh", "-c", script }, { scratch = folder, folder = folder,
    limit_s = limit_s or 60 })
end

local function exists(path)
  local f <close> = io.open(path)
  return f ~= nil
end

tap.case("what it may and may not do", function()
  local folder, outside = tap.folder(), tap.folder()
  local out = shell(folder, ([[
    say() { if eval "$2" 2>/dev/null; then echo "$1 yes"; else echo "$1 no"; fi; }
    say write 'echo x >new'
    say programs 'ls / >/dev/null'
    say pipe 'echo x | cat >piped'
    say temporary 'mktemp >/dev/null'
    say read 'cat /etc/passwd >/dev/null'
    say outside 'echo x >%s/new'
    say home 'echo x >"$HOME/.kept"'
    say mode 'chmod 777 %s'
    say link 'ln -s /etc linked'
    say namespace 'unshare -U true'
    say group 'setsid true'
    say signal 'kill -0 %d'
    say typed 'read x']]):format(outside, outside, core.system.pid()))
  tap.is(out.text:gsub("\n", " "), "write yes programs yes pipe yes temporary yes read yes "
    .. "outside no home yes mode no link no namespace no group no signal no typed no ",
    "its own folder, programs, and nothing else")
  tap.is(out.why, nil, "it came to its end")
  tap.ok(not exists(outside .. "/new"), "nothing is outside")
  tap.ok(exists(folder .. "/.kept"), "its home is its folder")
end)

tap.case("make, whose programs begin with the ids that it has", function()
  local folder = tap.folder()
  scratch.write(folder .. "/Makefile", "all:\n\tls Makefile\n")
  local made = boxedprogram.run({ "make", "-s" }, { scratch = folder, folder = folder,
    limit_s = 60 })
  tap.is(made.text, "Makefile\n", "a program of its own, without a shell")
  local ids = shell(folder, "perl -e '$> = 65534; print $! + 0, q( ); $) = 65534; print $! + 0'")
  tap.is(ids.text, "1 1", "and with no others")
end)

tap.case("the line that says why", function()
  tap.is(boxedprogram.last_line "nvcc -c a.cu\nnvcc fatal: no\n\nmake: *** [a.o] Error 1\n",
    "nvcc fatal: no", "is not make's")
  tap.is(boxedprogram.last_line "make: *** No rule\n", "make: *** No rule", "but where it is alone")
  tap.is(boxedprogram.last_line " \n", "", "nothing")
  tap.is(boxedprogram.whole "a.cu(3): error: no x\n    x = 1;\n\n1 error detected\n",
    "\n  a.cu(3): error: no x\n      x = 1;\n  1 error detected", "all that it printed")
  tap.is(boxedprogram.whole "\27[2J\n", "\n  \\x1b[2J", "as a terminal may have it")
  tap.is(boxedprogram.whole(("e\n"):rep(103)), ("\n  e"):rep(100) .. "\n  (3 more lines)",
    "of much")
  tap.is(boxedprogram.whole " \n", "", "of nothing")
end)

tap.case("no network", function()
  -- a program's memory is limited, and a sanitizer takes more than there is of addresses
  if tap.sanitized "gilua itself as the program" then return end
  local folder = tap.folder()
  local out = boxedprogram.run({ core.system.program(), "-e",
    [[print(require "socket".bind("127.0.0.1", 0))]] },
    { scratch = folder, folder = folder, limit_s = 60 })
  tap.has(out.text, "not permitted", "not even a socket")
end)

tap.case("how it ends", function()
  local folder = tap.folder()
  tap.is(shell(folder, "exit 3").why, "sh ended with status 3", "by itself")
  tap.is(shell(folder, "exit 75").why, "sh ran out of memory: in the box a program has 4 GB, "
    .. "the virtual GPU's included", "by want of memory")
  tap.is(shell(folder, "kill -9 $$").why, "sh was ended by signal 9", "by a signal")
  local late = shell(folder, "(sleep 100 & echo $! >child); sleep 100", 0.3)
  tap.is(late.why, "sh did not end within 0.3 seconds", "when its time is over")
  local away = boxedprogram.run({ "/bin/false" }, { scratch = folder, folder = folder,
    limit_s = 60 })
  tap.is(away.why, "false ended with status 1", "called by its name, wherever it lies")
  local child = tap.read(folder .. "/child"):match "%d+"
  local begun = core.system.seconds()
  local function lives()
    local f <close> = io.open("/proc/" .. child .. "/stat")
    return f and not f:read "a":find "%) [ZX]"
  end
  while lives() and core.system.seconds() < begun + 20 do end
  tap.ok(not lives(), "and what it started ends with it")
  tap.is(boxedprogram.run({ "./nothing" }, { scratch = folder, folder = folder, limit_s = 9 })
    .status, 127, "what is not there")
  tap.is(boxedprogram.last_line(shell(folder, "echo one; printf '\\033[2Jtwo\\n\\n'").text),
    "\\x1b[2Jtwo", "the last line, fit to be shown")
end)

tap.done()
