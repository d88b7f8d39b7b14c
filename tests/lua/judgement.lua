-- judgement: what a judgement says of measurements, in words, in JSON and as test cases of JUnit.
-- The measurements are made up, by a farm that runs nothing; tests/cli/judge.t judges real kernels.

package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local limit = require "gilua.study.limit"
local tap = require "tap"

local judgement, words = require "gilua.new.judgement", gi.judgewords
local NEW = {}

-- Measurements of the new kernel and the old one, and their comparison, by recording.
local function right(more)
  local m = { status = "ok", n = 100, off = 0, wrong = 0, unset = 0, max_error = 0.5,
    least_memory = 1000 }
  for key, value in pairs(more or {}) do m[key] = value end
  return m
end

local function claim(ratio, low, high)
  return { status = "ok", ratio = ratio, low = low or ratio, high = high or ratio,
    a_ns = { 1000 }, b_ns = { 1000 * ratio } }
end

local DRAM = require("gilua.base.gpu.h200").dram_bytes_per_clock

-- What is said of cases: a list of { new, old, claim }; o: virtual, checked, claimed_ns.
local function judged(cases, o)
  o = o or {}
  local specs = {}
  for i in ipairs(cases) do specs[i] = { n = i } end
  local now
  local farm = { virtual = o.virtual ~= false, device = "emu" }
  function farm:check() return { o.checked or { status = "ok" } } end
  function farm:evaluate(_, spec) now = cases[spec.n]; return { now[1], now[2] } end
  function farm:case_info() return { name = "case " .. self.at } end
  function farm:compare() return now[3] end
  farm.at = 1
  NEW.reach, NEW.kernel = function() end, "k"
  local recorded = { specs = function(_, use) return use == "train" and specs or {} end }
  local problem = { definition = { recorded = recorded }, kernel = "k", dir = "p",
    tolerance = { max_error = 1 } }
  limit.of = function() return { { ns = 900, memory_ns = 800, by = "memory" } } end
  local j, why = judgement.of_recorded(problem, farm, NEW, { claimed_ns = o.claimed_ns })
  return j, why, farm, problem
end

local SAID = { old = "old.cu", new = "new.cu" }

local function verdict(j, farm, problem)
  return table.concat(words.verdict(SAID, problem, NEW, j, farm), "\n")
end

