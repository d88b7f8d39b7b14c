-- streams: what launches of a recording depend on, the plan made of it, a mutant that breaks it,
-- and the gene: how it is found, what it is worth on the virtual GPU, what people are told.

package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local pairs_tape = require "pairs_tape"
local scratch = require "scratch"
local tap = require "tap"

local N = 300

local function recorded(steps)
  local path = tap.folder() .. "/a.rec"
  scratch.write(path, pairs_tape.recording(N, steps))
  return gi.recording.open(path)
end

-- "1 2 1<2": streams of launches, and what each of them waits for.
local function text_of(plan)
  local words = {}
  for i, stream in ipairs(plan.stream) do
    words[i] = tostring(stream)
    for other = 1, gi.streams.MOST do
      local before = plan.after[i][other]
      if before then words[i] = words[i] .. "<" .. before end
    end
  end
  return table.concat(words, " ")
end

-- The plan of a recording, once its kernels are seen to do what the tape says.
local function plan_of(steps, n)
  local r <close> = recorded(steps)
  local now = assert(r:replay { touched = true })
  for i, read in ipairs(now.reads) do tap.ok(read.same, ("piece %d is what it was"):format(i)) end
  local plan = gi.streams.plan(r, n)
  tap.is(gi.streams.broken(plan, now.touched), nil, "no launch touches more than was thought")
  return text_of(plan), plan, now, gi.streams.any(r)
end

tap.case("what launches depend on", function()
  local function is(steps, n, want, what) tap.is(plan_of(steps, n), want, what) end
  is({ "twice y x", "thrice z x", "read y", "read z" }, 2, "1 2", "two may read the same")
  is({ "twice y x", "thrice z x" }, 1, "1 1", "one stream is one stream")
  is({ "twice y x", "thrice z y", "read z" }, 2, "1 1", "one reads what the other wrote")
  is({ "twice y x", "thrice y x", "read y" }, 2, "1 1", "both write the same")
  is({ "twice y x", "thrice x z", "read y" }, 2, "1 1", "one writes what the other read")
  is({ "twice y x", "thrice z x", "sum w y z", "read w" }, 2, "1 2 1<2", "one needs both")
  is({ "twice y x", "thrice z x", "twice w x", "thrice v x", "read w" }, 4, "1 2 3 4", "four")
  is({ "twice y x", "thrice z x", "twice w x", "thrice v x" }, 2, "1 2 1 2", "of two streams")
  is({ "twice y x", "thrice z x", "sum w y z", "twice v z" }, 4, "1 2 1<2 2", "a chain stays")
  is({ "counted y x", "counted z x" }, 2, "1 1", "both write a variable of the module")
  is({ "counted y x", "thrice z x" }, 2, "1 2", "one of them does")
  local _, _, now = plan_of({ "counted y x" }, 2)
  local words = {}
  for i, address in ipairs(now.touched[1].writes) do words[i] = ("%x"):format(address) end
  table.sort(words)
  tap.is(table.concat(words, " "), ("0 %x"):format(pairs_tape.AT.y), "a variable is any variable")
end)

tap.case("what stands between launches", function()
  local function is(steps, n, want, what) tap.is(plan_of(steps, n), want, what) end
  is({ "twice y x", "read y", "thrice z x" }, 2, "1 1", "what the host takes parts launches")
  is({ "twice y x", "copy w x", "thrice z x" }, 2, "1 1", "so does a copy")
  is({ "twice y x", "thrice z x", "read y", "twice w x", "thrice v x" }, 2, "1 2 1<2 2<1",
    "those behind it wait for all before it")
  is(pairs_tape.ROUNDS, 2, "1 2 1<2 1 2<3 1<5", "rounds")
end)

