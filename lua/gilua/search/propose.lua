-- propose: new texts of a kernel from any program: a script around a language model, or another
-- tool. It is called once a generation. Its answers are mutants like others: compiled, checked,
-- timed and bred. Each block of lines that differs from the unmodified source is one gene
-- (genome.lines), so crossover mixes proposals, and clean-up keeps the blocks that matter.
--
--   breed = { gi.evolve.mutants, gi.evolve.crossovers, gi.evolve.newcomers,
--             gi.propose.step { command = "./my-model", most = 4, limit_s = 60 } }
--
-- The program reads a JSON object on standard input: problem, file, generation, wanted (the largest
-- number of texts), random (a whole number for seeding), unmodified and best. The last two are {
-- source, ticks, ns, registers, shared_bytes, max_error }, as far as known; best has genome and
-- speedup, too. The program prints one source, one unified diff of best's source, or JSON: a list
-- of { "source": … } and { "patch": … }; other fields are kept.
--
-- Questions and answers are kept in a folder (`keep`). A question that is asked again, by a run
-- that is resumed or repeated, is answered from there without the program.

local core = require "gilua.core"
local diff = require "gilua.base.diff"
local evolve = require "gilua.search.evolve"
local fail = require "gilua.base.fail"
local genome = require "gilua.search.genome"
local json = require "gilua.base.json"
local printable = require "gilua.base.printable"
local settings = require "gilua.base.settings"
local tempfolder = require "gilua.base.tempfolder"
local textfile = require "gilua.base.textfile"

local M = {}

---@class Proposals
---@field command string of the shell; runs where the program was started, as the person's own
---@field keep? string folder of questions and answers; nil: nothing is kept
---@field most integer texts that are taken of an answer
---@field limit_s number seconds by the clock that it may take
---@field every integer generations between two questions
---@field fresh boolean what is kept from earlier is asked again
M.defaults = { most = 4, limit_s = 120, every = 1, fresh = false }

local MOST_BYTES = 16 << 20 -- of an answer

--------------------------------------------------------------------------------------------------
-- The question

local KNOWN = { "ticks", "ns", "registers", "shared_bytes", "max_error" }

