-- prompt: what it reads, what it says, what Tab does.
package.path = "lua/?.lua;lua/?/init.lua;tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local prompt = require "gilua.prompt.prompt"
local tap = require "tap"

-- Calls f with what it prints caught: its output, its complaints.
local function caught(f)
  local out, err = {}, {}
  local print_before, stderr_before = print, io.stderr
  print = function(...) out[#out + 1] = table.concat({ ... }, "\t") end -- luacheck: ignore
  local function write(_, ...) err[#err + 1] = table.concat { ... } end
  io.stderr = { write = write } -- luacheck: ignore
  local fine, why = pcall(f)
  print, io.stderr = print_before, stderr_before -- luacheck: ignore
  assert(fine, why)
  return table.concat(out, "\n"), table.concat(err)
end

-- Types lines into a new session: output, complaints, and the last answer of `add`.
local function typed(...)
  local lines, answer = { ... }, nil
  local help_before, gi_before = rawget(_G, "help"), rawget(_G, "gi")
  local out, err = caught(function()
    local session = prompt.open(false)
    for _, line in ipairs(lines) do
      answer = session:add(line)
      if answer == "run" then session:run() end
    end
  end)
  rawset(_G, "help", help_before)
  rawset(_G, "gi", gi_before)
  rawset(_G, "_", nil)
  return out:gsub("^[^\n]*\n?", ""), err, answer -- without the greeting
end

tap.case("an expression prints its value, a statement does not", function()
  tap.is((typed "1 + 1"), "2", "an expression")
  tap.is((typed "x = 1; x = nil"), "", "a statement")
  tap.is((typed "1, 'a', nil"), '1\t"a"\tnil', "several values")
  tap.is((typed "print('here')"), "here", "a call that returns nothing prints no more")
  tap.is((typed("6 * 7", "_ + 1")), "42\n43", "_ is the last value")
end)

tap.case("a chunk may take several lines", function()
  local out, err = typed("for i = 7, 8 do", "print(i)", "end")
  tap.is(out .. err, "7\n8", "a loop")
  tap.is(select(3, typed "f("), "more", "an open bracket waits")
  tap.is(select(3, typed "1 +"), "more", "so does half an expression")
  tap.is(select(3, typed "x = [[a"), "more", "and a long string")
  local _, complaint, answer = typed "x y"
  tap.is(answer, "nothing", "what cannot become a chunk does not")
  tap.has(complaint, "syntax error near 'y'", "and the reason is one line")
  tap.is(select(3, typed "  "), "nothing", "an empty line is nothing")
end)

tap.case("a local of the outermost level stays", function()
  tap.is((typed("local kept = 5", "kept", "kept = nil")), "5", "a value")
  tap.is((typed("local function kept() return 6 end", "kept()", "kept = nil")), "6", "a function")
  tap.is((typed "local x <const> = 5; print(x)"), "5", "what only a local can be is one")
end)

tap.case("an error is one line, :trace shows the rest", function()
  local _, err = typed "nothing.x = 1"
  tap.has(err, "attempt to index a nil value (global 'nothing')", "what happened")
  tap.is(err:find("stack traceback", 1, true), nil, "without the traceback")
  tap.is(err:find("prompt:1:", 1, true), nil, "and without the place every line has")
  local out = typed("error('deep')", ":trace")
  tap.has(out, "stack traceback", "which :trace shows")
  tap.is(out:find("gilua/prompt/", 1, true), nil, "the prompt's own frames left out")
  _, err = typed "gi.fail('a sentence')"
  tap.has(err, "a sentence", "an error for people as it is")
  _, err = typed("x = ", "nil + 1")
  tap.has(err, "prompt:2:", "in a chunk of several lines its line")
  _, err = typed ":nonsense"
  tap.has(err, ":nonsense is no word to the prompt", "a colon and an unknown word")
end)

tap.case("an interrupt is no error", function()
  tap.is((prompt.error_line("x.lua:1: interrupted!\nstack traceback:\n\tx")), "interrupted", "told")
  local line, more = prompt.error_line("first line of a log\nsecond line of a long log", true)
  tap.is(line, "first line of a log", "the first line of a long one")
  tap.ok(more, "and that there is more")
end)

tap.case("the history keeps a chunk as one line where that is the same", function()
  tap.is(prompt.entries { "for i = 1, 2 do", "  print(i)", "end" }, "for i = 1, 2 do print(i) end",
    "joined")
  tap.is(select("#", prompt.entries { "x = 1 -- one", "y = 2" }), 2, "not after a comment")
  tap.is(select("#", prompt.entries { "x = [[a", "b]]" }), 2, "nor in a long string")
end)

tap.case("the end", function()
  tap.is(select(3, typed "exit"), "end", "exit")
  tap.is(select(3, typed "quit()"), "end", "quit()")
end)

-- --- completion ------------------------------------------------------------------------------

local function tab(text, want, what)
  local remove, insert = prompt.complete(text)
  tap.is(text:sub(1, #text - remove) .. insert, want, what)
end

local function lists(text, part, what)
  local _, _, list = prompt.complete(text)
  tap.has(list, part, what)
end

local function offers_nothing(text, what)
  local remove, insert, list = prompt.complete(text)
  tap.is(remove .. insert .. list, "0", what)
end

tap.case("where the cursor is", function()
  tap.is(prompt.context "x = 1", "code", "code")
  tap.is(prompt.context "x -- what", "comment", "a comment")
  tap.is(prompt.context "x --[[ a ]] + y", "code", "code after a comment")
  tap.is(select(2, prompt.context 'f("a\\"b'), 4, "a string with an escaped quote")
  tap.is(select(4, prompt.context 'p:mutant "<2'), "mutant", "what the string is given to")
  tap.is(select(3, prompt.context "x = [==[ab"), "]==]", "a long string")
  tap.is(prompt.context "t[1] .. t['a']", "code", "brackets that begin no string")
end)

tap.case("names", function()
  rawset(_G, "gi", gi)
  tab("x = colle", "x = collectgarbage", "a global")
  tab("fun", "function", "a keyword")
  tab("string.form", "string.format", "a field")
  tab("gi.gec", "gi.gecco2014", "a module of gi that is not loaded yet")
  tab("gi.array.fromb", "gi.array.frombytes", "a function of a room")
  tab("a..string.form", "a..string.format", "after the dots of a concatenation")
  lists("string.", "format", "all fields where nothing is typed")
  offers_nothing("nothing_of_this_name.", "a name without a value")
  offers_nothing("-- colle", "a comment")
  offers_nothing('f "a" ', "where a value ended")
  rawset(_G, "gi", nil)
end)

tap.case("methods", function()
  rawset(_G, "an_array", gi.array("f32", 3))
  local inner = setmetatable({}, { __index = { deep = 1 } })
  rawset(_G, "a_list", { gi.rng(1), key = { inner = inner } })
  tab("an_array:sha", "an_array:shape", "of an array")
  tab("a_list[1]:norm", "a_list[1]:normal", "of an element")
  tab("a_list.key.inner.de", "a_list.key.inner.deep", "through __index")
  offers_nothing("a_list.key:inn", "a colon offers functions alone")
  rawset(_G, "an_array", nil)
  rawset(_G, "a_list", nil)
end)

tap.case("nothing of the user's is called", function()
  rawset(_G, "trap", setmetatable({}, { __index = function() error("called") end }))
  offers_nothing("trap.field.", "an __index function")
  rawset(_G, "trap", nil)
end)

local function in_problem(body)
  local p = gi.problem "kernels/niftyreg"
  rawset(_G, "p", p)
  body(p)
  rawset(_G, "p", nil)
end

tap.case("a problem and its genes", function()
  in_problem(function(p)
    tab("p:neigh", "p:neighbours", "a method")
    tab("p.sour", "p.source", "a field")
    tab('p:mutant "<IF_24', 'p:mutant "<IF_kernel.cu_245>', "a short form becomes the full name")
    tab('p:mutant "<IF24', 'p:mutant "<IF_kernel.cu_245>', "of any short form")
    tab('p:mutant "<288', 'p:mutant "<_kernel.cu_288>', "a statement by its line")
    tab('p:mutant "<IF_2', 'p:mutant "<IF_kernel.cu_2', "as far as they agree")
    lists('p:mutant "<IF_kernel.cu_2', "<IF_kernel.cu_245>       ((threadIdx.x & 31) < 16)",
      "then what they are")
    tab('p:mutant "<IF_245><IF_1', 'p:mutant "<IF_245><IF_kernel.cu_167>', "the other of a pair")
    tab('p:mutant "<IF_245><', 'p:mutant "<IF_245><IF_kernel.cu_', "of its type alone")
    tab('p:mutant "<pragma_289><', 'p:mutant "<pragma_289><pragma_K', "from the pool")
    tab('p:mutant "RemX const', 'p:mutant "RemX constantBasis', "a switch")
    tab('p:mutant "block', 'p:mutant "block_size=', "a parameter")
    lists('p:mutant "block_size=1', "128", "its values")
    tab('p:rules "stat', 'p:rules "statement"', "rule types")
    tap.is(require("gilua.problem.class").latest(), p, "of the problem loaded last")
  end)
end)

tap.case("files, from here and below gilua's own folder", function()
  tab('io.open "CHANGE', 'io.open "CHANGELOG.md"', "a file and the closing quote")
  tab("dofile('experim", "dofile('experiments/", "a folder goes on")
  tab('gi.problem "kernels/niftyreg/', 'gi.problem "kernels/niftyreg/', "as far as they agree")
  lists('gi.problem "kernels/niftyreg/', "problem.lua", "what is in one")
  local dir = tap.folder()
  assert(require("lfs").mkdir(dir .. "/only"))
  assert(io.open(dir .. "/only/problem.lua", "w")):close()
  tab(('gi.problem "%s/on'):format(dir), ('gi.problem "%s/only"'):format(dir),
    "a problem's folder is a name that is whole")
  offers_nothing('io.open "no/such/folder/', "a folder that is not there")
end)

tap.case("Tab answers in less than 20 ms of a processor", function()
  in_problem(function()
    rawset(_G, "gi", gi)
    for _, text in ipairs { "", "gi.", "p:", 'p:mutant "<', 'p:mutant "<_kernel.cu_288><', 'help "',
                            'io.open "', "string." } do
      local best = math.huge -- of five
      for _ = 1, 5 do
        local begun = os.clock()
        prompt.complete(text)
        best = math.min(best, os.clock() - begun)
      end
      tap.ok(best < 0.020, ("%.2f ms after %q"):format(best * 1000, text))
    end
    rawset(_G, "gi", nil)
  end)
end)

-- --- help --------------------------------------------------------------------------------------

tap.case("help", function()
  tap.has(prompt.help(), "p:neighbours(m)", "an overview")
  tap.has(prompt.help "array.compare", core.docs["array.compare"].doc, "a registration row")
  tap.has(prompt.help "gi.array.compare", core.docs["array.compare"].doc, "by its full name")
  tap.has(prompt.help(gi.array.compare), core.docs["array.compare"].doc, "or itself")
  for _, name in ipairs { "evolve.run", "gi.evolve.run" } do
    tap.is(prompt.help(name):sub(1, 32), "gi.evolve.run(scheme)\n  Evolves.", name .. ": one alone")
  end
  tap.has(prompt.help "mutant:errors", "mutant:errors(options)", "a method of Lua")
  tap.has(prompt.help "p:use", "The case that this problem's mutants run on", "on any object")
  tap.has(prompt.help "evolve", "the generational loop", "a module, by its first comment")
  tap.has(prompt.help "knokout", "did you mean 'knockout'?", "the nearest name")
  local out = typed "help 'gi.fail'"
  tap.has(out, "Raises a sentence", "as typed")
end)

tap.case("help knows all it lists", function()
  local unknown = {}
  for _, name in ipairs(prompt.names()) do
    if prompt.help(name):find("^nothing is ") then unknown[#unknown + 1] = name end
  end
  tap.is(table.concat(unknown, " "), "", "every name")
end)

-- --- the guide ---------------------------------------------------------------------------------

-- Numbers, and what follows from them, may differ from one compiler or cost model to the next, and
-- addresses with what a worker did before; everything else may not.
local function shape_of(text)
  text = text:gsub("0x%x+", "#")
  text = text:gsub("    makes it [^\n]*", "    #"):gsub("    does nothing for[^\n]*", "    #")
  text = text:gsub("all it needs: [^\n]*", "#"):gsub("every gene is needed", "#")
  return (text:gsub("%d[%d ]*%.?%d*e?%-?%d*", "#"):gsub("# ", "#"):gsub("[.oX]+", "."))
end

-- The sessions of a page: what is typed and what the page says is then shown. A block that does not
-- begin with a prompt is none.
local function sessions(path)
  local typed_lines, shown, inside, begun = {}, {}, false, false
  for line in io.lines(path) do
    local code = inside and line:match("^>>? (.*)$")
    if line:find("^```") then
      inside, begun = not inside, false
    elseif code then
      begun = true
      typed_lines[#typed_lines + 1], shown[#shown + 1] = code, ""
    elseif inside and begun then
      shown[#shown] = shown[#shown] .. line .. "\n"
    end
  end
  return typed_lines, shown
end

tap.case("docs/prompt.md shows what the prompt shows", function()
  local inspect = require "gilua.prompt.inspect"
  local terminal_before = inspect.terminal
  inspect.terminal = function() return { width = 100, colour = false, utf8 = true } end
  local lines, shown = sessions "docs/prompt.md"
  tap.ok(#lines > 15, #lines .. " lines are typed there")
  rawset(_G, "gi", gi)
  local session
  caught(function() session = prompt.open(false) end)
  for i, line in ipairs(lines) do
    local out, err = caught(function()
      if session:add(line) == "run" then session:run() end
    end)
    local got = out == "" and err or out .. "\n" .. err
    local same = shape_of(got) == shape_of(shown[i])
    tap.is(same and shown[i] or got, shown[i], line)
  end
  inspect.terminal = terminal_before
  for _, name in ipairs { "gi", "help", "p", "m", "w", "_" } do rawset(_G, name, nil) end
end)

tap.done()
