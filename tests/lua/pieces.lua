-- pieces: what goes wrong in a scheme's own functions is one sentence, and nobody misses an event.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local evolve = require "gilua.search.evolve"
local fail = require "gilua.base.fail"
local fake = require "fake"
local fitness = require "gilua.search.fitness"
local genome = require "gilua.search.genome"
local tap = require "tap"

-- What evolution says where a scheme has these functions.
local function says(changes)
  local scheme = {
    problem = fake.problem(), farm = fake.farm(), rng = fake.rng(1), new_case = fake.new_case,
    population = 10, generations = 3,
  }
  for name, value in pairs(changes) do scheme[name] = value end
  local ran, why = pcall(evolve.run, scheme)
  return ran and "it ran" or tostring(why)
end

-- A place in this file, as a pattern.
local HERE = "tests/lua/pieces%.lua:%d+"

local function like(got, pattern, what)
  local whole = "^" .. pattern:gsub("HERE", (HERE:gsub("%%", "%%%%"))) .. "$"
  if not tap.ok(got:find(whole) and not got:find "\n", what) then
    tap.note("no " .. whole .. " in " .. got)
  end
end

tap.case("what a function returns is looked at", function()
  local function returns(name, value) return says { [name] = function() return value end } end
  like(returns("select", nil),
    "generation 2: select %(HERE%) returned nil, not a list of individuals", "nil for parents")
  like(returns("select", { "x" }), "generation 2: select %(HERE%) returned a list whose element 1 "
    .. "is 'x', not a list of individuals", "a list of something else")
  like(returns("select", { {} }), "generation 2: select %(HERE%) returned a list whose element 1 "
    .. "is a table without a genome, not .*", "of tables that are no individuals")
  like(returns("select", { nil, {} }), "generation 2: select %(HERE%) returned a list whose "
    .. "element 1 is nil, not .*", "a list with a gap")
  like(returns("select", { first = 1 }),
    "generation 2: select %(HERE%) returned a table with the key 'first', not .*", "no list")
  like(returns("cross", {}), "generation 2: cross %(HERE%) returned a table, not a genome or nil, "
    .. "for genome '.+' and genome '.+'", "a table for a child")
  like(returns("mutate", 7), "generation 2: mutate %(HERE%) returned 7, not a genome, for genome "
    .. "'.+'", "a number for a mutant")
  like(returns("init", {}), "the first population: init %(HERE%) returned an empty list, not a "
    .. "list of genomes", "nobody to begin with")
  like(returns("init", { "FAST", 3 }), "the first population: init %(HERE%) returned a list whose "
    .. "element 2 is 3, not a list of genomes", "a number among them")
  like(returns("draw", nil), "the first population: draw %(HERE%) returned nil, not a gene", "draw")
  like(returns("new_case", nil),
    "generation 1: new_case %(HERE%) returned nil, not a case, as a table", "no case")
  like(returns("hold", false), "the final comparison: hold %(HERE%) returned false, not a genome, "
    .. "for genome '.+'", "hold")
  like(returns("minimise", nil), "the final comparison: minimise %(HERE%) returned nil, not a "
    .. "genome, for genome '.+'", "minimise")
end)

tap.case("observers are looked at before anything runs", function()
  like(says { observers = { {}, 7 } },
    "HERE: gilua.evolve.run: observer 2 must be a table of functions, not 7", "a number")
  like(says { observers = { { on_result = "x" } } },
    "HERE: gilua.evolve.run: on_result of observer 1 must be a function, not 'x'", "a text")
end)

tap.case("fitness is a number", function()
  for _, bad in ipairs { { "a string", "fast", "'fast'" }, { "a table", {}, "a table" },
      { "NaN", 0 / 0, "nan" } } do
    like(says { fitness = function() return bad[2] end }, "generation 1: fitness %(HERE%) returned "
      .. bad[3] .. ", not a number, for the unmodified kernel", bad[1])
  end
  like(says { fitness = function(own) return own.genome ~= "FAST" and own.ticks or nil end },
    "generation %d: fitness %(HERE%) returned nil, not a number, for genome 'FAST'", "nil")
end)

