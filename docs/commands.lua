-- Writes the man page and the shells' completions from what the program itself says: the parts of
-- docs/gilua.1, docs/gilua.bash-completion, docs/_gilua and docs/gilua.fish that stand between
-- "written by make docs: NAME" and "end of NAME" are made of `gilua help` and of every command's
-- `--help`. `./gilua docs/commands.lua [FOLDER]`, or `make docs`; running it twice changes nothing.

local cli = require "gilua.base.cli"
local gi = require "gilua"
local shell = require "gilua.base.shell"

local FILES = { "gilua.1", "gilua.bash-completion", "_gilua", "gilua.fish" }

-- --- what the program says ----------------------------------------------------------------------

local function said(words)
  local pipe = assert(io.popen(shell.quoted(arg[-1]) .. " " .. words .. " </dev/null"))
  local text = pipe:read "a"
  assert(pipe:close(), "gilua " .. words .. " fails")
  return text
end

-- The options that every command takes: they are told once. A command's own of that name is not
-- one of these.
local function standard_lines()
  local lines = {}
  for line in cli.help({ runs = true, positional = {} }, "x"):gmatch "[^\n]+" do
    lines[line] = true
  end
  return lines
end

-- What `gilua NAME --help` says: usage, doc (lines), operands and options ({ name, value, doc }).
local function read_help(name, standard)
  local text = said(name .. " --help")
  local found = { usage = text:match "^usage: gilua ([^\n]*)", doc = {}, operands = {},
                  options = {} }
  for line in text:gmatch("\n([^\n]*)") do
    local option, rest = line:match "^  %-%-(%S+)(.*)$"
    local operand, about = line:match "^  ([A-Z]+) +(.*)$"
    if option then
      local value, doc = rest:match "^ ([A-Z]+) +(.*)$"
      if not standard[line] then
        table.insert(found.options, { name = option, value = value,
                                      doc = doc or rest:match "^ +(.*)$" })
      end
    elseif operand then
      table.insert(found.operands, { name = operand, doc = about })
    elseif line ~= "" then
      table.insert(found.doc, line)
    end
  end
  return found
end

-- A line of `gilua help` with a command: { name, brief }; or with an option: nil, { words, doc }.
local function read_line(line)
  if line:find "^       gilua %l" then
    assert(line:find "^.* %S" and line:sub(31, 32):find "^ %S", "not in its columns: " .. line)
    return { name = line:match("%l+", 14), brief = line:sub(32) }
  elseif line:find "^  %-" then
    return nil, { words = line:sub(3, 16):match "^.*%S", doc = line:sub(17) }
  end
end

