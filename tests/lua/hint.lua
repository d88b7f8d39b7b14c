-- hint: what was meant by a name that nothing has.
package.path = "tests/lua/?.lua;" .. package.path
local gi = require "gilua"
local hint = require "gilua.base.hint"
local nearest = require "gilua.base.nearest"
local prompt = require "gilua.prompt.prompt"
local tap = require "tap"

local function said(code, ...)
  local arguments = table.pack(...)
  local chunk = assert(load("local o = ... " .. code))
  local _, why = pcall(function() return chunk(table.unpack(arguments, 1, arguments.n)) end)
  return hint.add(tostring(why))
end

tap.case("misspelt methods and fields, of whatever object", function()
  local problem = gi.problem "kernels/reduction"
  for _, row in ipairs {
    { "a problem", problem, "o:mutnat ''", "mutant" },
    { "its grammar", problem, "o.grammar:fnd ''", "find" },
    { "a mutant", problem:mutant "", "o:rnu()", "run" },
    { "an array", gi.array("f32", 1), "o:fil(2)", "fill" },
    { "a generator", gi.rng(1), "o:itn(3)", "int" },
    { "a device", gi.device "emu", "o:lod ''", "load" },
    { "the library", gi, "o.probelm ''", "problem" },
    { "a module", gi.evolve, "o.rnu {}", "run" },
    { "a module that is one function", gi, "o.fram()", "farm" },
    { "an archive's module", gi.archive, "o.opne ''", "open" },
    { "a measurement", { registers = 3 }, "return o.regsters / 2", "registers" },
    { "a run", { records = {} }, "return #o.recrods", "records" },
    { "an individual", { genome = "" }, "return o.genom .. 'x'", "genome" },
  } do
    local what, object, code, meant = table.unpack(row)
    tap.has(said(code, object), ("; did you mean '%s'?"):format(meant), what)
  end
end)

tap.case("nothing is said of what is like nothing, or is right", function()
  tap.is(said("o.nothinglikethat()", {}):find("did you mean", 1, true), nil, "like nothing")
  tap.is(said("o.result.best()", {}):find("did you mean", 1, true), nil, "a field that is nil now")
  tap.is(said("undefined_thing()"):find("did you mean", 1, true), nil, "a global")
  tap.is(said("local x = nil; x()"):find("did you mean", 1, true), nil, "a local")
  local text = "attempt to call a nil value (field 'rnu'); did you mean 'run'?"
  tap.is(hint.add(text), text, "nor twice")
end)

tap.case("of names as near as each other, the likelier", function()
  tap.is(nearest("rnu", { "rng", "run" }), "run", "of the same letters")
  tap.is(nearest("fil", { "bil", "fill" }), "fill", "that begins alike")
  tap.is(nearest("xyz", { "fill" }), nil, "or none")
end)

tap.case("the prompt says it too", function()
  local line = prompt.error_line(said("o:erors()", {}), true)
  tap.has(line, "did you mean 'errors'?", "in its one line")
end)

tap.done()