tap.case("an error is told with its line, the function, the generation and the genome", function()
  like(says { mutate = function() error "mine" end },
    "generation 2: mutate %(HERE%) failed for genome '.+': HERE: mine", "raised")
  like(says { cross = function(a, b) return a + b.x end },
    "generation 2: cross %(HERE%) failed for genome '.+' and genome '.+': HERE: attempt to .*",
    "of Lua")
  local function gene() return "a" end
  like(says { mutate = function() return (genome.mutate(nil, gene)) end },
    "generation 2: mutate %(HERE%) failed for genome '.+': HERE: attempt to concatenate .*",
    "in a function of gilua's, at the line that called it")
  like(says { mutate = function() return genome.mutate(nil, gene) end },
    "generation 2: mutate %(HERE%) failed for genome '.+': attempt to concatenate .*",
    "where that line is left already, without")
  like(says { acceptable = function(own) return own.off.by end },
    "generation 1: acceptable %(HERE%) failed for the unmodified kernel: HERE: attempt to index .*",
    "acceptable")
  like(says { breed = { evolve.mutants, function() error "mine" end } },
    "generation 2: step 2 of breed %(HERE%) failed: HERE: mine", "a step of breeding")
  like(says { breed = { function(_, _, children) children[1] = "FAST" end } },
    "generation 2: step 1 of breed %(HERE%) left a list whose element 1 is 'FAST', not children",
    "one that leaves what is no child")
  like(says { mutate = function() error {} end },
    "generation 2: mutate %(HERE%) failed for genome '.+': it raised a table", "a table as error")
  like(says { mutate = function() error(setmetatable({}, { __tostring = function()
    return "seven"
  end })) end }, "seven", "one that prints itself is a sentence")
  like(says { mutate = function() fail "no more" end }, "no more", "and so is a refusal")
end)

tap.case("an error of gilua's own keeps its trace", function()
  local text = says { fitness = fitness.error_first, acceptable = function() return true end,
    farm = setmetatable({ case_info = function() return {} end, check_mode = "every",
      evaluate = function(_, genomes, _, options)
        local list = {}
        for i in ipairs(genomes) do
          list[i] = { status = "ok", unset = 0, off = 0, penalty = 1, ticks = "?" }
          options.on_result(i, list[i], i, #genomes)
        end
        return list
      end }, { __index = fake.farm() }) }
  tap.has(text, "search/fitness.lua:", "its line")
  tap.has(text, "stack traceback:", "and how it came there")
  local _, times = text:gsub("stack traceback:", "")
  tap.is(times, 1, "once")
end)

tap.case("who fails does not keep an event from the others", function()
  local told = {}
  local function observer(name, event)
    local o = {}
    for _, e in ipairs { "on_start", "on_result", "on_generation", "on_end" } do
      o[e] = function()
        if e == event then error(name .. " is out of order") end
        told[name .. " " .. e] = true
      end
    end
    return o
  end
  local text = says { observers = { observer("first", "on_generation"), observer("second"),
    observer("third", "on_generation") } }
  like(text, "generation 1: on_generation of observer 1 %(HERE%) failed: HERE: first is out of "
    .. "order", "the first failure is told")
  tap.is(told["second on_generation"], true, "the second hears of the generation")
  tap.is(told["second on_end"] and told["first on_end"], true, "and all of the end")
  text = says { observers = { { on_result = function(_, of) error(of.nothing) end } } }
  like(text, "generation 1: on_result of observer 1 %(HERE%) failed for the unmodified kernel: "
    .. "it raised nil", "a result is named")
  local ended = false
  text = says { observers = { { on_end = function() error "mine" end },
    { on_end = function(run) ended = run.stopped == nil end } } }
  like(text, "the final comparison: on_end of observer 1 %(HERE%) failed: HERE: mine", "at the end")
  tap.is(ended, true, "the others keep the results of a run that came to its end")
end)

tap.case("what is no function is refused before anything runs", function()
  like(says { select = "tournament" },
    "HERE: gilua.evolve.run: select must be a function, not 'tournament'", "a name")
  like(says { population = "many" },
    "HERE: gilua.evolve.run: population must be a whole number from 1 on, not 'many'", "a word")
  like(says { generations = 0 },
    "HERE: gilua.evolve.run: generations must be a whole number from 1 on, not 0", "none")
  like(says { breed = { evolve.mutants, "newcomers" } },
    "HERE: gilua.evolve.run: breed%[2%] is no function", "a step")
  like(says { check = "never" }, 'HERE: gilua.evolve.run: check must be "every", "parents" or '
    .. '"winners", not \'never\'', "a choice")
end)

tap.done()
