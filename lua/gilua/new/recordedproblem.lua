--- recordedproblem: `gilua new APP.rec --source FILE.cu`: from recordings of a program to a problem
--- folder. Nothing is guessed of sizes, data and launches: they are in the recordings. The source
--- must be the one that was recorded: what NVRTC makes of its kernels is compared with the
--- program's own PTX. Without a source that PTX is what evolves.

local compiler = require "gilua.farm.compiler"
local ends = require "gilua.base.ends"
local fail = require "gilua.base.fail"
local gi = require "gilua"
local headers = require "gilua.new.headers"
local joined = require "gilua.new.joined"
local lfs = require "lfs"
local luadata = require "gilua.base.luadata"
local mangled = require "gilua.new.mangled"
local newproblem = require "gilua.new.newproblem"
local partsof = require "gilua.new.parts"
local printable = require "gilua.base.printable"
local ptxtext = require "gilua.problem.ptxtext"
local reading = require "gilua.new.reading"
local recorded = require "gilua.problem.recorded"
local recordedlimits = require "gilua.new.recordedlimits"
local recording = require "gilua.problem.recording"
local report = require "gilua.report.report"
local runpath = require "gilua.base.runpath"
local settings = require "gilua.base.settings"
local shell = require "gilua.base.shell"
local slice = require "gilua.new.slice"
local streams = require "gilua.problem.streams"
local trace = require "gilua.base.trace"

local M = {}

local SHARE = 0.95 -- of the time: kernels that have it together evolve
local MAGIC = "gilua-rec"
local NEAR = 1e-3 -- of the largest number: rounding, other functions of the mathematics
local OTHER_OPTIONS = { "--use_fast_math", "-fmad=false" } -- of a program's build, that are tried
local COPY_BYTES = 1 << 20

