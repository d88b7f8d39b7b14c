-- programprofile: the cost of each line of a program's kernels, as `gilua run --profile` measured
-- it (src/runtime/profiled.h): as text, as JSON, and as a page with the source beside the heat.
--
-- A line's heat is its share of the warps' clocks: issue slots, waits, and further passes of shared
-- accesses, one clock each. Clocks of all warps are added up, so the sum is many times the kernel's
-- time. A wait for memory counts at the line of the load; any other wait at the line that waits.

local json = require "gilua.base.json"
local lfs = require "lfs"
local markup = require "gilua.report.page.markup"
local printable = require "gilua.base.printable"
local progress = require "gilua.report.progress"
local textfile = require "gilua.base.textfile"

local M = {}

local MOST_LINES = 10 -- of a kernel, that are printed
local AROUND = 3 -- lines of the source before the first that costs something, and after the last
local MOST_SOURCE = 1 << 24 -- bytes of a source
local REASONS = { { "slots", "issue" }, { "dependence", "dependence" }, { "memory", "memory" },
  { "barrier", "barrier" }, { "conflicts", "bank conflicts" } }
local KERNEL = { "launches", "ticks", "part_issue", "part_latency", "part_memory", "registers",
  "shared_bytes", "occupancy", "limiter", "name", "file" }
local LINE = { "line", "instructions", "threads", "slots", "dependence", "memory", "barrier",
  "requests", "sectors", "shared", "conflicts" }

local function fields(text, names)
  local row, i = {}, 0
  for word in (text .. "\t"):gmatch "([^\t]*)\t" do
    i = i + 1
    if names[i] then row[names[i]] = tonumber(word) or word end
  end
  return row
end

-- Adds what another process did with a kernel.
local function add(to, from)
  for _, name in ipairs { "launches", "ticks", "part_issue", "part_latency", "part_memory" } do
    to[name] = to[name] + from[name]
  end
  for number, line in pairs(from.lines) do
    local other = to.lines[number]
    for _, name in ipairs(LINE) do
      if other and name ~= "line" then other[name] = other[name] + line[name] end
    end
    to.lines[number] = other or line
  end
end

local function spent(line)
  local sum = 0
  for _, reason in ipairs(REASONS) do sum = sum + line[reason[1]] end
  return sum
end

