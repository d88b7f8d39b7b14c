-- cli: command lines of experiments, and the text of their errors.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local cli = require "gilua.base.cli"
local tap = require "tap"

local SPEC = {
  doc = "Evolve a kernel.",
  { name = "population", default = 60, min = 2, doc = "individuals in a generation" },
  { name = "rate", default = 0.5, max = 1, doc = "of something" },
  { name = "image", default = "brain", doc = "what to work on",
    check = function(v) return v ~= "cat", "must be no cat" end },
  { name = "side", type = "integer", doc = "side of the ball" },
  { name = "trace", default = false, doc = "say more" },
}

local function parse(line, host)
  local argv = {}
  for word in line:gmatch("%S+") do argv[#argv + 1] = word end
  return cli.parse(SPEC, argv, host)
end

tap.case("values, defaults and their types", function()
  local o = assert(parse "--population 8 --rate=0.25 --trace --image=a=b --seed -3")
  tap.is(o.population, 8, "a whole number")
  tap.is(o.rate, 0.25, "a number after =")
  tap.is(o.trace, true, "a flag")
  tap.is(o.image, "a=b", "a text holding =")
  tap.is(o.seed, -3, "a standard option, negative")
  o = assert(parse "")
  tap.is(o.population, 60, "a default")
  tap.is(o.side, nil, "none")
  tap.is(o.device, "emu", "a standard default")
  tap.is(o.trace, false, "a flag not given")
end)

tap.case("what may be given again is a list", function()
  local spec = { { name = "set", type = "string", many = true } }
  tap.is(table.concat(assert(cli.parse(spec, { "--set", "a=1", "--set=b=2" })).set, " "), "a=1 b=2",
    "in order")
  tap.is(assert(cli.parse(spec, {})).set, nil, "nil where it was not given")
  tap.is(#assert(cli.parse(spec, { "--set", "c" })).set, 1, "each command line has its own")
end)

tap.case("the host's values are defaults", function()
  local host = { device = "cuda:1", seed = 9, quiet = true }
  local o = assert(parse("--seed 4", host))
  tap.is(o.device, "cuda:1", "given before the script's name")
  tap.is(o.quiet, true, "a flag too")
  tap.is(o.seed, 4, "what comes after the name wins")
  local _, why = parse("", { jobs = 0 })
  tap.is(why, "--jobs must be at least 1, not '0'", "and are held to the same limits")
end)

tap.case("errors are one sentence", function()
  local function why(line) return select(2, parse(line)) end
  tap.is(why "--poplation 3",
    "unknown option --poplation; did you mean --population? (--help lists them)", "near")
  tap.is(why "--colour 3", "unknown option --colour (--help lists them)", "far")
  tap.is(why "--population", "--population needs a value", "no value")
  tap.is(why "--population many", "--population must be a whole number, not 'many'", "text")
  tap.is(why "--population 2.5", "--population must be a whole number, not '2.5'", "a fraction")
  tap.is(why "--population 1", "--population must be at least 2, not '1'", "too small")
  tap.is(why "--rate 1.5", "--rate must be at most 1, not '1.5'", "too large")
  tap.is(why "--image cat", "--image must be no cat, not 'cat'", "the script's own check")
  tap.is(why "--trace=yes", "--trace takes no value", "a flag with a value")
  tap.is(why "brain", "unexpected argument 'brain' (--help lists the options)", "no option")
end)

tap.case("a list with commas may come in parts", function()
  local spec = { { name = "define", type = "string", listed = true } }
  local given = { "--define", "A=1,B", "--define=C" }
  tap.is(cli.parse(spec, given).define, "A=1,B,C", "one after the other")
  tap.is(cli.parse(spec, {}).define, nil, "none")
end)

tap.case("the last of the words may be many", function()
  local spec = { positional = { { name = "into" }, { name = "runs", many = true } } }
  local o = cli.parse(spec, { "a", "b", "--seed", "7", "c" })
  tap.is(o.into .. " " .. table.concat(o.runs, " "), "a b c", "all of them")
  tap.is(select(2, cli.parse(spec, { "a" })), "RUNS is missing: see --help", "one at least")
  tap.has(cli.help(spec, "merge"), "usage: gilua merge INTO RUNS... [options]", "help says so")
end)

tap.case("help lists the script's options and the standard ones", function()
  local text = cli.help(SPEC, "experiments/x.lua")
  tap.has(text, "usage: gilua experiments/x.lua [options]\nEvolve a kernel.", "the head")
  tap.has(text, "--population N         individuals in a generation (60)", "an option")
  tap.has(text, "--trace                say more", "a flag")
  tap.has(text, "--out TEXT             folder for the results", "a standard one")
end)

-- The interpreter that runs this file, and how it ends with a script.
local function run(script_text, args)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write('package.path = "lua/?.lua;lua/?/init.lua;" .. package.path\n', script_text)
  file:close()
  local program, i = arg[-1] or "lua5.4", -2
  while arg[i] do program, i = arg[i], i - 1 end
  local pipe = assert(io.popen(("'%s' '%s' %s 2>&1"):format(program, path, args)))
  local text = pipe:read("a")
  local _, _, code = pipe:close()
  os.remove(path)
  return text, code
end

tap.case("a script ends by itself on a mistake and on --help", function()
  local script = 'local o = require("gilua").cli { { name = "size", default = 1 } } print(o.size)'
  local text = run(script, "--size 3")
  tap.is(text, "3\n", "the options arrive")
  local code
  text, code = run(script, "--sise 3")
  tap.has(text, "unknown option --sise; did you mean --size? (--help lists them)\n", "a mistake")
  tap.has(text, "gilua: ", "says who speaks")
  tap.is(code, 2, "exit 2")
  text, code = run(script, "--help")
  tap.has(text, "--size N", "help")
  tap.is(code, 0, "exit 0")
end)

tap.done()
