-- The decoder is a verifier: nothing that ptxas refuses runs on the virtual GPU, no access is
-- without its bound, and what ptxas takes and the virtual GPU refuses has a reason.
--
-- Odd PTX comes from oddptx.lua: every space by every access by every way to name an address, plain
-- instructions with one or two changes, and whole files of other kinds. GILUA_VERDICTS is how many
-- changed instructions are tried, GILUA_SEED which; both are printed. Where there is no ptxas they
-- still run: none may end the process, and under the address sanitizer none leaves its bounds.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local odd = require "oddptx"

local program = odd.ptxas()

-- What the virtual GPU says of PTX that ptxas takes, and why it does: each reason once.
local REASONS = {
  { "generic access needs a generic address", "ptxas makes a generic address of a name by itself" },
  { "global addresses have 64 bits", "ptxas widens an address of 32 bits" },
  { "an address is in a register of 32 or 64 bits", "ptxas widens an address of 16 bits" },
  { "computed address of a function's parameter", "parameters of functions have no address here" },
  { "another state space .*: cvta%.param", "the same, and what lies behind one" },
  { "an access outside parameter", "ptxas does not look whether it is inside" },
  { "the address of .* has 64 bits", "ptxas cuts the address" },
  { "is declared for a call", "parameters of calls have no address here" },
  { "^.*: %d operands are expected: v", "ptxas takes a third source that nothing uses" },
  { "a single%-precision operand", "ptxas widens a constant" },
  { "a floating%-point constant initialises", "ptxas takes it as bits" },
  { "does not know this instruction", "a form or an order of modifiers that no compiler writes" },
  { "does not fit the instruction's type", "ptxas widens or cuts a register" },
  { "another width", "ptxas widens or cuts a register" },
  { "does not have the instruction's type", "ptxas takes .f16x2 as bits, and any type in sust" },
  { "special register", "mov and cvt of 32 bits alone read one" },
  { "operand of a kind the virtual GPU does not expect", "ptxas takes an address as a number" },
  { "found '%+'", "ptxas adds a number to a register's address in mov and cvta" },
  { "table of lop3 has 8 bits", "ptxas cuts it" },
  { "a power of two, at most 512", "stack is aligned to 512 bytes at most" },
  { "operand %d is no number of the instruction's type", "ptxas takes bits in a pack" },
  { "registers are expected", "ptxas takes a vector register's parts" },
  { "is expected", "ptxas takes more operands in some forms" },
  { "at most", "a limit of the virtual GPU" },
  { "larger than %d+ bytes", "more than a GPU has" },
  { "needs 8 bytes", "addresses have 64 bits" },
}

local function reason(message)
  for _, r in ipairs(REASONS) do
    if message:find(r[1]) then return r[2] end
  end
end

--- What is wrong about the verdicts of some snippets: those that run though ptxas refuses them, and
--- those that are refused without a reason. Counts of both kinds in a note.
local function compare(list, what)
  local refused = program and not tap.sanitized("ptxas beside " .. what) and
    odd.refused(program, tap.folder(), list)
  local wrong, count = {}, { both = 0, neither = 0, ours = 0, faults = 0 }
  for _, s in ipairs(list) do
    local device <close> = gi.device "emu"
    local status, why = odd.run(gi, device, s)
    local theirs = refused and refused[s]
    if theirs and theirs ~= odd.SILENT and status == "ok" then
      wrong[#wrong + 1] = ("runs: %s # %s"):format(s.text, theirs)
    elseif refused and not theirs and status == "refused" and not reason(why) then
      wrong[#wrong + 1] = ("is refused: %s # %s"):format(s.text, why)
    end
    local kind = status == "refused" and (theirs and "both" or "ours") or
      status == "ok" and "neither" or "faults"
    count[kind] = count[kind] + 1
  end
  tap.note(("%s: %d tried, %d refused by both, %d here alone, %d ended in a fault, %d ran"):format(
    what, #list, count.both, count.ours, count.faults, count.neither))
  return table.concat(wrong, "\n"), count
end

local function every(list, step, from)
  local some = {}
  for i = from, #list, step do some[#some + 1] = list[i] end
  return some
end

local seed = tonumber(os.getenv "GILUA_SEED" or 1)
local tries = tonumber(os.getenv "GILUA_VERDICTS" or 400)

tap.case("each space, access and way to name an address has one verdict", function()
  local list = odd.accesses()
  if tries <= 400 then list = every(list, 9, seed % 9 + 1) end
  local wrong, count = compare(list, "accesses")
  tap.is(wrong, "", "as ptxas has it")
  tap.ok(count.neither > 50, "and many run")
end)

tap.case("plain instructions are taken, and changed ones as ptxas takes them", function()
  local wrong, count = compare(odd.unchanged(), "plain instructions")
  tap.is(wrong, "", "plain ones")
  tap.is(count.ours + count.both, 0, "none is refused")
  local rng, list = gi.rng(seed), {}
  for i = 1, tries do list[i] = odd.changed(rng) end
  tap.is((compare(list, ("changed instructions, seed %d"):format(seed))), "", "changed ones")
end)

tap.case("plain instructions with operands left out", function()
  tap.is((compare(odd.cut(), "cut instructions")), "", "as ptxas has it")
end)

tap.case("numbers in the place of others", function()
  tap.is((compare(odd.numbers(), "numbers and orders")), "", "as ptxas has it")
end)

tap.case("files of other kinds", function()
  local wrong = compare(odd.files(), "files")
  tap.is(wrong, "", "as ptxas has it")
end)

tap.case("declarations", function()
  tap.is((compare(odd.declarations(), "declarations")), "", "as ptxas has it")
end)

-- st.param to another space's name wrote as far behind the frame as that variable is large.
tap.case("no name is a parameter that is none", function()
  for _, where in ipairs { "entry", "func" } do
    for _, name in ipairs { "s", "ls", "l", "g", "c", "dyn", "callee" } do
      for _, text in ipairs { "st.param.b32 [%s+40], %%r1;", "ld.param.b32 %%r4, [%s+40];" } do
        local device <close> = gi.device "emu"
        local s = { where = where, text = "\t" .. text:format(name) }
        local status, why = odd.run(gi, device, s)
        tap.is(status, "refused", s.text .. " in " .. where)
        tap.ok(why:find "state space" or why:find "no variable", "and says why")
      end
    end
  end
end)

tap.done()
