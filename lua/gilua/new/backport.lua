-- backport: what evolution changed in a kernel, put into the file that the kernel came from.
--
-- A sliced source has the file's lines under their numbers (gilua.slice), so a line of the mutant
-- that is its source line unchanged stands for the file's own line, host code and all.

local attempt = require "gilua.base.attempt"
local code_of = require "gilua.host.code"
local headers = require "gilua.new.headers"
local hostcode = require "gilua.host.hostcode"
local launchedit = require "gilua.new.launchedit"
local launches = require "gilua.transform.launch"
local launchmacros = require "gilua.host.launchmacros"
local launchsites = require "gilua.host.launchsites"
local launchsize = require "gilua.new.launchsize"
local luadata = require "gilua.base.luadata"
local programs = require "gilua.new.program"
local promises = require "gilua.new.promises"
local genomes = require "gilua.search.genome"
local gi = require "gilua"
local fail = require "gilua.base.fail"
local ptxtext = require "gilua.problem.ptxtext"
local pythontext = require "gilua.new.pythontext"
local sharedcode = require "gilua.new.sharedcode"
local textfile = require "gilua.base.textfile"

local M = {}

local MOST_SHOWN = 40 -- words of a launch

-- Lines of a text, each with the end that it has: { text, stop }. The last one may have none.
local function lines_of(text)
  local list = {}
  for line, stop in text:gmatch "([^\n]*)(\n?)" do
    if line == "" and stop == "" then break end
    local bare, cr = line:match "^(.-)(\r?)$"
    if stop == "" then bare, cr = line, "" end
    list[#list + 1] = { text = bare, stop = cr .. stop }
  end
  return list
end

-- A changed line as the file has it: `extern "C"` and what stands for a template are taken out.
local function unedited(line, edits)
  for _, e in ipairs(edits) do
    local was, now = lines_of(e.was .. "\n"), lines_of(e.now .. "\n")
    for i, part in ipairs(now) do
      local from, to = line:find(part.text, 1, true)
      if from and part.text ~= "" then
        return line:sub(1, from - 1) .. (was[i] and was[i].text or "") .. line:sub(to + 1)
      end
    end
    if #now == 1 and e.was == "" then
      local from, to = line:find(e.now, 1, true)
      if from then return line:sub(1, from - 1) .. line:sub(to + 1) end
    end
  end
  return line
end

-- The kernel's file again, and how it was cut out of the user's; headers of it go to a folder that
-- is not kept.
local function cut_again(kept, text)
  local folder <close> = gi.tempfolder.new()
  return gi.slice.cut(text, kept.made_from.path, kept.kernel,
    { folder = folder.path, template = kept.made_from.template,
      templates = kept.made_from.templates, options = kept.options })
end

-- The files, as one text and the lines of each, and how the kernels were cut out of them; a folder
-- written by hand is its own file.
local function original(kept)
  local made = kept.made_from
  local paths = made and (made.paths or { made.path }) or { kept.source_path }
  local text, lines
  if #paths > 1 then text, lines = gi.joined.text(paths)
  elseif made then text = headers.read(paths[1], "the file that the kernel came from")
  else text = textfile.read(paths[1], "the file that the kernel came from") end
  local cut = made and cut_again(kept, text) or { source = text, edits = {} }
  if cut.source ~= kept.source then
    fail("%s is not what it was in the run%s: put the changes of best.patch in by hand, or begin "
      .. "again%s", table.concat(paths, " or "),
      made and (", or %s was edited"):format(kept.source_path) or "",
      made and " with gilua new" or "")
  end
  return paths, lines, text, cut.edits
end

-- How a changed line ends: as the line that it stands for; one put after a line that had no end
-- follows the line before that.
local function stop_of(users, from)
  for i = from, 1, -1 do
    if users[i].stop ~= "" then return users[i].stop end
  end
  return "\n"
end

-- The user's lines, but for those that are not what was cut out of them, each with the line that it
-- stands for. The cut text may lack the last one: nothing is left of it, and it had no end.
local function changed_lines(users, sliced, changed, origin, edits)
  local out = {}
  for i, line in ipairs(changed) do
    local from = origin[i]
    local same = line.text == sliced[from].text
    out[#out + 1] = { from = from,
      text = (same and users[from].text or unedited(line.text, edits))
        .. (i == #changed and users[#sliced].stop or stop_of(users, from)) }
  end
  for i = #sliced + 1, #users do
    out[#out + 1] = { from = i, text = users[i].text .. users[i].stop }
  end
  return out
end

-- A file's part of all lines. A last line that had no end has none again.
local function part_of(lines, first, last, old)
  local parts = {}
  for _, line in ipairs(lines) do
    if first <= line.from and line.from <= last then parts[#parts + 1] = line.text end
  end
  local text = table.concat(parts)
  return old:sub(-1) ~= "\n" and text:gsub("\r?\n$", "") or text
end

-- The module that a kernel without a source was taken from, with what became of the kernel.
local function module(kept, below)
  local path = kept.made_from and kept.made_from.path or kept.source_path
  local text = textfile.read(path, "the module that the kernels came from")
  local changed, why = kept.ptx:apply(below)
  if not changed then fail("the winner does not fit %s: %s", kept.source_path, why) end
  return { { path = path, text = ptxtext.with(text, changed), old = text } }, {}
end

--------------------------------------------------------------------------------------------------
-- Launches

-- What problem.lua says, where it is data.
local function table_of(kept)
  for _, file in ipairs(kept.files) do
    if file.name == "problem.lua" then return luadata.read(file.text) end
  end
end

-- The program that a kernel is of, and what its headers are: its folder's, before those that the
-- problem has parts of.
local function program_of(kept)
  local folders, defines = { kept.made_from.path:match "^(.*)/" }, {}
  for _, option in ipairs(kept.options) do
    folders[#folders + 1] = option:match "^%-I(.+)$"
    defines[#defines + 1] = option:match "^%-D(.+)$"
  end
  local program = programs.read(kept.made_from.path, kept.kernel, folders, defines)
  program.defines = defines
  return program
end

-- The texts of a program's main file, of the file beside it, and of headers.
local function texts_of(program)
  local texts = { program.main.text, program.beside and program.beside.text }
  for _, header in ipairs(program.list) do texts[#texts + 1] = header.text end
  return texts
end

-- The files of a program that launch a kernel, behind those that are changed; each knows its name
-- in the program. Macros that launch it are written out: `short` is a text without that.
local function with_launches(program, files, kernel)
  local names, list, seen, macros = {}, {}, {}, launchmacros.of(texts_of(program))
  for _, header in ipairs(program.list) do
    if header.path then names[headers.absolute(header.path)] = header.name end
  end
  local function add(file)
    local path = headers.absolute(file.path)
    if seen[path] then return end
    seen[path], file.name, file.short = true, names[path], file.text
    file.text = launchmacros.expanded(file.text, macros, kernel)
    file.was, file.long = launchmacros.expanded(file.old, macros, kernel), file.text
    list[#list + 1] = file
  end
  for _, file in ipairs(files) do add(file) end
  local parts = { program.main, program.beside }
  table.move(program.others, 1, #program.others, #parts + 1, parts)
  for _, part in ipairs(parts) do
    local whole = launchmacros.expanded(part.text, macros, kernel)
    if #launchsites.of(code_of.of(whole), kernel) > 0 then
      local text = textfile.read(part.path, "the file of its launches")
      add { path = part.path, text = text, old = text }
    end
  end
  return list
end

-- Reads the host's code of a program in which some files have other texts.
local function reader_of(program, files)
  return function(texts)
    local now = {}
    for i, file in ipairs(files) do
      now[headers.absolute(file.path)] = texts[i]:gsub("^\xEF\xBB\xBF", "   ") .. ""
    end
    local function changed(one)
      local text = one.path and now[headers.absolute(one.path)]
      return text and setmetatable({ text = text }, { __index = one }) or one
    end
    local list = {}
    for i, header in ipairs(program.list) do list[i] = changed(header) end
    return (hostcode.read(changed(program.main).text, list, program.defines))
  end
end

-- Have numbers of the source changed that a grid may depend on?
local function is_moved(kept, params)
  for _, p in ipairs(kept.parameters) do
    local value = params[p.name]
    if p.in_source and value and tostring(value) ~= tostring(p.default) then return true end
  end
  return false
end

-- The line of a launch in the user's file as it is, above which the changed one may have more. It
-- is known by its rank, for a change of the kernel leaves the launches.
local function old_line(file, site)
  local list = launchsites.of(code_of.of(file.text), site.kernel)
  local was = launchsites.of(code_of.of(file.was or file.old), site.kernel)
  for i, one in ipairs(#list == #was and list or {}) do
    if one.line == site.line then return was[i].line end
  end
  return site.line
end

-- Notes a launch that is not written, once.
local function left_at(launched, file, site)
  local name, line = file.path:match "[^/]*$", old_line(file, site)
  for _, one in ipairs(launched.left) do
    if one.line == line and one.file == name then return end
  end
  local text = site.t:text(site.name, math.min(site.name + MOST_SHOWN, #site.t))
  table.insert(launched.left, { line = line, file = name,
    text = text:match "^[^;\n]+;?" })
end

local function sets_block(params)
  return params.block_size_x or params.block_size_y or params.block_size_z
end

-- Gives the launches the block that the winner has, and the grid that goes with it. Where no file
-- launches the kernel nobody says here what they are to be.
local function sized(kept, program, files, params, launched)
  local kernel, t = kept.kernel:match "[%w_]*$", table_of(kept)
  local is_known, want = attempt(launchsize.wanted, t or {}, kept.parameters, params)
  if not t or not is_known then
    if sets_block(params) then table.insert(launched.left, { kernel = kernel }) end
    return
  end
  if not want then return end
  local texts, done, left = launchsize.edited { files = files, kernel = kernel, want = want,
    read = reader_of(program, files), is_moved = is_moved(kept, params) }
  for i, file in ipairs(files) do file.text = texts[i] end
  for _, site in ipairs(left) do left_at(launched, files[site.file], site) end
  launched.done = launched.done + done
  launched.size = done + #left > 0 and want or nil
end

-- Has the host's code all launches of a kernel that the files have, and shows it none whose grid
-- cannot have what is asked of it? Not of a recording, whose launches are those of one run.
local function is_kept(program, files, kernel, wanted)
  if not program then return false end
  local texts, sites = {}, 0
  for i, file in ipairs(files) do
    texts[i], sites = file.text, sites + #launchsites.of(code_of.of(file.text), kernel)
  end
  local host = reader_of(program, files)(texts)
  return sites == #host:every_launch(kernel) and not promises.breaks(host, kernel, wanted)
end

-- Changes the launches as transformations want them.
local function changed(kept, program, files, launch, launched)
  local of, texts = launches.kernels(launch), program and texts_of(program) or {}
  local function change(kernel, wanted)
    local found, is_asked = 0, is_kept(program, files, kernel, wanted)
    for _, file in ipairs(files) do
      local text, done, left = launchedit.edited(file.text, kernel, wanted, is_asked, texts)
      file.text, launched.done, found = text, launched.done + done, found + done + #left
      for _, site in ipairs(left) do left_at(launched, file, site) end
    end
    if found == 0 then table.insert(launched.left, { kernel = kernel }) end -- by another name
  end
  local gone = {} -- what is done together with the launch before has none of its own
  for _, join in pairs(launches.joined(launch)) do gone[join.other] = true end
  for _, kernel in ipairs(of) do
    if not gone[kernel] then change(kernel, launches.of(launch, kernel)) end
  end
  if #of == 0 then change(kept.kernel:match "[%w_]*$", launch) end
end

-- The files with the launches that a winner wants, and what became of these; nil: it wants none.
local function with_winners_launches(kept, files, params)
  local launch, launched = params[launches.PARAMETER], { done = 0, left = {} }
  local program = kept.made_from and not kept.recorded and program_of(kept)
  local all = program and with_launches(program, files, kept.kernel:match "[%w_]*$") or files
  if program then sized(kept, program, all, params, launched) end
  if launch then changed(kept, program, all, launch, launched) end
  for _, file in ipairs(program and all or {}) do
    if file.text == file.long then file.text = file.short end
  end
  local list = table.move(files, 1, #files, 1, {})
  for i = #files + 1, #all do
    if all[i].text ~= all[i].old then list[#list + 1] = all[i] end
  end
  local wants = launch or launched.size or launched.left[1]
  return list, wants and launched or nil
end

-- The winner's kernels, by name.
local function kernels_of(kept)
  local list = {}
  for name in kept.kernel:gmatch "[^,%s]+" do list[#list + 1] = name end
  return list
end

-- A function that other code calls, too, stays unchanged: in a single file the kernel calls a copy.
-- If the kernels of several files call each other's functions, the result says so.
local function set_apart(kept, files, text, lines)
  local first, list = files[1], kernels_of(kept)
  if #files == 1 then
    first.text, first.copies, first.shared = sharedcode.apart(text, first.text, list)
    return
  end
  local parts = {}
  for i, line in ipairs(lines) do parts[i] = line.text end
  local _, copies, seen = sharedcode.apart(text, table.concat(parts), list)
  for _, one in ipairs(copies) do
    table.insert(seen, ("%s is changed, and not %s alone calls it"):format(one.name, kept.kernel))
  end
  first.copies, first.shared = {}, seen
end

-- A text whose byte order mark became blanks, as headers.read has it, with the mark.
local function with_mark(text, old)
  local mark = "\xEF\xBB\xBF"
  return old:sub(1, #mark) == mark and text:gsub("^   ", mark) or text
end

-- The files as they are on the disk: a Python file's strings have what was changed.
local function as_written(files)
  for _, file in ipairs(files) do
    if file.python then
      file.text, file.old = pythontext.file(file.text, file.python, file.path), file.python
    end
  end
end

--- The user's files with a genome's changes, and all else as it is, the ends of lines too. Nothing
--- of the problem is run.
---@param kept Kept the problem: gi.kept.of(problem), or what a run kept
---@param genome string
---@return { path: string, text: string, old: string }[] files old: as it is; of the first also
---  copies, functions that others call too, of which the kernels call a copy (name, copy), and
---  shared, sentences of what others see that is changed
---@return table params what the genome sets
---@return { done: integer, left: table[], size?: LaunchSize }? launched where the winner's launch
---  is another: how many launches are written so, and which are not: { line, file, text }, or
---  { kernel } where none of it was found; size: what becomes of blocks and grids
function M.files(kept, genome)
  if kept.is_ptx then return module(kept, (select(2, genomes.parts(genome)))) end
  local paths, counts, text, edits = original(kept)
  local mutant, detail = kept.grammar:apply(genome, true)
  if not mutant then fail("the winner does not fit %s: %s", kept.source_path, detail) end
  local lines = changed_lines(lines_of(text), lines_of(kept.source), lines_of(mutant),
    detail.origin, edits)
  local files, first = {}, 1
  for i, path in ipairs(paths) do
    local last = counts and first + counts[i] - 1 or math.huge
    local old = textfile.read(path, "the file that the kernel came from")
    local python = pythontext.is(path) and old or nil
    if python then old = pythontext.source(python, path) end
    files[i] = { path = path, text = part_of(lines, first, last, old), old = old, python = python }
    first = last + 1
  end
  set_apart(kept, files, text, lines)
  for _, file in ipairs(files) do file.text = with_mark(file.text, file.old) end
  local all, launched = with_winners_launches(kept, files, detail.params)
  as_written(files)
  return all, detail.params, launched
end

--- The only file of them.
---@param kept Kept
---@param genome string
---@return string text
---@return string old the file as it is
---@return string path
---@return table params what the genome sets
function M.file(kept, genome)
  local files, params = M.files(kept, genome)
  return files[1].text, files[1].old, files[1].path, params
end

return M