-- Lists of lines by number, each with its heat; kernels with most ticks first.
local function sorted(by_key)
  local list = {}
  for _, k in pairs(by_key) do
    local lines, all = {}, 0
    for _, line in pairs(k.lines) do
      lines[#lines + 1], all = line, all + spent(line)
    end
    for _, line in ipairs(lines) do line.heat = all > 0 and spent(line) / all or 0 end
    table.sort(lines, function(a, b) return a.line < b.line end)
    k.lines = lines
    list[#list + 1] = k
  end
  table.sort(list, function(a, b)
    if a.ticks ~= b.ticks then return a.ticks > b.ticks end
    return a.name < b.name
  end)
  return list
end

--- Reads what the processes of a program left.
---@param folder string of gilua.programhost.write_config
---@return table[] kernels { name, file, launches, ticks, …, lines: { line, heat, slots … }[] }
function M.read(folder)
  local by_key = {}
  for file in lfs.dir(folder) do
    local text = file:find "%.profile$" and textfile.read(folder .. "/" .. file, "a profile") or ""
    local k
    for row in text:gmatch "[^\n]+" do
      local kind, rest = row:match "^(%a+)\t(.*)$"
      if kind == "kernel" then
        k = fields(rest, KERNEL)
        k.lines = {}
        local key = k.name .. "\0" .. k.file
        if by_key[key] then add(by_key[key], k) else by_key[key] = k end
        k = by_key[key]
      else
        local line = fields(rest, LINE)
        add(k, { launches = 0, ticks = 0, part_issue = 0, part_latency = 0, part_memory = 0,
          lines = { [line.line] = line } })
      end
    end
  end
  return sorted(by_key)
end

--------------------------------------------------------------------------------------------------
-- Words

local function per(a, b) return b > 0 and a / b or nil end

-- The source of a kernel, line by line; nil where it cannot be read.
local function source_of(k)
  if lfs.attributes(k.file, "mode") ~= "file" or lfs.attributes(k.file, "size") > MOST_SOURCE then
    return nil
  end
  local lines = {}
  for line in (textfile.read(k.file, "a source") .. "\n"):gmatch "(.-)\r?\n" do
    lines[#lines + 1] = line
  end
  return lines
end

local function kernel_line(k)
  return ("%s: %d launch%s, %s ticks; %d registers, %d bytes of shared memory, occupancy %.0f %%, "
    .. "limited by %s"):format(k.name, k.launches, k.launches == 1 and "" or "es",
    progress.grouped(k.ticks), k.registers, k.shared_bytes, 100 * k.occupancy, k.limiter)
end

-- "issue 20, memory 70 %"
local function reasons(line)
  local all, words = spent(line), {}
  for _, reason in ipairs(REASONS) do
    local share = all > 0 and 100 * line[reason[1]] / all or 0
    if share >= 0.5 then words[#words + 1] = ("%s %.0f"):format(reason[2], share) end
  end
  return table.concat(words, ", ") .. " %"
end

local function accesses(line)
  local words = {}
  if line.requests > 0 then
    words[1] = ("%.1f sectors a request"):format(line.sectors / line.requests)
  end
  if line.conflicts > 0 then
    words[#words + 1] = ("%.1f more passes a shared access"):format(
      line.conflicts / math.max(1, line.shared))
  end
  return #words > 0 and "; " .. table.concat(words, ", ") or ""
end

--- Lines for a person: the hottest of each kernel.
---@param kernels table[] of M.read
---@return string[]
function M.lines(kernels)
  local out = {}
  for _, k in ipairs(kernels) do
    local hottest, source = table.move(k.lines, 1, #k.lines, 1, {}), source_of(k)
    table.sort(hottest, function(a, b)
      if a.heat ~= b.heat then return a.heat > b.heat end
      return a.line < b.line
    end)
    out[#out + 1] = kernel_line(k)
    for i = 1, math.min(MOST_LINES, #hottest) do
      local line = hottest[i]
      out[#out + 1] = ("  %5.1f %%  %s (%s%s)%s"):format(100 * line.heat,
        line.line > 0 and "line " .. line.line or "no line", reasons(line), accesses(line),
        source and source[line.line] and ": " .. source[line.line]:match "^%s*(.-)%s*$" or "")
    end
  end
  return out
end

--- The same as a value for JSON: all lines, all counts.
---@param kernels table[] of M.read
---@return table
function M.value(kernels)
  local list = {}
  for i, k in ipairs(kernels) do
    local lines, object = {}, {}
    for n, line in ipairs(k.lines) do
      local row = { { "heat", line.heat } }
      for _, name in ipairs(LINE) do row[#row + 1] = { name, line[name] } end
      row[#row + 1] = { "sectors_per_request", per(line.sectors, line.requests) }
      lines[n] = json.object(row)
    end
    for _, name in ipairs(KERNEL) do object[#object + 1] = { name, k[name] } end
    object[#object + 1] = { "lines", json.array(lines) }
    list[i] = json.object(object)
  end
  return json.object { { "kernels", json.array(list) } }
end

--------------------------------------------------------------------------------------------------
-- The page

local STYLE = [[
body { max-width: 1600px; }
table.heat { border-collapse: collapse; width: 100%; font-size: 13px; }
table.heat th, table.heat td { padding: 1px 8px; text-align: right; white-space: nowrap; }
table.heat td.source, table.heat th.source { text-align: left; width: 99%; }
table.heat td.source { font-family: monospace; white-space: pre; overflow: hidden; }
.bar { display: inline-block; width: 120px; height: 10px; text-align: left; vertical-align: middle;
  background: #8882; }
.bar i { display: inline-block; height: 10px; vertical-align: top; }
.slots { background: #4c8bf5; } .dependence { background: #8e6bd8; }
.memory { background: #e0663a; } .barrier { background: #d9a514; }
.conflicts { background: #2e9e6b; }
.legend i { display: inline-block; width: 12px; height: 12px; margin: 0 4px 0 14px; }
]]

-- What a line spends, beside what the hottest one does.
local function bar(line, most)
  local parts = {}
  for i, reason in ipairs(REASONS) do
    parts[i] = ('<i class="%s" style="width:%.1f%%"></i>'):format(reason[1],
      100 * line[reason[1]] / most)
  end
  return '<span class="bar">' .. table.concat(parts) .. "</span>"
end

local HEADS = { "line", "heat", "", "instructions", "sectors / request", "passes / shared access",
  "active lanes" }

local function row_of(number, line, most, text)
  local cells = { number > 0 and number or "–", "", "", "", "", "", "" }
  if line then
    cells = { cells[1], markup.percent(line.heat), bar(line, most),
      markup.shown(line.instructions, "grouped"),
      line.requests > 0 and markup.shown(line.sectors / line.requests, "%.1f") or "",
      line.shared > 0 and markup.shown(1 + line.conflicts / line.shared, "%.1f") or "",
      markup.shown(per(line.threads, line.instructions), "%.1f") }
  end
  local alpha = line and 0.35 * spent(line) / most or 0
  return ('<tr style="background:rgba(224,102,58,%.3f)"><td>%s</td><td class="source">%s</td>'
    .. "</tr>"):format(alpha, table.concat(cells, "</td><td>"), markup.escape(text or ""))
end

local function table_of(k)
  local by_number, most, source, rows, first, last = {}, 1e-9, source_of(k), {}, math.huge, 0
  for _, line in ipairs(k.lines) do
    by_number[line.line], most = line, math.max(most, spent(line))
    if line.line > 0 then first, last = math.min(first, line.line), math.max(last, line.line) end
  end
  for number = math.max(1, first - AROUND), math.min(source and #source or 0, last + AROUND) do
    rows[#rows + 1] = row_of(number, by_number[number], most, source[number])
  end
  for _, line in ipairs(k.lines) do
    if not (source and source[line.line]) then
      rows[#rows + 1] = row_of(line.line, line, most, source and "(no line of this file)")
    end
  end
  return '<table class="heat"><tr><th>' .. table.concat(HEADS, "</th><th>")
    .. '</th><th class="source">source</th></tr>' .. table.concat(rows, "\n") .. "</table>"
end

local function legend()
  local parts = {}
  for i, reason in ipairs(REASONS) do
    parts[i] = ('<i class="%s"></i>%s'):format(reason[1], reason[2])
  end
  return '<p class="legend">' .. table.concat(parts) .. "</p>"
end

--- A page: each kernel's source with what each line costs beside it.
---@param kernels table[] of M.read
---@param title string
---@param gpu string
---@return string html
function M.page(kernels, title, gpu)
  local parts = { "<h1>" .. markup.escape(title) .. "</h1>\n",
    markup.p("Heat is a line's share of the issue slots, waiting clocks and passes of all warps, "
      .. "on a virtual " .. markup.escape(gpu)
      .. ". A wait for memory counts at the line whose load is waited for."), legend() }
  for _, k in ipairs(kernels) do
    parts[#parts + 1] = markup.section(k.name, markup.p(kernel_line(k)), table_of(k))
  end
  return markup.document { title = title, style = STYLE, body = table.concat(parts, "\n") }
end

--- Writes FOLDER/profile.txt, .json and .html.
---@param folder string
---@param kernels table[] of M.read
---@param title string
---@param gpu string
function M.write(folder, kernels, title, gpu)
  textfile.make_folder(folder)
  textfile.write(folder .. "/profile.txt",
    printable.text(table.concat(M.lines(kernels), "\n")) .. "\n")
  textfile.write(folder .. "/profile.json", json.encode(M.value(kernels)) .. "\n")
  textfile.write(folder .. "/profile.html", M.page(kernels, title, gpu))
end

return M