--- Is a file a recording?
---@param path string
---@return boolean
function M.is(path)
  local file = lfs.attributes(path, "mode") == "file" and io.open(path, "rb")
  local head = file and file:read(#MAGIC)
  if file then file:close() end
  return head == MAGIC
end

--------------------------------------------------------------------------------------------------
-- Which kernels

local function kernel_names(r)
  local known = {}
  for i, kernel in ipairs(r.kernels) do known[i] = mangled.read(kernel.name) end
  return table.concat(known, ", ")
end

-- Those that a person names, by their own name or the recording's; or all.
local function wanted(r, names)
  if names == "all" then return r.kernels end
  local list = {}
  for name in names:gmatch "[^,%s]+" do
    local found
    for _, kernel in ipairs(r.kernels) do
      if not found and (kernel.name == name or mangled.read(kernel.name) == name) then
        found = kernel
      end
    end
    if not found then
      fail("%s launches no kernel '%s'; it launches %s", r.path, name, kernel_names(r))
    end
    list[#list + 1] = found
  end
  return list
end

-- The words of all sources that a person names.
local function words_in(source)
  local words = {}
  for path in (source or ""):gmatch "[^,]+" do
    local file <close> = io.open(path, "rb")
    for word in (file and file:read "a" or ""):gmatch "[%a_][%w_]*" do words[word] = true end
  end
  return words
end

-- Kernels that may evolve: those with PTX, and those of machine code whose source is there.
local function open_ones(r, o)
  local list, words = {}, words_in(o.source)
  for _, kernel in ipairs(r.kernels) do
    if not kernel.is_machine or words[(mangled.read(kernel.name))] then
      list[#list + 1] = kernel
    end
  end
  if #list == 0 then
    fail("%s launches machine code alone (%s), which cannot evolve: name the source of a "
      .. "kernel, --source FILE.cu", r.path, kernel_names(r))
  end
  return list
end

-- The kernels that take most of the time together.
local function longest(r, o)
  local list, total, taken, kernels = {}, 0, 0, open_ones(r, o)
  for _, kernel in ipairs(kernels) do total = total + kernel.ns end
  for _, kernel in ipairs(kernels) do
    if taken < SHARE * total or #list == 0 then list[#list + 1] = kernel end
    taken = taken + kernel.ns
  end
  return list
end

-- The genome's kernels: names in the recording by those of the source, and arguments of their
-- templates. Of one template's several the longest.
local function kernels_of(r, o, say)
  if #r.kernels == 0 then fail("%s launches no kernel: there is nothing to improve", r.path) end
  local entries, templates = {}, {}
  for _, kernel in ipairs(o.kernel and wanted(r, o.kernel) or longest(r, o)) do
    local name, arguments = mangled.read(kernel.name)
    if entries[name] then
      say("%s stays as it is here: another kernel made of the template %s, which takes longer, "
        .. "evolves; what gilua apply puts into the template changes both", kernel.name, name)
    else
      if arguments then
        entries[name] = kernel.name
        templates[name] = #arguments > 0 and arguments or nil
      else
        say("%s stays as it is: the arguments of its template are not understood", kernel.name)
      end
    end
  end
  if not next(entries) then
    fail("no kernel is left that may evolve: name others with --kernel, one of %s",
      kernel_names(r))
  end
  return entries, templates
end

--------------------------------------------------------------------------------------------------
-- Is it the source of what was recorded?

local NUMBERED = { "^_Z", "^%$L__BB", "^%$L_brx_", "^__local_depot", "^%$str", "^__unnamed_",
  "^prototype_" }

-- An entry's text without what another module around it changes: names by their first place, no
-- lines of the source.
local function entry_text(ptx, entry)
  local escaped = entry:gsub("%p", "%%%0")
  local from = ptx:find("%.entry%s+" .. escaped .. "%s*%(")
  local text = from and ptx:sub(from, (ptx:find("\n}", from, true) or #ptx) + 1)
  if not text then return nil end
  local places, n, lines = {}, 0, {}
  local function placed(word)
    local is_own = word:sub(1, #entry) == entry
    for _, pattern in ipairs(NUMBERED) do is_own = is_own or word:find(pattern) ~= nil end
    if not is_own then return nil end
    if not places[word] then
      n = n + 1
      places[word] = "@" .. n
    end
    return places[word]
  end
  for line in text:gmatch "[^\n]+" do
    line = line:gsub("//.*", ""):gsub("%s+", " "):match "^ ?(.-) ?$"
    local is_debug = line:find "^%.loc " or line:find "^%$L__tmp" or line:find "^%$L__func"
    if line ~= "" and not is_debug then lines[#lines + 1] = line:gsub("[%a_$][%w_$]*", placed) end
  end
  return lines
end

-- Where two texts of an entry differ first; nil where they do not.
local function difference(was, now)
  if not was or not now then return "there is none" end
  for i = 1, math.max(#was, #now) do
    if was[i] ~= now[i] then
      return ("`%s` where the recording has `%s`"):format(now[i] or "its end", was[i] or "its end")
    end
  end
end

-- The first kernel that a source makes otherwise than the recording has it.
local function unlike(r, entries, source, options)
  for _, name in ipairs(settings.keys(entries)) do
    local module = next(r:modules_of { [entries[name]] = true })
    local own = r:module(module)
    if not own then return ("kernel %s was recorded as machine code"):format(name) end
    local target = own:match "%.target%s+sm_(%w+)"
    local code, why = compiler.compile(source,
      { target = "compute_" .. (target or "90"), options = options })
    if not code then fail("%s", why) end
    local found = difference(entry_text(own, entries[name]), entry_text(code, name))
    if found then return ("kernel %s has %s"):format(name, found) end
  end
end

-- Does the program copy out the same, to the bit, with the source's kernels in the place of its
-- own? NVRTC and nvcc of one version need not make the same PTX: of addresses in shared memory the
-- one makes 64 bits where the other makes 32. What a GPU gave may be other bits than here its own
-- code gives. Where that is machine code, which nothing here can ask, floats may be as far from the
-- recorded ones as NEAR: how far they are comes third.
local function gives_the_same(r, cut, say)
  local code, why = compiler.compile(cut.source, { target = "compute_90", options = cut.all })
  if not code then fail("%s", why) end
  local modules, entries, is_machine = {}, {}, false
  for name, entry in pairs(cut.entries) do
    entries[entry] = true
    code = code:gsub("(%.entry%s+)" .. name .. "(%s*%()",
      function(before, behind) return before .. entry .. behind end)
  end
  for module in pairs(r:modules_of(entries)) do
    modules[module] = code
    is_machine = is_machine or not r:module(module)
  end
  local budget = recordedlimits.most_instructions
  local now = recordedlimits.patiently(say, r.replay, r,
    { code = modules, partial = true, budget = budget })
  if not now or now.status ~= "ok" then return false, now ~= nil and now.status == "timeout" end
  local own, farthest
  for i, read in ipairs(now.reads) do
    if not read.same and is_machine then
      local far = recordedlimits.distance(read.bytes, r:blob(read.name, #read.bytes))
      farthest = math.max(farthest or 0, far or math.huge)
    elseif not read.same then
      own = own or r:replay { budget = budget }
      if not own or not own.reads[i] or own.reads[i].bytes ~= read.bytes then return false end
    end
  end
  return not farthest or farthest <= NEAR, false, farthest
end

-- Options that make the source what was recorded; those that the program was built with may be
-- unknown here.
local function agreeing(list, cut, o, say)
  local r = list[1]
  local first = unlike(r, cut.entries, cut.source, cut.all)
  if not first then return {} end
  for _, option in ipairs(OTHER_OPTIONS) do
    local all = table.move(cut.all, 1, #cut.all, 1, {})
    all[#all + 1] = option
    if not unlike(r, cut.entries, cut.source, all) then
      say("the program was built with %s: so are its kernels here", option)
      return { option }
    end
  end
  local same, is_long, far, farthest = true, nil, nil, nil
  for _, one in ipairs(list) do
    if same then same, is_long, far = gives_the_same(one, cut, say) end
    farthest = far and math.max(farthest or 0, far) or farthest
  end
  if is_long and not o.anyway then
    fail("%s does not give the PTX that was recorded: %s. Whether what is copied out is the same "
      .. "is not known, for %s is too long to be replayed (more than %d million instructions of "
      .. "warps): record the program with less to do, or --anyway takes the file all the same",
      o.source, first, r.path, recordedlimits.most_instructions // 1000000)
  elseif not same and not o.anyway then
    fail("%s does not give the kernels that were recorded in %s: %s. Is it the file, with the "
      .. "macros (--define), folders (--include) and compiler that the program was built with? "
      .. "--anyway takes it all the same, and holds its answers against the recording's", o.source,
      r.path, first)
  end
  local how = not same and "" or not farthest
    and "; what is copied out is the same with it, to the bit"
    or ("; what is copied out is the same with it, but for %.2g of the largest number"):format(
      farthest)
  say(first:find "machine code$" and "%s: %s%s"
    or "%s does not give the PTX that was recorded: %s%s", o.source, first, how)
  return {}
end

---@class RecordedCut
---@field source string
---@field entries table<string, string>
---@field templates table<string, string[]>
---@field words CompilerWords
---@field all string[] options of NVRTC
---@field paths string[] of the files with the kernels
---@field file string what it is called in the folder

-- Files that a person names; or one, and those beside it.
local function sources_of(o)
  local list = {}
  if o.beside then
    list = partsof.beside(o.source)
    table.insert(list, 1, o.source)
    return list
  end
  for path in o.source:gmatch "[^,]+" do list[#list + 1] = path end
  return list
end

-- The files with the kernels. Those that no file has stay as they are, but where a person named
-- them.
local function files_of(o, entries, templates, say)
  local sources = sources_of(o)
  local parts, missing = joined.of(sources, settings.keys(entries))
  if not parts or o.kernel and missing[1] then
    fail("%s has no __global__ function named %s, nor has a file that it includes: name the file "
      .. "that has it too, --source A.cu,B.cu", o.source, missing[1])
  end
  for _, name in ipairs(missing) do
    say("%s stays as it is: %s has no such kernel (--source A.cu,B.cu names several files)", name,
      o.source)
    entries[name], templates[name] = nil, nil
  end
  return parts
end

-- The compiler's words, with the folders of all files.
local function words_of(parts, o, say)
  local folders, notes, seen = { o.include }, {}, { [parts.folders[1] or ""] = true }
  for _, folder in ipairs(parts.folders) do
    if not seen[folder] then folders[#folders + 1] = folder end
    seen[folder] = true
  end
  local words = reading.compiler(parts.path, parts.text,
    { include = table.concat(folders, ","), define = o.define }, parts.host, notes)
  for _, note in ipairs(notes) do say("%s", note) end
  return words
end

-- The kernels, cut out of the source into the folder.
local function cut_out(list, folder, o, say)
  local r = list[1]
  local entries, templates = kernels_of(r, o, say)
  local parts = files_of(o, entries, templates, say)
  local names, words = settings.keys(entries), words_of(parts, o, say)
  local sliced = reading.cut(parts, { name = table.concat(names, ",") }, folder, words, nil,
    templates)
  table.move(sliced.options, 1, #sliced.options, #words.options + 1, words.options)
  report.write(folder .. "/kernel.cu", sliced.whole)
  local cut = { source = sliced.whole, entries = entries, templates = templates, words = words,
    paths = parts.paths, file = "kernel.cu", own = sliced.options,
    all = table.move(words.options, 1, #words.options, 2, { "-I" .. folder }) }
  for _, option in ipairs(agreeing(list, cut, o, say)) do
    cut.own[#cut.own + 1], cut.all[#cut.all + 1] = option, option
  end
  return cut
end

--------------------------------------------------------------------------------------------------
-- Without a source

-- The module whose kernels evolve, and these: of several modules the one with most of the time.
local function module_of(r, kernels, say)
  local times, best = {}, nil
  for _, kernel in ipairs(kernels) do
    local module = next(r:modules_of { [kernel.name] = true })
    if not r:module(module) then
      fail("%s was recorded as machine code, which cannot evolve: name its source, --source "
        .. "FILE.cu", mangled.read(kernel.name))
    end
    times[module] = (times[module] or 0) + kernel.ns
    if not best or times[module] > times[best] then best = module end
  end
  local taken = {}
  for _, kernel in ipairs(kernels) do
    if next(r:modules_of { [kernel.name] = true }) == best then
      taken[kernel.name] = kernel.name
    else
      say("%s stays as it is: it is in another module than the others", kernel.name)
    end
  end
  return best, taken
end

-- The kernels' PTX into the folder, and the module that they are of, for `gilua apply`.
local function take_ptx(list, folder, o, say)
  local r = list[1]
  if #r.kernels == 0 then fail("%s launches no kernel: there is nothing to improve", r.path) end
  local number, entries = module_of(r, o.kernel and wanted(r, o.kernel) or longest(r, o), say)
  local module = ptxtext.canonical(r:module(number), r.path)
  local source = ptxtext.only(module, entries)
  report.write(folder .. "/module.ptx", module)
  report.write(folder .. "/kernel.ptx", source)
  return { source = source, entries = entries, templates = {}, words = { include = {} }, own = {},
    all = {}, paths = { headers.absolute(folder .. "/module.ptx") }, file = "kernel.ptx" }
end

--------------------------------------------------------------------------------------------------
-- The folder

-- A recording into the folder: the same file by another name where that can be, else a copy. Of a
-- symbolic link a copy, for where a relative one leads to depends on where it lies.
local function bring(path, folder, name)
  local is_file = lfs.symlinkattributes(path, "mode") == "file"
  if is_file and lfs.link(path, folder .. "/" .. name) then return end
  local from <close>, unread = io.open(path, "rb")
  if not from then fail("cannot read %s", unread) end
  local to <close>, why = io.open(folder .. "/" .. name, "wb")
  if not to then fail("cannot write %s", why) end
  repeat
    local bytes = from:read(COPY_BYTES)
    local ok, full = to:write(bytes or "")
    if not ok then fail("cannot write %s/%s: %s", folder, name, full) end
  until not bytes
  local ended, full = to:close()
  if not ended then fail("cannot write %s/%s: %s", folder, name, full) end
end

local function bring_all(list, folder)
  local given, taken = {}, {}
  for _, r in ipairs(list) do
    local path = r.path
    local name, n = path:match "[^/]*$", 1
    while taken[name] do
      n = n + 1
      name = ("%d-%s"):format(n, path:match "[^/]*$")
    end
    bring(path, folder, name)
    taken[name] = true
    given[r.use] = given[r.use] or {}
    table.insert(given[r.use], name)
  end
  return given
end

local ORDER = { "name", "type", "max_error", "rel_error", "kernel", "at", "variable", "path",
  "template", "templates", "train", "validate", "unseen", "small" }

local STREAMS = { 1, 2, 4 }

local HEAD = [[
-- What %s does on its GPU, for gilua. Written by `gilua new`; docs/recording.md has every field;
-- `gilua check %s` says what is wrong.

return {
]]

-- The text of problem.lua, made of a stranger's words: data alone, read back before it is written.
local function text_of(folder, program, t, rows)
  local lines, meant = {}, {}
  local function add(name, value, note)
    meant[name] = value
    lines[#lines + 1] = ("  %s = %s,%s"):format(name, luadata.text(value, ORDER),
      note and " -- " .. luadata.remark(note) or "")
  end
  add("recordings", t.recordings, "runs: to train on, to choose by, for verify "
    .. "alone, for the checked run of every mutant")
  add("source", t.source, t.source == "kernel.cu"
    and "the file as it is, but for what the host alone needs"
    or "their PTX, as it was recorded: no source is known, and genes name instructions")
  add("kernels", t.kernels, "what evolves: names in the source, and in the recording")
  lines[#lines + 1] = "  answers = { -- what the program copies out; all else byte by byte"
  meant.answers = {}
  for i, row in ipairs(rows) do
    local value = {}
    for key, part in pairs(row) do value[key] = key ~= "note" and part or nil end
    meant.answers[i] = value
    lines[#lines + 1] = ("    %s,%s"):format(luadata.text(value, ORDER),
      row.note and " -- " .. luadata.remark(row.note) or "")
  end
  lines[#lines + 1] = "  },"
  for _, name in ipairs { "include", "options", "defines" } do
    if t[name] and #t[name] > 0 then add(name, t[name]) end
  end
  if t.tune_params then
    add("tune_params", t.tune_params, "some launches do not depend on each other")
  end
  add("made_from", t.made_from, "for `gilua apply`")
  local text = HEAD:format(luadata.remark(program), luadata.remark(folder))
    .. table.concat(lines, "\n") .. "\n}\n"
  if not luadata.same(luadata.read(text), meant) then
    error("the problem.lua that would be written does not say what was meant", 0)
  end
  return text
end

local function table_of(cut, recordings, folder)
  local options = table.move(cut.own, 1, #cut.own, 1, {})
  if cut.words.before then table.insert(options, 1, "--pre-include=" .. slice.BEFORE) end
  local paths = runpath.from_problem(cut.paths, folder)
  local include = cut.words.include and runpath.from_problem(cut.words.include, folder)
  return { recordings = recordings, source = cut.file, kernels = cut.entries,
    include = include, options = options, defines = cut.words.defines,
    made_from = { path = paths[1], paths = #paths > 1 and paths or nil,
      templates = next(cut.templates) and cut.templates or nil } }
end

-- Has one of the recordings to train on launches that do not depend on each other? Then on how many
-- streams they go is a gene.
local function tuned(list)
  for _, r in ipairs(list) do
    if r.use == "train" and streams.any(r) then return { [streams.PARAMETER] = STREAMS } end
  end
  return nil
end

local MOST_CHECKED = 1 << 29 -- instructions of warps, which take about half a minute with checks
local TOO_LONG = "the tolerance is not known, for a replay takes more than %d million instructions "
  .. "of warps, which is too long to evolve, too: record the program with less to do (smaller "
  .. "arguments)"

-- Why the run on which every mutant begins fails for the kernels as they are; nil if it does not.
local function fault_of(problem)
  local farm <close> = gi.farm(problem, { device = "emu", jobs = 1 })
  local ok, why = gi.attempt(farm.check, farm, { "" })
  if not ok and not ends.is_refusal(why) then error(why, 0) end
  return not ok and tostring(why) or nil
end

local function fill(list, folder, o, say)
  local first = list[1]
  local cut = (o.source and cut_out or take_ptx)(list, folder, o, say)
  local known = o.source
    and recordedlimits.parameters(first, cut.entries, cut.source, cut.all) or {}
  local evolves = {}
  for _, entry in pairs(cut.entries) do evolves[entry] = true end
  local rows = recordedlimits.rows(list, known, evolves)
  local t = table_of(cut, bring_all(list, folder), folder)
  t.tune_params = o.source and tuned(list) or nil
  local program = (first.program[1] or "a program"):match "[^/]*$"
  local place = folder .. "/problem.lua"
  report.write(place, text_of(folder, program, t, rows))
  local why, status, instructions = recordedlimits.find(gi.problem(folder), rows, say)
  if why and status ~= "timeout" and not o.anyway then
    fail("%s cannot be replayed: %s", first.path, why)
  end
  if status == "timeout" then say(TOO_LONG, recordedlimits.most_instructions // 1000000)
  elseif why then say("the tolerance is not known: %s", why) end
  report.write(place, text_of(folder, program, t, rows))
  report.write(folder .. "/experiment.lua",
    newproblem.experiment(table.concat(settings.keys(cut.entries), ", "), folder, not o.source))
  return { cut = cut, rows = rows, tune_params = t.tune_params,
    fault = (instructions or math.huge) <= MOST_CHECKED and fault_of(gi.problem(folder)) or nil }
end

local ADVICE = { -- by what a fault is called
  ["(race): race in shared"] = "Mend the program: beside that no mutant can be judged",
  ["(race): race in global"] = "Mend the program; or, where that is meant, add check_races = "
    .. "\"shared\" to problem.lua, which leaves global memory out",
  ["(out_of_memory)"] = "Record the program with less to do, for that run alone (gilua record --as "
    .. "small); or add check_races = \"shared\" to problem.lua, which takes less memory",
  ["(timeout)"] = "Record the program with less to do, for that run alone (gilua record --as "
    .. "small)",
}

local function tell(list, made, folder, say, is_quiet)
  local first, cut, total = list[1], made.cut, 0
  for _, kernel in ipairs(first.kernels) do total = total + kernel.ns end
  local evolves = {}
  for _, entry in pairs(cut.entries) do evolves[entry] = true end
  for _, kernel in ipairs(first.kernels) do
    say("  %-28s %6d launch%s %5.1f %% of the time%s", mangled.read(kernel.name), kernel.launches,
      kernel.launches == 1 and "  " or "es", 100 * kernel.ns / math.max(total, 1e-9),
      evolves[kernel.name] and "" or ", stays as it is")
  end
  for _, row in ipairs(made.rows) do
    if (row.note or ""):find "GUESS" then say("  %s: %s", row.name, row.note) end
  end
  if made.tune_params then
    say("Some launches do not depend on each other: on how many streams they go is a gene, streams")
  end
  if cut.file ~= "kernel.cu" then
    say("Genes are changes of their PTX; with --source FILE.cu those of its lines are open too")
  end
  if made.fault then
    local text = ("%s/problem.lua is written, but the run with every check on, on which each "
      .. "mutant begins, comes to no good end:\n  %s"):format(folder, made.fault)
    if is_quiet then printable.complain(text) else say("%s", text) end
    for kind, advice in pairs(ADVICE) do
      if made.fault:find(kind, 1, true) then say("%s", advice) end
    end
    say("Then: gilua check %s", shell.word(folder))
    return false
  end
  say("%s/ is ready. Next: gilua check %s, or gilua evolve %s", folder, shell.word(folder),
    shell.word(folder))
  return true
end

-- A recording, and those for other uses that `gilua record --as` left beside it.
local function with_those_beside(path, say)
  local paths = recording.all_beside(path, recorded.USES)
  for _, other in ipairs(paths) do say("%s is beside it and is taken, too", other) end
  table.insert(paths, 1, path)
  return paths
end

-- What recordings are for: what they say themselves, else by their order; to train on first.
local function order_by_use(list)
  local known, place = {}, {}
  for i, use in ipairs(recorded.USES) do known[use] = i end
  for _, r in ipairs(list) do
    r.use = known[r.use] and r.use or nil
    if r.use then place[r.use] = true end
  end
  for i, r in ipairs(list) do
    local next_use = not place.train and "train" or not place.validate and "validate"
    r.use, r.order = r.use or next_use or "unseen", i
    place[r.use] = true
  end
  if not place.train then
    fail("%s is not for training (gilua record --as), and neither is another: name one that is",
      list[1].path)
  end
  table.sort(list, function(a, b)
    if known[a.use] ~= known[b.use] then return known[a.use] < known[b.use] end
    return a.order < b.order
  end)
end

-- What only a source makes sense of.
local function check_options(o)
  for _, name in ipairs { "include", "define", "anyway" } do
    if not o.source and o[name] then
      ends.with(ends.STATUS.usage, "--%s is for the file that --source names: add that, or leave "
        .. "it out", name)
    end
  end
end

--- Writes a problem folder of recordings.
---@param paths string[] for what they were recorded for; of others the first to train on, the
---  second to choose by, the rest for verify alone; of one alone those beside it are taken, too
---@param folder? string to make; the first recording's name without .rec
---@param o { source?: string, beside?: boolean, kernel?: string, include?: string,
---  define?: string, anyway?: boolean, quiet?: boolean } beside: the source may also be a file
---  beside it
---@return boolean ready false where its checked run fails, which was said
function M.write(paths, folder, o)
  local function say(...)
    if not o.quiet then printable.print((...):format(select(2, ...))) end
  end
  check_options(o)
  folder = folder or paths[1]:match "([^/]+)$":gsub("%.%w+$", "")
  newproblem.check_free(folder, paths[1])
  local list <close> = setmetatable({}, { __close = function(all)
    for _, r in ipairs(all) do r.file:close() end
  end })
  if #paths == 1 then paths = with_those_beside(paths[1], say) end
  for i, path in ipairs(paths) do list[i] = recording.open(path) end
  order_by_use(list)
  local made, unmade = report.make_folder(folder)
  if not made then fail("cannot make the folder %s: %s", folder, unmade) end
  local ok, made_of = xpcall(fill, trace.handler, list, folder, o, say)
  if not ok then
    newproblem.remove_tree(folder)
    error(made_of, 0)
  end
  return tell(list, made_of, folder, say, o.quiet)
end

return M
