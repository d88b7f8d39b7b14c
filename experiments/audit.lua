-- audit: judges many published kernels, each beside its reference, and prints a table of the
-- verdicts. A reference and the kernel that is to do its work are files of the same name in two
-- folders. Every verdict is a `gilua judge` of its own, so that one that hangs or dies is a row.
--
--   gilua experiments/audit.lua REFERENCES KERNELS --out out/audit >table.md
--
-- What was judged before stays in the folder of --out, a JSON file a kernel: run it again to go on.

local core = require "gilua.core"
local gi = require "gilua"
local lfs = require "lfs"

local options = gi.cli {
  doc = "Judges the kernels of a folder, each beside the file of the same name in another.",
  positional = { { name = "references", doc = "the folder of the old kernels" },
    { name = "kernels", doc = "the folder of the new ones" } },
  { name = "seconds", default = 120, min = 1, doc = "that a verdict may take" },
  { name = "only", type = "string", doc = "kernels whose file's name has this" },
  { name = "suffix", default = "", doc = "that a new kernel's name has more, before .cu" },
  { name = "whole", default = false, doc = "judge files as a whole (gilua judge --whole)" },
  { name = "arguments", type = "string", doc = "with --whole: a file whose table has, by kernel, "
    .. "what its function is given" },
  { name = "table", default = false, doc = "print the table of what was judged before" },
}
local folder = options.out or "out/audit"
assert(gi.textfile.make_folder(folder))

-- --- judging ------------------------------------------------------------------------------------

local function pairs_of()
  local list = {}
  for name in lfs.dir(options.references) do
    local stem = name:match "^(.+)%.cu$"
    local new = stem and ("%s/%s%s.cu"):format(options.kernels, stem, options.suffix)
    if new and lfs.attributes(new, "mode") == "file"
        and name:find(options.only or "", 1, true) then
      list[#list + 1] = { name = stem, old = options.references .. "/" .. name, new = new }
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local said = options.arguments
  and assert(gi.luadata.read(gi.textfile.read(options.arguments, "the arguments"))) or {}

-- Words of the command line that are this kernel's own.
local function own_words(name)
  if not options.whole then return {} end
  if not said[name] then return { "--whole" } end
  local path = ("%s/%s.args.lua"):format(folder, name)
  gi.textfile.write(path, "return " .. gi.luadata.text(said[name]) .. "\n")
  return { "--whole", "--args", path }
end

local SHELL = 'out=$1; shift; "$@" --json >"$out" 2>"$out.err"'

-- What gilua judge says of a pair: its object; or { error, status }.
local function judged(pair)
  local path = ("%s/%s%s.json"):format(folder, pair.name, options.suffix)
  local kept = lfs.attributes(path, "mode") and gi.textfile.read(path, "a verdict")
  if kept or options.table then return gi.json.decode(kept) end
  local status, _, code = core.system.run { limit_s = options.seconds, argv = { "sh", "-c", SHELL,
    "sh", path .. ".part", core.system.program(), "judge", pair.old, pair.new, "--cases", "1",
    "--device", options.device, "--jobs", tostring(options.jobs or 1),
    "--out", ("%s/%s%s"):format(folder, pair.name, options.suffix),
    table.unpack(own_words(pair.name)) } }
  local text = gi.textfile.read(path .. ".part", "a verdict")
  if type(gi.json.decode(text)) ~= "table" then
    local why = code == "timeout" and ("no verdict in %d s"):format(options.seconds)
      or "gilua ended with " .. tostring(status)
    text = gi.json.encode(gi.json.object { { "error", why } })
  end
  gi.textfile.write(path, text)
  os.remove(path .. ".part")
  os.remove(path .. ".part.err")
  return gi.json.decode(text)
end

-- --- the table ----------------------------------------------------------------------------------

local function short(text, n)
  text = text:gsub("[|\n]", " ")
  return #text > n and text:sub(1, n) .. " …" or text
end

-- The column of a verdict, and what is said of it.
local function row_of(value)
  if value.verdict == nil then
    return "not judged", short(value.error or "no reason is known", 160)
  end
  if value.verdict == "wrong" and value.fault then
    local is_race = value.fault.why:find("race", 1, true)
    return is_race and "racing" or "wrong",
      short(("%s: %s"):format(value.fault.case, value.fault.why), 160)
  elseif value.impossible then
    return "impossible by bytes", short(value.impossible, 160)
  end
  return value.verdict, value.speed and ("%.2f times as fast"):format(value.speed.ratio) or ""
end

local ORDER = { "right and faster", "right, not faster", "wrong", "racing", "impossible by bytes",
  "not judged" }

local function main()
  local rows, counts = {}, {}
  for _, pair in ipairs(pairs_of()) do
    local value = judged(pair)
    if value then
      local verdict, why = row_of(value)
      rows[#rows + 1] = ("| %s%s | %s | %s |"):format(pair.name, options.suffix, verdict, why)
      counts[verdict] = (counts[verdict] or 0) + 1
      if not options.quiet then io.stderr:write(rows[#rows], "\n") end
    end
  end
  print(("| verdict | of %d kernels |\n| --- | --- |"):format(#rows))
  for _, verdict in ipairs(ORDER) do
    print(("| %s | %d |"):format(verdict, counts[verdict] or 0))
  end
  print "\n| kernel | verdict | first input that shows it, or why |\n| --- | --- | --- |"
  print(table.concat(rows, "\n"))
end

main()