tap.case("right and faster", function()
  local j, _, farm, problem = judged { { right(), right(), claim(2) }, { right(), right(),
    claim(4, 3, 5) }, { right { max_error = 0.75 }, right(), claim(3) } }
  tap.ok(j.right and j.faster and not j.fault, "on every case")
  tap.is(("%g %g %g"):format(j.ratio.median, j.ratio.low, j.ratio.high), "3 2 5",
    "the median, the least and the greatest ratio")
  tap.is(j.answers, 300, "answers are counted")
  tap.is(j.max_error, 0.75, "the largest error of all")
  local said = verdict(j, farm, problem)
  tap.has(said, "RIGHT AND FASTER: k of new.cu\nRight: 300 answers", "in words")
  tap.has(said, "Right: 300 answers; at full size the largest error is 0.75", "how right")
  tap.has(said, "Speed: 3.000 times faster (2.000 to 5.000), ticks of the virtual GPU", "how fast")
  tap.has(gi.json.encode(words.value(SAID, problem, NEW, j, farm)),
    '"verdict": "right and faster"', "in JSON")
  local cases = words.cases(j)
  tap.is(#cases, 5, "a test case for each row, and one for the speed")
  for _, one in ipairs(cases) do tap.ok(not one.failure and not one.skipped, one.name) end
end)

tap.case("right and not faster", function()
  local j, _, farm, problem = judged { { right(), right(), claim(1.005) } }
  tap.ok(j.right and not j.faster, "half a percent of ticks is no gain")
  tap.has(verdict(j, farm, problem), "RIGHT, NOT FASTER: k of new.cu", "in words")
  tap.is(words.sentence(SAID, NEW, j), "k of new.cu is right and not faster (1.005 times as fast)",
    "in a sentence")
  tap.has(gi.json.encode(words.value(SAID, problem, NEW, j, farm)),
    '"verdict": "right, not faster"', "in JSON")
  tap.is(words.cases(j)[3].failure, "1.005 times as fast", "the test of the speed fails")
  tap.ok(judged({ { right(), right(), claim(1.005) } }, { virtual = false }).faster,
    "of time on a GPU it is one, where all of the interval is above 1")
  local gpu, _, device = judged({ { right(), right(), claim(1.5, 1, 2) } }, { virtual = false })
  tap.ok(not gpu.faster, "and none where a part is not")
  tap.has(verdict(gpu, device, problem), "(1.000 to 2.000), time on the GPU", "in words")
  tap.has(gi.json.encode(words.value(SAID, problem, NEW, gpu, device)), '"unit": "ns"', "in JSON")
end)

tap.case("wrong", function()
  local j, _, farm, problem = judged { { right(), right(), claim(2) },
    { right { off = 0.25, wrong = 0.25, max_error = 9 }, right(), claim(2) } }
  tap.ok(not j.right and not j.faster, "of one case")
  tap.is(j.fault.why, "25 of 100 answers, largest error 9", "how wrong")
  tap.is(j.fault.spec.n, 2, "the case that shows it")
  tap.is(j.answers, 101 - 1, "wrong answers do not count")
  local said = verdict(j, farm, problem)
  tap.has(said, "WRONG: k of new.cu\nFirst fault: on data of full size (case 1): 25 of 100",
    "in words")
  tap.ok(not said:find("guessed", 1, true), "nothing was guessed")
  SAID.guesses = 1
  tap.has(verdict(j, farm, problem), "Look: data are guessed, where p/problem.lua", "or it says so")
  SAID.guesses = nil
  tap.is(words.sentence(SAID, NEW, j), "k of new.cu is wrong, first on data of full size",
    "in a sentence")
  local value = gi.json.encode(words.value(SAID, problem, NEW, j, farm))
  tap.has(value, '"verdict": "wrong"', "in JSON")
  tap.has(value, '"why": "25 of 100 answers, largest error 9"', "with the reason")
  local cases = words.cases(j)
  tap.is(cases[3].failure, "25 of 100 answers, largest error 9", "a test that fails")
  tap.is(cases[4].skipped, "it is wrong", "its speed is no test")
  tap.is(judged({ { right { off = 0.5, unset = 0.5, wrong = 0.5 }, right() } }).fault.why,
    "50 of 100 answers, some never written", "answers that are not written")
  tap.is(judged({ { right { status = "race", message = "a race\nmore" }, right() } }).fault.why,
    "a race", "a fault, in a line")
  tap.is(judged({ { right(), right(), { status = "crash", message = "it died" } } }).fault.why,
    "it died", "one that dies when it is timed")
end)

tap.case("the checked run", function()
  local j = judged({ { right(), right(), claim(2) } },
    { checked = { status = "race", message = "a race of kernel.cu line 3" } })
  tap.ok(not j.right, "comes first")
  tap.is(j.fault.data, "the recording, checked", "says where")
  tap.is(words.cases(j)[1].failure, "a race of kernel.cu line 3", "a test that fails")
  local none, why = judged({ { right(), right(), claim(2) } },
    { checked = { status = "compile_error", message = "line 1: no" } })
  tap.ok(none == nil and why == "line 1: no", "what does not compile cannot be judged")
end)

tap.case("what tells nothing", function()
  local j = judged { { right(), right { off = 1, wrong = 1 }, claim(2) } }
  tap.ok(j.rows[1].untold and not j.rows[1].ratio, "data on which the old kernel is wrong")
  tap.ok(not j.right and not j.fault, "neither right nor wrong, where nothing else was told")
  tap.has(words.row(j.rows[1], "new.cu"), "not told: the old kernel does not give", "in words")
  tap.is(words.cases(j)[2].skipped, "the old kernel does not give its own answers there",
    "a test that is skipped")
  j = judged { { right { status = "timeout", message = "too long" }, right(), claim(2) } }
  tap.ok(j.rows[1].slow and not j.fault, "a kernel that is too slow is not wrong")
  tap.has(words.row(j.rows[1], "new.cu"), "stopped: it has done ten times", "in words")
  tap.ok(not j.faster, "and not faster")
  local wrong, _, farm, problem = judged { { right { off = 1, wrong = 1 }, right(), claim(2) } }
  tap.has(verdict(wrong, farm, problem), "Speed: not known", "no speed without a comparison")
  tap.has(words.row(wrong.rows[1], "new.cu"), "WRONG: 100 of 100 answers", "a wrong row")
  tap.has(words.row(judged { { right(), right(), claim(2, 1.5, 3) } }.rows[1], "new.cu"),
    "right, 2.000x (1.500 to 3.000)", "a right row")
end)

tap.case("cases in JSON", function()
  local function said(...)
    local j, _, farm, problem = judged { { ... } }
    return gi.json.encode(words.value(SAID, problem, NEW, j, farm)):match '"cases".*'
  end
  tap.has(said(right(), right { off = 1, wrong = 1 }), '"verdict": "not told"', "no word of it")
  tap.has(said(right(), right { off = 1, wrong = 1 }), "the old kernel does not give", "and why")
  tap.has(said(right { status = "timeout", message = "too long" }, right()),
    '"verdict": "stopped"', "too slow")
  tap.has(said(right { status = "timeout", message = "too long" }, right()), '"why": "too long"',
    "and why")
  tap.has(said(right { off = 1, wrong = 1 }, right()), '"verdict": "wrong"', "wrong")
  tap.has(said(right(), right(), claim(2)), '"verdict": "right"', "right")
end)

tap.case("wrong at other sizes alone", function()
  local _, _, farm, problem = judged { { right(), right(), claim(2) } }
  local function hint(rows, full)
    local j = { right = false, fault = { data = "size 1", case = "c", why = "no" }, promises = {},
      other = { rows = rows }, rows = full or { { ratio = 1 } } }
    return verdict(j, farm, problem):find("--own-size", 1, true) ~= nil
  end
  local function of_kind(what) return { verdict = what, spec = { family = "zeros" } } end
  local at_size = { verdict = "wrong", spec = {} }
  tap.ok(hint { of_kind "right", at_size }, "a person may know that there are no others")
  tap.ok(hint { of_kind "wrong", at_size }, "wrong on all data of the small size")
  tap.ok(not hint { of_kind "right", of_kind "wrong" }, "not where some kinds of data show it")
  tap.ok(not hint { of_kind "right", { verdict = "wrong", spec = {}, is_full = true } },
    "not where it is wrong at full size")
  tap.ok(not hint({ of_kind "right", at_size }, { { ratio = 1 }, { why = "wrong" } }),
    "nor on data that nobody saw")
  tap.ok(not hint({ of_kind "right", at_size }, {}), "nor where no full size was tried")
end)

tap.case("guesses", function()
  local other = gi.otherdata
  local data = { wrong = 0, tried = 0, guesses = { { text = "n = 16", right = {} },
    { text = "k = 8", right = {} } } }
  tap.has(other.held(data), "n = 16, k = 8 are guessed, and no other size was tried", "hold a size")
  tap.has(other.promised(data), "that it is right at sizes of your program (n = 16, k = 8 are",
    "a winner promises what nobody tried")
  data.tried = 1
  tap.ok(not other.held(data) and not other.promised(data), "not where another size was tried")
  data.guesses[1].right = { "n 15", "n 65" }
  tap.is(table.concat(other.rests(data), "; "), "n = 16, a guess: right with n 15, n 65, too; "
    .. "k = 8, a guess: no other value was tried with success", "a verdict rests on each")
  data.tried, data.guesses[2].right = 0, { "k 7" }
  tap.ok(not other.held(data), "nor where each was tried with another value")
  data.wrong = 1
  tap.is(#other.rests(data), 0, "nothing rests on them where it is wrong")
  tap.ok(not other.held { wrong = 0, tried = 0, guesses = {} }, "no guess holds nothing")
end)

tap.case("which argument is which", function()
  local new = { kernel = "k", texts = { grid = "g" }, olds = { { name = "x" }, { name = "n" } },
    read = { params = { { name = "x" }, { name = "count" } } },
    found = { { old = 1, how = "by its name" }, { old = 2, how = "by its place" } } }
  function new.own_launch()
    return { grid = { 4, 1, 1 }, block = { 32, 2, 4 }, scalars = { 8, 9 } }
  end
  local function said() return table.concat(words.matches(SAID, { kernel = "o" }, new), "\n") end
  tap.is(said(), "old  o of old.cu\nnew  k of new.cu, launched as 4 blocks of 32x2x4 threads\n"
    .. "  the arguments:\n    x\n    count is n (by its place)", "by name and by place")
  new.found = { { old = 1, how = "by its place" } }
  tap.has(said(), "    x is x (by its place)\n    count is 9", "a number that the launch gives")
  new.found, new.texts = { { old = 1, how = "by its name" }, { old = 2, how = "by its name" } }, {}
  tap.has(said(), "  the same arguments, by their names", "all by their names")
  tap.has(said(), "as the old kernel, for its file has no launch", "a file without a launch")
  new.found = { { old = 2, how = "by its name" }, { old = 1, how = "by its name" } }
  tap.has(said(), "the arguments:", "in another order they are listed")
end)

tap.case("a fault once more", function()
  local kept = { data = "zeros" }
  local function said(found) return table.concat(words.fault_lines(SAID, kept, found), "\n") end
  tap.is(said { answers = {} }, "new.cu: right on zeros", "gone")
  tap.is(said { untold = "the kernel as it is fails", answers = {} },
    "new.cu: not told, the old kernel fails on zeros", "not told")
  local found = { why = "2 of 3 answers", answers = { { index = 7, got = 1.5, expected = 2 } } }
  tap.is(said(found), "new.cu: WRONG on zeros: 2 of 3 answers\n  answer 7 is 1.5, and was 2",
    "with the answers that are wrong")
  local value = gi.json.encode(words.fault_value(SAID, kept, found))
  tap.has(value, '"verdict": "wrong"', "in JSON")
  tap.has(value, '"index": 7', "with the answers")
  tap.has(gi.json.encode(words.fault_value(SAID, kept, { answers = {} })), '"verdict": "right"',
    "right in JSON")
  tap.has(gi.json.encode(words.fault_value(SAID, kept, { untold = "no", answers = {} })),
    '"verdict": "not told"', "not told in JSON")
end)

tap.case("bytes over time", function()
  local j, _, farm, problem = judged { { right(), right(), claim(2) } }
  tap.is(j.bytes, 1000 * DRAM, "what it touches, each byte once")
  tap.ok(not j.impossible and not j.few_bytes, "a time that memory allows")
  tap.has(verdict(j, farm, problem), ("writes %.2f MB, each byte once, in 1.00 us: %.2f TB/s")
    :format(j.bytes / 1e6, j.bytes / 1e6), "in words")
  tap.has(verdict(j, farm, problem), "the least time for its work is 0.90 us, by memory",
    "in words")
  j, _, farm, problem = judged({ { right(), right(), claim(2) } }, { claimed_ns = 799 })
  tap.has(j.impossible, "0.80 us are too short", "a claim below it")
  tap.has(verdict(j, farm, problem), "IMPOSSIBLE: 0.80 us are too short", "in words")
  SAID.claim = 0.799
  tap.has(verdict(j, farm, problem), "in the claimed 0.80 us", "as somebody claims it")
  SAID.claim = nil
  tap.ok(not judged({ { right(), right(), claim(2) } }, { claimed_ns = 800 }).impossible,
    "as long as memory takes is possible")
  j, _, farm, problem = judged { { right { least_memory = 490 }, right(), claim(2) } }
  tap.ok(not judged({ { right(), right { least_memory = 0 }, claim(2) } }).few_bytes,
    "no share of nothing")
  tap.near(j.few_bytes, 0.49, "less than half of the old kernel's bytes", 1e-9)
  tap.has(verdict(j, farm, problem), "Look: that is 49 % of the bytes", "in words")
end)

tap.done()