tap.case("what may be touched", function()
  local r <close> = recorded { "sometimes y x z", "twice w x", "thrice z x" }
  tap.is(text_of(gi.streams.plan(r, 2)), "1 2 1", "what is never written with these data may be")
  local now = assert(r:replay { touched = true })
  tap.is(#now.touched[1].writes, 1, "which the virtual GPU does not see")
  r.events[#r.events][9] = r.events[#r.events][9]:gsub("^................", "0800000000000000")
  tap.is(text_of(gi.streams.plan(r, 2)), "1 2 1<2",
    "a launch whose address is in no memory waits for all")
  local many <close> = recorded { "twice y x", "through z x", "twice w x", "thrice v x" }
  tap.ok(gi.ptx(many:module(0)):access(many.events[14][3]).unknown, "a kernel follows pointers")
  tap.is(text_of(gi.streams.plan(many, 4)), "1 1 1 2<2",
    "one that follows a pointer waits, and is waited for")
  r.events[#r.events - 1][7] = "1"
  tap.is(text_of(gi.streams.plan(r, 2)), "1 1 1", "so does one whose blocks meet")
end)

tap.case("time on the virtual GPU", function()
  local _, plan, now, any = plan_of({ "twice y x", "thrice z x", "read y" }, 2)
  tap.ok(any, "there are launches that need not wait")
  local r <close> = recorded { "twice y x", "thrice z x", "read y" }
  local turned = assert(r:replay { turns = plan.turns })
  local longest = math.max(now.kernels[1].ticks, now.kernels[2].ticks)
  tap.is(turned.ticks, longest, "two that fit together take as long as the longer one")
  tap.near(turned.ns, now.ns * longest / now.ticks, "and so in time", 1e-6)
  tap.ok(turned.energy_j < now.energy_j, "the GPU idles the less")
  tap.is(turned.kernels[1].ticks, now.kernels[1].ticks, "each takes what it takes")
  tap.ok(turned.reads[1].same, "answers are the same")
  tap.has(scratch.sentence(r.replay, r, { turns = plan.turns:sub(1, -5) }), "5 numbers",
    "broken turns are told")
  local none, why = r:replay { turns = plan.turns:sub(1, 20) }
  tap.is(none, nil, "and those of another recording")
  tap.has(why, "turns of 1 launches for 2", "in a sentence")
  none, why = r:replay { turns = string.pack(("I4"):rep(10), 0, 0, 2, 0, 0, 1, 0, 0, 0, 0) }
  tap.is(none, nil, "and those that wait for what comes later")
  tap.has(why, "launch 1 waits for launch 2", "which is said")
end)

local function made(steps)
  local folder = tap.folder()
  scratch.write(folder .. "/app.cu", pairs_tape.SOURCE)
  scratch.write(folder .. "/a.rec", pairs_tape.recording(N, steps))
  scratch.write(folder .. "/b.rec", pairs_tape.recording(100, steps))
  gi.recordedproblem.write({ folder .. "/a.rec", folder .. "/b.rec" }, folder .. "/p",
    { source = folder .. "/app.cu", quiet = true })
  return gi.problem(folder .. "/p")
end

local function with_streams(problem, was, now)
  local source, n = problem.source:gsub(was, now)
  assert(n == 1)
  return { source = source, name = now, params = { streams = "2" } }
end

tap.case("the gene", function()
  local problem = made(pairs_tape.ROUNDS)
  tap.is(table.concat(problem.parameters[1].values, " "), "1 2 4", "there is one")
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  local base, two, four = table.unpack(farm:evaluate({ "", "streams=2", "streams=4" },
    gi.own.case(problem, 1)))
  tap.ok(gi.fitness.right(two) and gi.fitness.right(four), "mutants are right")
  tap.ok(two.ticks < 0.7 * base.ticks, ("and faster: %g of %g"):format(two.ticks, base.ticks))
  tap.is(four.ticks, two.ticks, "no more of them are of use here")
  tap.has(gi.explain.genome(problem, "streams=2")[1].text,
    "need not wait for each other: twice on stream 1; thrice on stream 2, waiting for sum; sum on "
    .. "stream 1, waiting for thrice", "in words")
end)

tap.case("a mutant that touches something else", function()
  local problem = made { "twice y x", "thrice z x", "sum w y z", "read w" }
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  -- It reads of the array that the kernel beside it writes, and finds the same either way.
  local reads = with_streams(problem, "z%[i%] = x%[i%] %* 3.0f", "z[i] = x[i] * 3.0f + 0 * "
    .. "((const float *)((unsigned long long)z - (1ull << 40)))[0]")
  local writes = with_streams(problem, "y%[i%] = x%[i%] %* 2.0f;", "{ y[i] = x[i] * 2.0f; "
    .. "((volatile float *)((unsigned long long)y + (1ull << 40)))[0] = 3; }")
  local input = with_streams(problem, "if %(i < n%) y%[i%] = x%[i%] %* 2.0f;",
    "if (i < n) { y[i] = x[i] * 2.0f; if (n < 0) const_cast<float *>(x)[i] = 1; }")
  local alone = { source = reads.source, name = "alone", params = {} }
  local case = gi.own.case(problem, 1)
  local list = farm:evaluate({ "", alone, reads, writes, input }, case)
  tap.is(list[2].status, "ok", "is its own affair on one stream")
  tap.is(list[3].status, "race", "on two what it reads is refused")
  tap.has(list[3].message, "launch 2 (_Z6thricePfPKfi) depends on launch 1 (_Z5twicePfPKfi)",
    "and why is said")
  tap.is(list[4].status, "race", "and what it writes")
  tap.is(list[5].status, "race", "and what it would write with other data")
  local checked = farm:check { "streams=2", reads, alone }
  tap.is(checked[1].status .. " " .. checked[2].status .. " " .. checked[3].status, "ok race ok",
    "in the checked run, too")
end)

tap.case("no gene where every launch waits", function()
  local problem = made { "twice y x", "thrice z y", "read z" }
  tap.is(#problem.parameters, 0, "there is nothing to set")
end)

tap.case("what problem.lua may say", function()
  local problem = made(pairs_tape.ROUNDS)
  local path = problem.dir .. "/problem.lua"
  local text = gi.textfile.read(path, "it")
  local function refused(values)
    scratch.write(path, (text:gsub("streams = {[^}]*}", "streams = " .. values)))
    return scratch.sentence(gi.problem, problem.dir)
  end
  tap.has(refused "{ 1, 8 }", "streams 2 must be a whole number from 1 to 4, not 8", "how many")
  tap.has(refused '{ "one" }', "streams 1 must be a whole number", "numbers")
end)

tap.done()