-- The commands and the options in the order of `gilua help`.
local function read_all()
  local commands, options = {}, {}
  local standard = standard_lines()
  for line in (said "help"):gmatch "[^\n]+" do
    local command, option = read_line(line)
    commands[#commands + 1] = command
    options[#options + 1] = option
  end
  for _, command in ipairs(commands) do
    if command.name ~= "help" and command.name ~= "version" then
      command.help = read_help(command.name, standard)
    end
  end
  return commands, options
end

-- What the word behind a command may be: "problem", "run", "source", "none", "any".
local KINDS = { PROBLEM = "problem", RUN = "run", FIRST = "run", INTO = "run", FILE = "source" }

local function kind_of(command)
  if command.name == "help" then return "command" end
  if not command.help then return "none" end
  local first = command.help.operands[1]
  if first then return KINDS[first.name] or "any" end
  return command.help.usage:find "^doctor" and "none" or "any"
end

local function names_of_kind(commands, kind)
  local names = {}
  for _, command in ipairs(commands) do
    if kind_of(command) == kind then names[#names + 1] = command.name end
  end
  return names
end

-- --- the man page -------------------------------------------------------------------------------

local function roff(text)
  return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("^([.'])", "\\&%1"):gsub("…", "..."))
end

-- Words in capitals are what one puts in: `FILE [FOLDER]` becomes .RI arguments.
local function operands(text)
  return (roff(text):gsub("%u[%u%d.]+", "\\fI%0\\fR"))
end

local MAN = {}

function MAN.synopsis(commands)
  local out = {}
  for i, command in ipairs(commands) do
    local usage = command.help and command.help.usage:gsub("^%l+ ?", "") or
      (command.name == "help" and "[COMMAND]" or "")
    if command.name == "run" or command.name == "record" then
      usage = usage .. " -- PROGRAM ARGUMENTS"
    end
    out[#out + 1] = ".B gilua " .. command.name
    if usage ~= "" then out[#out + 1] = operands(usage) end
    if i < #commands then out[#out + 1] = ".br" end
  end
  return out
end

local function option_lines(out, option)
  out[#out + 1] = ".TP"
  out[#out + 1] = option.value and (".BI \\-\\-%s \" %s\""):format(roff(option.name), option.value)
    or ".B \\-\\-" .. roff(option.name)
  out[#out + 1] = roff(option.doc:gsub("^%l", string.upper)) .. "."
end

local function usage_of(command)
  if not command.help then return command.name == "help" and " [COMMAND]" or "" end
  return command.help.usage:gsub("^%l+", ""):gsub(" %[options%]$", "")
end

function MAN.commands(commands)
  local out = {}
  for _, command in ipairs(commands) do
    out[#out + 1] = ".TP"
    out[#out + 1] = ("\\fB%s\\fR%s"):format(command.name, operands(usage_of(command)))
    local help = command.help
    local doc = help and help.doc or { command.brief:gsub("^%l", string.upper) .. "." }
    for _, line in ipairs(doc) do out[#out + 1] = roff(line) end
    if help and #help.operands + #help.options > 0 then
      out[#out + 1] = ".RS"
      for _, operand in ipairs(help.operands) do
        out[#out + 1] = ".TP"
        out[#out + 1] = ".I " .. operand.name
        out[#out + 1] = roff(operand.doc:gsub("^%l", string.upper)) .. "."
      end
      for _, option in ipairs(help.options) do option_lines(out, option) end
      out[#out + 1] = ".RE"
    end
  end
  return out
end

local function told(out, option)
  local name, value = option.words:match "^(%S+) (%S+)$"
  out[#out + 1] = ".TP"
  out[#out + 1] = name and (".BI %s \" %s\""):format(roff(name), value)
    or ".B " .. roff(option.words)
  out[#out + 1] = roff(option.doc:gsub("^%l", string.upper)) .. "."
end

function MAN.options(_, options)
  local out, own = { "As for", ".BR lua (1):" }, false
  for _, option in ipairs(options) do
    if option.words:find "^%-%-%l" and not own then
      own = true
      out[#out + 1] = ".PP"
      out[#out + 1] = "gilua's own; a script that reads options with"
      out[#out + 1] = ".I gi.cli"
      out[#out + 1] = "takes them after its name too:"
    end
    told(out, option)
  end
  out[#out + 1] = ".PP"
  out[#out + 1] = "What leaves a run (tune, evolve, experiments) takes besides:"
  for _, option in ipairs(cli.standard) do
    if option.of_runs then option_lines(out, option) end
  end
  return out
end

function MAN.title()
  local version = require("gilua.core").system.version()
  return { (".TH GILUA 1 \"\" \"gilua %s\" \"User Commands\""):format(version) }
end

-- --- bash, zsh, fish ----------------------------------------------------------------------------

local function all_names(commands)
  local names = {}
  for i, command in ipairs(commands) do names[i] = command.name end
  return table.concat(names, " ")
end

local BASH = {}

function BASH.names(commands)
  return { ("_gilua_commands=\"%s\""):format(all_names(commands)) }
end

function BASH.words(commands)
  local function of(kind) return table.concat(names_of_kind(commands, kind), " | ") end
  return {
    ("    %s) ;;"):format(of "none"),
    ("    %s) _gilua_folders problem.lua ;;"):format(of "problem"),
    ("    %s) _gilua_folders result.json experiment.json ;;"):format(of "run"),
  }
end

local ZSH = {}

function ZSH.names(commands)
  local out = {}
  for i, command in ipairs(commands) do
    out[i] = ("    '%s:%s'"):format(command.name, command.brief:gsub("'", "'\\''"))
  end
  return out
end

function ZSH.words(commands)
  local function of(kind) return table.concat(names_of_kind(commands, kind), "|") end
  return {
    ("    %s) host=() ;;"):format(of "none"),
    ("    %s)"):format(of "problem"),
    "      markers=(problem.lua) host+=('*:problem folder:_gilua_folders') ;;",
    ("    %s)"):format(of "run"),
    "      markers=(result.json experiment.json) host+=('*:run folder:_gilua_folders') ;;",
  }
end

local FISH = {}

local function fish_quoted(text) return "'" .. text:gsub("[\\']", "\\%0") .. "'" end

function FISH.names(commands)
  local out = { "set -g __gilua_commands " .. all_names(commands) }
  for _, command in ipairs(commands) do
    out[#out + 1] = ("complete -c gilua -n __gilua_first -a %s -d %s"):format(command.name,
      fish_quoted(command.brief))
  end
  return out
end

function FISH.words(commands)
  local function line(kind, answer)
    return ("complete -c gilua -n '__gilua_after %s' %s"):format(
      table.concat(names_of_kind(commands, kind), " "), answer)
  end
  return {
    line("problem", "-a '(__gilua_folders problem.lua)'"),
    line("run", "-a '(__gilua_folders result.json experiment.json)'"),
    line("source", "-a '(__fish_complete_suffix .cu; __fish_complete_suffix .rec)'"),
    line("any", "-F"),
    line("command", "-a \"$__gilua_commands\""),
  }
end

-- --- the files ----------------------------------------------------------------------------------

local PARTS = { ["gilua.1"] = MAN, ["gilua.bash-completion"] = BASH, _gilua = ZSH,
                ["gilua.fish"] = FISH }

-- The text with each part between its marks written anew.
local function rewritten(file, text, commands, options)
  local out, skipping = {}, nil
  for line in text:gmatch "([^\n]*)\n" do
    local begun, ended = line:match "written by make docs: (%l+)", line:match "end of (%l+)$"
    if ended and ended == skipping then skipping = nil end
    if not skipping then out[#out + 1] = line end
    if begun then
      skipping = begun
      local part = assert(PARTS[file][begun], file .. " has a part " .. begun)
      table.move(part(commands, options), 1, 1000, #out + 1, out)
    end
  end
  assert(not skipping, file .. ": where is the end of " .. tostring(skipping) .. "?")
  return table.concat(out, "\n") .. "\n"
end

local commands, options = read_all()
for _, file in ipairs(FILES) do
  local text = gi.textfile.read(gi.home .. "/docs/" .. file, "the page")
  gi.textfile.write((arg[1] or gi.home .. "/docs") .. "/" .. file,
    rewritten(file, text, commands, options))
end
