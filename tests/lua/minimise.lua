-- minimise: gene knock-out, GECCO 2014 §4.3.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local minimise = require "gilua.search.minimise"
local tap = require "tap"

-- Scores a genome by its letters: 100, less what each needed letter gains.
local function scorer(gains, calls)
  return function(text)
    calls[#calls + 1] = text
    local score = 100
    for gene in text:gmatch("%S+") do score = score - (gains[gene] or 0) end
    return score
  end
end

tap.case("genes that gain nothing go, the rest stay in order", function()
  local calls = {}
  tap.is(minimise.knockout("a b c d e", scorer({ b = 5, e = 1 }, calls)), "b e", "the two needed")
  tap.is(table.concat(calls, "|"), "a b c d e|b c d e|c d e|b d e|b e|b",
    "one gene at a time, from the left")
end)

tap.case("a gene that harms goes too, and the gain is kept", function()
  local gains = { b = 5, c = -3 }
  tap.is(minimise.knockout("b c", scorer(gains, {})), "b", "without the harm")
end)

tap.case("what only two genes do together is kept", function()
  local function score(text)
    return text:find("x") and text:find("y") and 50 or text:find("x") and math.huge or 100
  end
  tap.is(minimise.knockout("x n y", score), "x y", "the pair")
end)

tap.case("within the noise nothing is a difference", function()
  tap.is(minimise.knockout("a b", scorer({ a = 0.5, b = 5 }, {}), 1), "b", "half of the noise")
  tap.is(minimise.knockout("a b c", scorer({ a = 1, b = 1, c = 1 }, {}), 1), "b c",
    "but small losses do not add up unseen")
  tap.is(minimise.knockout("", scorer({}, {})), "", "nothing to leave out")
  local function worth(gene) return gene == "b" and 0.1 or 0 end
  tap.is(minimise.knockout("a b", scorer({ a = 5, b = 5 }, {}), 0, worth), "a", "asked for more")
  tap.is(minimise.knockout("a b", scorer({ a = 5, b = 20 }, {}), 0, worth), "a b", "and brings it")
end)

--------------------------------------------------------------------------------------------------
-- clean: a farm whose kernels take 100 less what their genes gain. Its comparisons waver.

local problem = { tolerance = { max_error = 0.001, wrong_above = 0.1 } }

local function farm(score, waver)
  local calls = 0
  local f = { compared = 0 }
  function f.evaluate(_, genomes)
    local list = {}
    for i, text in ipairs(genomes) do
      local ticks = score(text)
      local off = ticks == math.huge and 1 or 0
      list[i] = { genome = text, status = "ok", ticks = ticks, ns = ticks, n = 10, wrong = 0,
                  off = off, unset = 0, mean_error = 0, max_error = off }
    end
    return list
  end
  function f.compare(self, a, b)
    calls, self.compared = calls + 1, self.compared + 1
    local noise = waver and 1 + waver * (calls % 2 == 0 and 1 or -1) or 1
    local ratio = score(b) / score(a) * noise
    return { status = "ok", ratio = ratio, low = ratio - (waver or 0), high = ratio }
  end
  return f
end

local function clean(score, text, options)
  local o = { problem = problem, farm = farm(score, options and options.waver), case = {},
              genome = text }
  for k, v in pairs(options or {}) do
    if k ~= "waver" then o[k] = v end
  end
  return minimise.clean(o)
end

tap.case("clean keeps what costs something to lose, and says what", function()
  local r = clean(scorer({ b = 5, e = 1 }, {}), "a b c d e", { base = "S=1" })
  tap.is(r.genome, "b e", "the two needed")
  tap.is(r.noise, 0.0, "no noise where times are exact")
  tap.is(#r.vital, 2, "they are vital")
  tap.is(r.full.ticks, 94, "the genome as evolved")
  local s = r.steps[2]
  tap.is(("%s %s %s %.4f"):format(s.gene, s.pass, s.kept, s.cost), "b single true 0.0532", "b")
end)

tap.case("a gene that harms does not hide what another gains", function()
  tap.is(clean(scorer({ h = -1, w = 0.9 }, {}), "h w").genome, "w", "h goes, w stays")
end)

tap.case("clean does not stop before nothing can go", function()
  -- q is needed only while p is there; p itself never
  local function score(text) return text:find("p") and not text:find("q") and math.huge or 100 end
  tap.is(clean(score, "q p").genome, "", "q is tried again once p is gone")
end)

tap.case("two genes of which either alone spoils the answer can go together", function()
  local function score(text)
    return (text:find("x") ~= nil) ~= (text:find("y") ~= nil) and math.huge
      or text:find("z") and 90 or 100
  end
  local r = clean(score, "x n y z")
  tap.is(r.genome, "z", "the pair is gone")
  local last = r.steps[#r.steps]
  tap.is(last.gene, "z", "and the rest is looked at once more")
  tap.is(clean(score, "x n y z", { pairs = false }).genome, "x y z", "not where pairs are off")
end)

tap.case("three standard deviations of the noise are no difference, one percent neither", function()
  local score = scorer({ a = 1, b = 5 }, {})
  local r = clean(score, "a b", { waver = 0.01 })
  tap.ok(r.noise > 0.005 and r.noise < 0.02, "the noise is measured: " .. r.noise)
  tap.is(r.genome, "b", "1 % is within it, 5 % is not")
  tap.is(clean(score, "a b", { rule = "percent", percent = 1.2 }).genome, "b", "by percent")
  tap.is(clean(score, "a b", { rule = "percent", percent = 0.5 }).genome, "a b", "a finer rule")
end)

tap.case("one comparison without spread is not taken for no noise", function()
  local f = farm(scorer({ a = 1, b = 5 }, {}))
  local wavering = { 1, 1.02, 0.98 }
  function f.compare(self, a, b) -- the steps of a GPU's clock: the first comparison shows nothing
    self.compared = self.compared + 1
    local same = a == b and wavering[1 + (self.compared - 1) % 3] or 1
    local ratio = scorer({ a = 1, b = 5 }, {})(b) / scorer({ a = 1, b = 5 }, {})(a) * same
    return { status = "ok", ratio = ratio, low = ratio, high = ratio }
  end
  local r = clean(nil, "a b", { farm = f })
  tap.ok(r.noise > 0.01 and r.noise < 0.03, "all comparisons count: " .. r.noise)
end)

tap.case("a comparison that fails is named in its step", function()
  local f = farm(scorer({ a = 5 }, {}))
  local compare = f.compare
  function f.compare(self, a, b, ...)
    if a == "" then return { status = "timeout", message = "too long" } end
    return compare(self, a, b, ...)
  end
  local r = clean(nil, "a", { farm = f })
  tap.is(r.steps[1].status, "timeout", "its status")
  tap.is(r.steps[1].kept, true, "and the gene stays")
end)

tap.case("clean refuses a genome that is wrong, and unknown rules", function()
  tap.raises(function() clean(function() return math.huge end, "a") end, "not right", "wrong")
  tap.raises(function() clean(scorer({}, {}), "a", { rule = "luck" }) end, "rule is", "luck")
end)

tap.done()
