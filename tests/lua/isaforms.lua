-- Instructions of the PTX ISA, from tests/data/isa_forms.txt: the virtual GPU takes each for its
-- target, or refuses it with the words that stand there. Where there is ptxas, it takes them all.

package.path = "tests/lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local odd = require "oddptx"

local HEAD <const> = ".version 9.0\n.target %s\n.address_size 64\n"
local KERNEL <const> = [[
.entry k%d(.param .align 64 .b8 A[128]) {
.reg .b32 r<4>; .reg .b64 d<4>, a0, a1; .reg .b16 h<4>; .reg .f32 f<5>; .reg .f64 e<4>;
.reg .pred p<4>; .reg .b128 q<3>; .reg .b8 b<2>; .reg .v4 .f32 vf, vg;
.shared .align 128 .b8 sm[256];
ld.param.u64 a1, [A]; cvta.to.global.u64 a0, a1; setp.eq.u64 p0, a0, 0; @p0 ret;
%s
ret; }
]]

--- "a(b,c)" -> "ab", "ac"; `~` is the empty word, and a comma in braces parts nothing.
local function expand(pattern, out)
  local head, words, tail = pattern:match "^(.-)(%b())(.*)$"
  if not head then
    out[#out + 1] = pattern
    return out
  end
  words = words:sub(2, -2):gsub("%b{}", function(braces) return (braces:gsub(",", "\0")) end)
  for word in (words .. ","):gmatch "([^,]*)," do
    word = word == "~" and "" or word:gsub("%z", ",")
    expand(head .. word .. tail, out)
  end
  return out
end

--- { text, target, reason } of each instruction.
local function read()
  local list = {}
  for line in io.lines(gi.home .. "/tests/data/isa_forms.txt") do
    local target, pattern, reason = line:match "^(sm_%w+)\t([^\t]+)\t?(.*)$"
    for _, text in ipairs(target and expand(pattern, {}) or {}) do
      list[#list + 1] = { text = text, target = target, reason = reason ~= "" and reason or nil }
    end
  end
  return list
end

local list = read()

local function verdict(device, form)
  local m, why = device:load(HEAD:format(form.target) .. KERNEL:format(1, form.text))
  if not m then return why end
  local info, said = m:info "k1"
  return not info and said or nil
end

tap.case("each instruction is taken, or refused for its reason", function()
  local device <close> = gi.device "emu"
  local wrong, taken = {}, 0
  for _, form in ipairs(list) do
    local why = verdict(device, form)
    taken = taken + (why and 0 or 1)
    local fits = form.reason and why and why:find(form.reason, 1, true) or
      not form.reason and not why
    if not fits then wrong[#wrong + 1] = ("%s: %s # %s"):format(form.target, form.text, why) end
  end
  tap.note(("%d instructions, %d taken"):format(#list, taken))
  tap.is(table.concat(wrong, "\n"), "", "as the list says")
  tap.ok(taken > 900, "and many are")
end)

--- What ptxas says of the instructions of a target, all in one file.
local function assemble(program, target)
  local path = tap.folder() .. "/forms.ptx"
  local file <close> = assert(io.open(path, "wb"))
  file:write(HEAD:format(target))
  local lines, line = {}, 4
  for i, form in ipairs(list) do
    if form.target == target then
      file:write(KERNEL:format(i, form.text))
      lines[line + 5] = form
      line = line + 7
    end
  end
  file:flush()
  local pipe <close> = assert(io.popen(("%s -arch=%s -O0 %s -o %s.cubin 2>&1"):format(program,
    target, path, path)))
  local wrong = {}
  for said in pipe:lines() do
    local form = lines[tonumber(said:match "line (%d+); e" or "")]
    wrong[#wrong + 1] = (form and form.text or "") .. " # " .. said
  end
  return pipe:close() and "" or table.concat(wrong, "\n")
end

tap.case("ptxas takes them too", function()
  local program = odd.ptxas()
  if not program then return tap.skip "there is no ptxas" end
  for _, target in ipairs { "sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120" } do
    tap.is(assemble(program, target), "", target)
  end
end)

tap.done()
