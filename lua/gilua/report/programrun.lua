--- programrun: reads and prints the results of a program's processes under `gilua run`. The files
--- are mapped structs of src/runtime/report.h, one a process; several processes are added up.

local json = require "gilua.base.json"
local entries = require "gilua.base.entries"
local printable = require "gilua.base.printable"
local progress = require "gilua.report.progress"

local M = {}

local MAGIC = "gilua run 1"
local HEADER = "<c16 I4I4I4I4 I8I8I8I8I8I8I8I8 ddd I8 i4i4 c1000 c200"
local FINDING = "<c32 c1000 c256 i4i4 I4I4I4 I4I4I4 i4I4 I8"
local KERNEL = "<c1000 I8I8 dd I8I8I8I8 ddddd I8I8"
local MOST_FINDINGS = 256

-- The values of a struct by name; text ends at its first zero byte.
local function struct(text, format, names)
  local values, row = table.pack(format:unpack(text)), {}
  local i = 0
  for name in names:gmatch "%S+" do
    i = i + 1
    row[name] = type(values[i]) == "string" and values[i]:match "^[^\0]*" or values[i]
  end
  return row
end

local HEADER_NAMES = "magic kernel_bytes finding_bytes n_kernels n_findings findings_left_out "
  .. "allocations peak_bytes left_allocations left_bytes to_device_bytes to_host_bytes "
  .. "on_device_bytes device_ns skipped_ns capped_ns capped ended refused refusal missing"
local FINDING_NAMES = "kind text kernel line ptx_line block_x block_y block_z thread_x thread_y "
  .. "thread_z error thread_number count"
local KERNEL_NAMES = "name launches skipped ticks ns warp_instructions lane_instructions "
  .. "global_bytes blocks occupancy issue latency memory seconds registers shared_bytes"

local function rows(f, offset, n, format, names)
  local list, size = {}, format:packsize()
  for i = 1, n do
    f:seek("set", offset + (i - 1) * size)
    list[i] = struct(assert(f:read(size)), format, names)
  end
  return list
end

-- One process's; nil for a file that is not one.
local function read_one(path)
  local f <close> = assert(io.open(path, "rb"))
  local head = f:read(HEADER:packsize())
  local r = head and #head == HEADER:packsize() and struct(head, HEADER, HEADER_NAMES)
  if not r or r.magic ~= MAGIC or r.kernel_bytes ~= KERNEL:packsize()
    or r.finding_bytes ~= FINDING:packsize() then
    return nil
  end
  local findings = HEADER:packsize()
  r.findings = rows(f, findings, r.n_findings, FINDING, FINDING_NAMES)
  r.kernels = rows(f, findings + MOST_FINDINGS * FINDING:packsize(), r.n_kernels, KERNEL,
    KERNEL_NAMES)
  return r
end

local SUMS = "findings_left_out allocations left_allocations left_bytes to_device_bytes "
  .. "to_host_bytes on_device_bytes skipped_ns capped_ns capped device_ns"
local KERNEL_SUMS = "launches skipped ticks ns warp_instructions lane_instructions global_bytes "
  .. "blocks occupancy issue latency memory seconds"