local function described(run, individual, more)
  local source, why = run.problem.grammar:apply(individual.genome, true)
  if not source then fail("%s", why) end
  local fields = { { "source", source } }
  for _, name in ipairs(KNOWN) do
    fields[#fields + 1] = { name, individual.measurement and individual.measurement[name] }
  end
  for _, field in ipairs(more or {}) do fields[#fields + 1] = field end
  return json.object(fields), source
end

-- The best of the generations so far; the unmodified kernel where none is better.
local function best_of(run)
  local best, speedup = run.baseline, 1
  for _, record in ipairs(run.records) do
    if record.improved and record.speedup > speedup then
      best, speedup = record.best, record.speedup
    end
  end
  return best, speedup
end

local function question_of(run, best, speedup, most)
  local shown, source = described(run, best, { { "genome", best.genome }, { "speedup", speedup } })
  return json.encode(json.object {
    { "problem", run.problem.name }, { "generation", run.generation }, { "wanted", most },
    { "file", (run.problem.source_path or "kernel.cu"):match "[^/]*$" },
    { "random", run.rng:int(1 << 31) },
    { "unmodified", (described(run, { genome = "", measurement = run.baseline.measurement })) },
    { "best", shown },
  }) .. "\n", source
end

--------------------------------------------------------------------------------------------------
-- The answer

-- What the program prints; or nil and what went wrong.
local function asked(o, question)
  local folder <close> = tempfolder.new()
  local to, from = folder.path .. "/question", folder.path .. "/answer"
  textfile.write(to, question)
  local status, signal, code = core.system.run {
    argv = { "/bin/sh", "-c", 'exec <"$1" >"$2"; eval "$3"', "sh", to, from, o.command },
    limit_s = o.limit_s }
  if code == "timeout" then return nil, ("it did not end within %g s"):format(o.limit_s) end
  if not status then return nil, signal end
  if status ~= 0 then return nil, ("it ended with status %d"):format(status) end
  return textfile.read(from, "the answer", MOST_BYTES)
end

-- The same, from what is kept, or kept from now on.
local function answer_to(o, question, generation)
  if not o.keep then return asked(o, question) end
  local path = ("%s/%04d-%s.json"):format(o.keep, generation, core.system.hash128(question))
  local file = not o.fresh and io.open(path)
  if file then
    file:close()
    local kept = json.decode(textfile.read(path, "an answer that was kept", 2 * MOST_BYTES))
    if type(kept) ~= "table" or type(kept.answer) ~= "string" then
      fail("%s holds no question with its answer: remove it, and the program runs again", path)
    end
    return kept.answer
  end
  local answer, why = asked(o, question)
  if not answer then return nil, why end
  local made, problem = textfile.make_folder(o.keep)
  if not made then fail("cannot keep what is proposed in %s: %s", o.keep, problem) end
  textfile.write(path, json.encode(json.object {
    { "command", o.command }, { "question", json.decode(question) }, { "answer", answer },
  }) .. "\n")
  return answer
end

local function one_text(item, source)
  if type(item) == "string" then item = { source = item } end
  if type(item) ~= "table" then return nil, "it is " .. settings.shown(item) end
  if type(item.source) == "string" then return item.source end
  if type(item.patch) == "string" then return diff.apply(source, item.patch) end
  return nil, 'it has neither "source" nor "patch"'
end

--- The texts that an answer proposes.
---@param answer string
---@param source string that patches are of
---@param most integer
---@return string[] texts
---@return string[] refused a sentence for each that is none
function M.texts(answer, source, most)
  local list
  if answer:find "^%s*[%[{]" then
    local value, why = json.decode(answer)
    if value == nil then return {}, { "its JSON is broken: " .. tostring(why) } end
    list = type(value) == "table" and (value.source or value.patch) and { value } or value
  elseif answer:find "^%s*$" then
    list = {}
  elseif answer:find "^diff " or answer:find "^%-%-%- " or answer:find "\n@@ " then
    list = { { patch = answer } }
  else
    list = { answer }
  end
  local texts, refused = {}, {}
  for i = 1, math.min(#list, most) do
    local text, why = one_text(list[i], source)
    if text then texts[#texts + 1] = text else
      refused[#refused + 1] = ("proposal %d: %s"):format(i, why)
    end
  end
  return texts, refused
end

-- The line of a text that defines a macro, or takes it back; its number, and the macro's value.
local function definition(text, name)
  local number = 0
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    number = number + 1
    local what, found, value = line:match "^%s*#%s*(%l+)%s+([%a_][%w_]*)%s*(.-)%s*$"
    if found == name and what == "define" then
      return number, value:gsub("%s*//.*$", ""):gsub("%s*/%*.*$", "")
    elseif found == name and what == "undef" then
      return number, "undef"
    end
  end
end

local function with_line(text, number, line)
  local before = 0
  return (text:gsub("[^\n]*\n?", function(old)
    before = before + 1
    return before == number and line or old
  end))
end

-- The settings of parameters in the source that a text makes, as genes; and the text without them,
-- for a launch must know of them too.
local function set_by(problem, text)
  local genes = {}
  for _, p in ipairs(problem.parameters or {}) do
    local was_at, was = definition(problem.source, p.name)
    local at, value = definition(text, p.name)
    if p.in_source ~= false and was_at and at then
      if value ~= was then
        genes[#genes + 1] = value == "" and p.name or ("%s=%s"):format(p.name, value)
      end
      text = with_line(text, at, M.line(problem.source, was_at))
    end
  end
  return genome.join(genes), text
end

--- A text of a kernel as a genome: its settings, and a gene for each piece in which it differs.
---@param problem table
---@param proposed string
---@return string genome "" where they are the same
function M.genome(problem, proposed)
  local unmodified = problem.source
  local set, text = set_by(problem, proposed)
  local genes = { set }
  for _, piece in ipairs(diff.pieces(unmodified, text)) do
    local first, last, new = piece.first, piece.last, piece.text
    if last < first then -- only added: with the line before it, or behind it
      local _, lines = unmodified:gsub("\n", "")
      local neighbour = first <= lines and first or first - 1
      local line = M.line(unmodified, neighbour)
      new = neighbour == first and new .. line or line .. new
      first, last = neighbour, neighbour
    end
    genes[#genes + 1] = genome.lines(first, last, new)
  end
  return genome.join(genes)
end

--- A line of a text, with its end.
---@param text string
---@param number integer from 1
---@return string
function M.line(text, number)
  local at = 1
  for _ = 2, number do at = (text:find("\n", at, true) or #text) + 1 end
  return text:sub(at, text:find("\n", at, true) or #text)
end

--------------------------------------------------------------------------------------------------
-- The step

-- What a program that fails says on standard error is on the terminal already.
local function tell(run, sentence)
  io.stderr:write(printable.text(("gilua: generation %d, proposals: %s\n"):format(run.generation,
    sentence)))
end

-- The settings of a genome that its text does not show: of parameters that are not in the source.
local function settings_of(problem, text)
  local hidden, list = {}, {}
  for _, p in ipairs(problem.parameters or {}) do
    hidden[p.name] = p.in_source == false or not definition(problem.source, p.name)
  end
  for _, gene in ipairs(genome.split(text)) do
    if hidden[gene:match "^[%a_][%w_]*" or ""] then list[#list + 1] = gene end
  end
  return genome.join(list)
end

--- A breeding step, to be the last one: a program is asked for texts, which take the places of the
--- last children. Where it fails in its first generation the run ends; later it is said, and
--- the generation has no proposals.
---@param given table Proposals; `defaults` for what is left out
---@return fun(run: Run, parents: Individual[], children: Individual[])
function M.step(given)
  local o = settings.fill("gi.propose.step", given, M.defaults, { "command", "keep" })
  if type(o.command) ~= "string" then
    fail("gi.propose.step: command must be a shell's command line, not %s",
      settings.shown(o.command))
  end
  for _, name in ipairs { "most", "every" } do
    if math.type(o[name]) ~= "integer" or o[name] < 1 then
      fail("gi.propose.step: %s must be a whole number from 1 on, not %s", name,
        settings.shown(o[name]))
    end
  end
  local answered = false
  return function(run, _, children)
    if (run.generation - 1) % o.every ~= 0 then return end
    local best, speedup = best_of(run)
    local question, source = question_of(run, best, speedup, o.most)
    local answer, why = answer_to(o, question, run.generation)
    if not answer and not answered then fail("'%s' proposes nothing: %s", o.command, why) end
    if not answer then return tell(run, why) end
    answered = true
    local texts, refused = M.texts(answer, source, math.min(o.most, #children))
    for _, sentence in ipairs(refused) do tell(run, sentence) end
    local first = #children - #texts
    for i, text in ipairs(texts) do
      local proposed = genome.join { settings_of(run.problem, best.genome),
        M.genome(run.problem, text) }
      children[first + i] = evolve.child(proposed, "proposal", best)
    end
  end
end

return M