local function add_kernel(all, k)
  local known = all.by_name[k.name]
  if not known then
    all.by_name[k.name] = k
    all.kernels[#all.kernels + 1] = k
    return
  end
  for name in KERNEL_SUMS:gmatch "%S+" do known[name] = known[name] + k[name] end
  known.registers = math.max(known.registers, k.registers)
  known.shared_bytes = math.max(known.shared_bytes, k.shared_bytes)
end

--- All that the processes of one run left in the folder.
---@param folder string
---@return table all `processes` of them
function M.read(folder)
  local all = { kernels = {}, findings = {}, by_name = {}, processes = 0, peak_bytes = 0, cut = 0 }
  for name in SUMS:gmatch "%S+" do all[name] = 0 end
  for file in entries(folder) do
    local r = file:match "%.report$" and read_one(folder .. "/" .. file)
    if r then
      all.processes = all.processes + 1
      for name in SUMS:gmatch "%S+" do all[name] = all[name] + r[name] end
      all.peak_bytes = math.max(all.peak_bytes, r.peak_bytes)
      if r.ended == 0 then all.cut = all.cut + 1 end
      if r.refused ~= 0 then all.refusal = r.refusal end
      if r.missing ~= "" then all.missing = r.missing end
      for _, finding in ipairs(r.findings) do
        if finding.count > 0 then all.findings[#all.findings + 1] = finding end
      end
      for _, k in ipairs(r.kernels) do add_kernel(all, k) end
    end
  end
  table.sort(all.kernels, function(a, b)
    if a.ns ~= b.ns then return a.ns > b.ns end
    return a.name < b.name
  end)
  return all
end

--------------------------------------------------------------------------------------------------
-- For people

local function scaled(value, units, step)
  local i = 1
  while value >= step and i < #units do
    value, i = value / step, i + 1
  end
  return ("%.3g %s"):format(value, units[i])
end

local function time(ns)
  if ns >= 999.5e9 then return ("%.0f s"):format(ns / 1e9) end
  return scaled(ns, { "ns", "us", "ms", "s" }, 999.5)
end

local function bytes(n)
  return scaled(n, { "B", "kB", "MB", "GB", "TB" }, 999.5)
end

--- The name without the types of its parameters.
---@param name string
---@return string
function M.short(name)
  local head = name:gsub("^void ", ""):gsub("%(anonymous namespace%)::", "")
  return head:match "^([^(]+)%(" or head
end

-- The greatest of the model's terms; a launch that is hardly longer than an empty one is bound by
-- its own cost.
local function bound(k, launch_ticks)
  if k.ticks < 1.5 * launch_ticks * k.launches then return "launching" end
  local most, name = k.issue, "instructions"
  if k.latency > most then most, name = k.latency, "latency" end
  if k.memory > most then name = "memory" end
  return name
end

local ROW = "  %-40s %9s %9s %6s %9s %9s  %s"

local function kernel_line(k, all_ns, model)
  local name = printable.text(M.short(k.name))
  if #name > 40 then name = name:sub(1, 37) .. "..." end
  return ROW:format(name, progress.grouped(k.launches), time(k.ns),
    ("%.1f%%"):format(all_ns > 0 and 100 * k.ns / all_ns or 0), bytes(k.global_bytes),
    ("%.0f%%"):format(k.ticks > 0 and 100 * k.occupancy / k.ticks or 0),
    bound(k, model.launch_ticks))
end

local function plural(n, one, many)
  return progress.grouped(n) .. " " .. (n == 1 and one or many or one .. "s")
end

-- What a GPU's specification leaves open and GPUs do: told of, and no reason to fail.
local WARNINGS = { undefined_shuffle = true, lanes_left = true, benign_race = true,
  different_barriers = true }

--- Is a finding a warning alone?
---@param finding table
---@return boolean
function M.is_warning(finding) return WARNINGS[finding.kind] or false end

--- How often something was found, and at how many places; warnings apart.
---@param all table of M.read
---@return integer findings
---@return integer places
---@return integer warnings
function M.counts(all)
  local n, places, warnings = all.findings_left_out, 0, 0
  for _, f in ipairs(all.findings) do
    if WARNINGS[f.kind] then
      warnings = warnings + f.count
    else
      n, places = n + f.count, places + 1
    end
  end
  return n, places, warnings
end

--- What no process told: errors of calls that were not read when it ended without its exit
--- functions.
---@param all table of M.read
---@return string[]
function M.untold(all)
  local out = {}
  for _, f in ipairs(all.findings) do
    if f.error ~= 0 then out[#out + 1] = f.text end
  end
  return out
end

--- The table and what is to be said beside it, line by line.
---@param all table of M.read
---@param model table the modelled GPU
---@return string[]
function M.lines(all, model)
  local out, ns, launches = {}, 0, 0
  local function say(...) out[#out + 1] = select("#", ...) > 1 and string.format(...) or (...) end
  for _, k in ipairs(all.kernels) do ns, launches = ns + k.ns, launches + k.launches end
  if #all.kernels > 0 then
    say("gilua: %s of %s on a virtual %s: %s of modelled time", plural(launches, "launch",
      "launches"), plural(#all.kernels, "kernel"), model.name, time(ns))
    say(ROW:format("kernel", "launches", "time", "share", "traffic", "occupancy", "bound by"))
    for _, k in ipairs(all.kernels) do say(kernel_line(k, ns, model)) end
  end
  say("  copied: %s to the device, %s to the host, %s on the device; most memory at a time: %s",
    bytes(all.to_device_bytes), bytes(all.to_host_bytes), bytes(all.on_device_bytes),
    bytes(all.peak_bytes))
  if all.left_allocations > 0 then
    say("  never freed: %s, %s (--check leaks names them)", plural(all.left_allocations,
      "allocation"), bytes(all.left_bytes))
  end
  if all.capped > 0 then
    say("  %s not run because of --repeats, and counted as long as the last that ran: what the "
      .. "program computes may be wrong", plural(all.capped, "launch", "launches"))
  end
  local n, places, warnings = M.counts(all)
  if warnings > 0 then say("  warnings: %s", progress.grouped(warnings)) end
  if n > 0 then say("gilua: %s at %s", plural(n, "finding"), plural(places, "place")) end
  return out
end

--------------------------------------------------------------------------------------------------
-- For programs

local function kernel_object(k, model)
  return json.object {
    { "name", k.name }, { "launches", k.launches }, { "skipped", k.skipped }, { "ticks", k.ticks },
    { "time_ns", k.ns }, { "global_bytes", k.global_bytes },
    { "occupancy", k.ticks > 0 and k.occupancy / k.ticks or 0 },
    { "bound_by", bound(k, model.launch_ticks) }, { "registers", k.registers },
    { "shared_bytes", k.shared_bytes }, { "blocks", k.blocks },
    { "warp_instructions", k.warp_instructions }, { "lane_instructions", k.lane_instructions },
    { "processor_s", k.seconds },
  }
end

local function finding_object(f)
  local of_kernel = f.kernel ~= ""
  return json.object {
    { "kind", f.kind }, { "text", f.text }, { "kernel", of_kernel and f.kernel or nil },
    { "line", f.line > 0 and f.line or nil }, { "count", f.count },
    { "block", of_kernel and { f.block_x, f.block_y, f.block_z } or nil },
    { "thread", of_kernel and { f.thread_x, f.thread_y, f.thread_z } or nil },
  }
end

--- The same as a value for JSON.
---@param all table of M.read
---@param model table
---@param program string[]
---@param status integer how the program ended
---@return table
function M.value(all, model, program, status)
  local kernels, findings = {}, {}
  for i, k in ipairs(all.kernels) do kernels[i] = kernel_object(k, model) end
  for i, f in ipairs(all.findings) do findings[i] = finding_object(f) end
  return json.object {
    { "program", json.array(program) }, { "status", status }, { "gpu", model.name },
    { "processes", all.processes }, { "kernels", json.array(kernels) },
    { "findings", json.array(findings) }, { "findings_left_out", all.findings_left_out },
    { "device_ns", all.device_ns }, { "skipped_ns", all.skipped_ns },
    { "capped_ns", all.capped_ns }, { "capped_launches", all.capped },
    { "to_device_bytes", all.to_device_bytes }, { "to_host_bytes", all.to_host_bytes },
    { "on_device_bytes", all.on_device_bytes }, { "allocations", all.allocations },
    { "peak_bytes", all.peak_bytes }, { "left_allocations", all.left_allocations },
    { "left_bytes", all.left_bytes }, { "refusal", all.refusal },
    { "missing", all.missing },
  }
end

-- The file that a finding's text names beside its line: "…, saxpy.cu line 12".
local function file_of(f)
  local found
  for words, line in f.text:gmatch "([^,;]+) line (%d+)" do
    local file = words:match "/.*$" or words:match "%S+$"
    if tonumber(line) == f.line and file ~= "PTX" and file ~= "source" then found = file end
  end
  return f.line > 0 and found or nil
end

-- What kept the program from being run as it is.
local function problems_of(all)
  local list = {}
  if all.refusal then list[1] = all.refusal end
  if all.missing then list[#list + 1] = all.missing end
  if all.findings_left_out > 0 then
    list[#list + 1] = ("%s at further places are not listed"):format(plural(all.findings_left_out,
      "finding"))
  end
  return list
end

--- The same for SARIF (gilua.report.sarif).
---@param all table of M.read
---@param program string[]
---@param status integer how the program ended
---@return table
function M.scan(all, program, status)
  local findings = {}
  for i, f in ipairs(all.findings) do
    local of_kernel = f.kernel ~= ""
    findings[i] = { kind = f.kind, text = f.text, warning = WARNINGS[f.kind] or false,
      kernel = of_kernel and f.kernel or nil, file = file_of(f), line = f.line, count = f.count,
      block = of_kernel and { f.block_x, f.block_y, f.block_z } or nil,
      thread = of_kernel and { f.thread_x, f.thread_y, f.thread_z } or nil }
  end
  return { findings = findings, program = program, status = status, problems = problems_of(all) }
end

--- The same for JUnit (gilua.report.junit): a case for the program's own status, and one for each
--- finding, or one that there is none. Warnings are no failures.
---@param all table of M.read
---@param status integer
---@return JunitCase[]
function M.cases(all, status)
  local cases, problems = {}, problems_of(all)
  cases[1] = { name = "its own status", failure = status ~= 0
    and ("the program ended with status %d"):format(status) or nil }
  for _, f in ipairs(all.findings) do
    if not WARNINGS[f.kind] then
      cases[#cases + 1] = { name = ("%s%s%s"):format((f.kind:gsub("_", " ")),
        f.kernel ~= "" and " in " .. M.short(f.kernel) or "",
        f.line > 0 and (", line %d"):format(f.line) or ""), failure = f.text }
    end
  end
  for _, text in ipairs(problems) do
    cases[#cases + 1] = { name = "it can be run", failure = text }
  end
  if #cases == 1 then cases[2] = { name = "no finding" } end
  return cases
end

return M
