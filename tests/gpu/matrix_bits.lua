--- How tensor cores sum: mma.sync and wgmma.mma_async in every type, on a GPU and on the virtual
--- one, bit for bit.
---
---   gilua --device cuda tests/gpu/matrix_bits.lua
---   gilua tests/gpu/matrix_bits.lua --device-b emu      the virtual GPU against itself
---   gilua tests/gpu/matrix_bits.lua --device-b emu --self-test   another generation: must differ
---   gilua tests/gpu/matrix_bits.lua --keep FOLDER                a GPU's words, a file a row
---   gilua tests/gpu/matrix_bits.lua --device-b FOLDER            against those, without that GPU
---
--- Each row is an instruction; its fragments are random numbers near each other, far apart, and
--- numbers whose sums cancel. Exit code 0: no bit differs.

local gi = require "gilua"
local lfs = require "lfs"

local options = gi.cli {
  doc = "Compares the sums of matrix instructions on two devices.",
  { name = "device-b", default = "cuda",
    doc = "the device held against the virtual GPU, or a folder of --keep" },
  { name = "keep", default = "",
    doc = "a folder: the words of the device go there, held against nothing" },
  { name = "only", default = "", doc = "rows whose name has this" },
  { name = "rounds", default = 10, doc = "launches of 64 warps for each instruction" },
  { name = "seed", default = 20140712, doc = "seed of all numbers" },
  { name = "self-test", default = false, doc = "sum as an A100: rows of floats must differ" },
}

local WARPS, WORDS = 64, 32 -- words of a lane: fragments one behind the other

-- Registers of A, B, C and D; types; the least capability; how numbers are made.
local forms = {}
local function add(shape, a, b, c, regs, capability, more)
  local form = { shape = shape, a = a, b = b, c = c, regs = regs, sm = capability }
  for k, v in pairs(more or {}) do form[k] = v end
  forms[#forms + 1] = form
end
for _, c in ipairs { "f16", "f32" } do
  local sums = c == "f16" and 2 or 4
  add("m16n8k8", "f16", "f16", c, { 2, 1, sums }, 75)
  add("m16n8k16", "f16", "f16", c, { 4, 2, sums }, 80)
  for _, pair in ipairs { "e4m3 e4m3", "e4m3 e5m2", "e5m2 e4m3", "e5m2 e5m2" } do
    local a, b = pair:match "(%w+) (%w+)"
    add("m16n8k16", a, b, c, { 2, 1, sums }, 89)
    add("m16n8k32", a, b, c, { 4, 2, sums }, 89)
  end
end
add("m16n8k8", "bf16", "bf16", "f32", { 2, 1, 4 }, 80)
add("m16n8k16", "bf16", "bf16", "f32", { 4, 2, 4 }, 80)
add("m16n8k4", "tf32", "tf32", "f32", { 2, 1, 4 }, 80)
add("m16n8k8", "tf32", "tf32", "f32", { 4, 2, 4 }, 80)
for _, a in ipairs { "s8", "u8" } do add("m16n8k32", a, "s8", "s32", { 4, 2, 4 }, 80) end
for _, a in ipairs { "s4", "u4" } do add("m16n8k64", a, "u4", "s32", { 4, 2, 4 }, 80) end
add("m8n8k16", "s8", "u8", "s32", { 1, 1, 2 }, 75)
add("m16n8k16", "u8", "s8", "s32", { 2, 1, 4 }, 80)
add("m8n8k32", "u4", "s4", "s32", { 1, 1, 2 }, 75)
add("m16n8k32", "s4", "u4", "s32", { 2, 1, 4 }, 80)
for _, bits in ipairs { ".and.popc", ".xor.popc" } do
  add("m8n8k128", "b1", "b1", "s32", { 1, 1, 2 }, 80, { tail = bits })
  add("m16n8k256", "b1", "b1", "s32", { 4, 2, 4 }, 80, { tail = bits })
end
-- A sparse: its selector, and whether the metadata are said to be in order.
local function sparse(shape, types, regs, capability, selectors)
  local a, b, c = types:match "(%w+) (%w+) (%w+)"
  for selector = 0, selectors - 1 do
    add(shape, a, b, c, regs, capability, { selector = selector, ordered = selector % 2 == 0 })
  end
end
for _, c in ipairs { "f16", "f32" } do
  local sums = c == "f16" and 2 or 4
  sparse("m16n8k16", "f16 f16 " .. c, { 2, 2, sums }, 80, 4)
  sparse("m16n8k32", "f16 f16 " .. c, { 4, 4, sums }, 80, 2)
end
sparse("m16n8k16", "bf16 bf16 f32", { 2, 2, 4 }, 80, 4)
sparse("m16n8k32", "bf16 bf16 f32", { 4, 4, 4 }, 80, 2)
sparse("m16n8k8", "tf32 tf32 f32", { 2, 2, 4 }, 80, 4)
sparse("m16n8k16", "tf32 tf32 f32", { 4, 4, 4 }, 80, 2)
for _, types in ipairs { "e4m3 e4m3", "e4m3 e5m2", "e5m2 e4m3", "e5m2 e5m2" } do
  sparse("m16n8k64", types .. " f32", { 4, 4, 4 }, 89, 1)
end
sparse("m16n8k32", "s8 u8 s32", { 2, 2, 4 }, 80, 2)
sparse("m16n8k64", "u8 s8 s32", { 4, 4, 4 }, 80, 1)
sparse("m16n8k64", "s4 u4 s32", { 2, 2, 4 }, 80, 2)
sparse("m16n8k128", "u4 s4 s32", { 4, 4, 4 }, 80, 1)

-- Of a warpgroup: each lane puts four words of A and one of B into shared memory. Where A is
-- sparse, B has 64 bytes a column, else 32. from: "ss", or "rs" with A in registers.
local function group(types, k, more)
  local a, b, c = types:match "(%w+) (%w+) (%w+)"
  for _, from in ipairs { "ss", "rs" } do
    local form = { group = from }
    for key, v in pairs(more or {}) do form[key] = v end
    add("m64n8k" .. k, a, b, c, { 4, 1, c == "f16" and 2 or 4 }, "90a", form)
  end
end
for _, types in ipairs { "f16 f16 f16", "f16 f16 f32", "bf16 bf16 f32", "tf32 tf32 f32",
  "e4m3 e4m3 f16", "e4m3 e4m3 f32", "e4m3 e5m2 f32", "e5m2 e4m3 f32", "e5m2 e5m2 f32",
  "e5m2 e5m2 f16", "s8 u8 s32", "u8 s8 s32" } do
  local k = types:find "^tf" and 8 or types:find "^b?f16" and 16 or 32
  group(types, k)
  for selector = 0, k == 32 and 0 or 1 do group(types, 2 * k, { selector = selector }) end
end
group("b1 b1 s32", 256, { tail = ".and.popc" })

local function list(prefix, first, n)
  local names = {}
  for i = first, first + n - 1 do names[#names + 1] = prefix .. i end
  return "{" .. table.concat(names, ",") .. "}"
end

local function opcode(form)
  if form.group then return form.selector and "wgmma.mma_async.sp" or "wgmma.mma_async" end
  return not form.selector and "mma" or form.ordered and "mma.sp::ordered_metadata" or "mma.sp"
end

--- A warpgroup's product: D begins as C. Without a swizzle pieces of 8 rows and 16 bytes follow
--- each other along k, then along the rows.
local function group_product(form)
  local na, nb, nc = table.unpack(form.regs)
  local turns = form.a:find "^b?f16" and (form.group == "ss" and ", 0, 0" or ", 0") or ""
  local lines = { ".shared .align 128 .b8 sa[2048]; .shared .align 128 .b8 sb[512];",
    ".reg .b32 p, q, i; .reg .b64 da, db; .reg .pred yes;",
    "mov.u32 i, %tid.x; mov.u32 p, sa; mad.lo.u32 q, i, 16, p;",
    "st.shared.v4.b32 [q], {r0, r1, r2, r3};",
    "cvt.u64.u32 da, p; shr.u64 da, da, 4; or.b64 da, da, 0x1000080000;",
    "mov.u32 p, sb; mad.lo.u32 q, i, 4, p; st.shared.b32 [q], r4;",
    "cvt.u64.u32 db, p; shr.u64 db, db, 4; or.b64 db, db, 0x1000080000;",
    "fence.proxy.async; bar.sync 0; setp.eq.u32 yes, 0, 0;" }
  for i = 0, nc - 1 do
    lines[#lines + 1] = ("mov.b32 r%d, r%d;"):format(32 + i, na + nb + i)
  end
  lines[#lines + 1] = "wgmma.fence.sync.aligned;"
  lines[#lines + 1] = ("%s.sync.aligned.%s.%s.%s.%s%s %s, %s, db, %syes%s;"):format(opcode(form),
    form.shape, form.c, form.a, form.b, form.tail or "", list("r", 32, nc),
    form.group == "ss" and "da" or list("r", 0, na),
    form.selector and ("r%d, %d, "):format(na + nb + nc, form.selector) or "",
    form.c == "s32" and "" or ", 1, 1" .. turns)
  lines[#lines + 1] = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
  return table.concat(lines, "\n")
end

local function warp_product(form)
  local na, nb, nc = table.unpack(form.regs)
  return ("%s.sync.aligned.%s.row.col.%s.%s.%s.%s%s %s, %s, %s, %s%s;"):format(
    opcode(form), form.shape, form.c, form.a, form.b, form.c, form.tail or "", list("r", 32, nc),
    list("r", 0, na), list("r", na, nb), list("r", na + nb, nc),
    form.selector and (", r%d, %d"):format(na + nb + nc, form.selector) or "")
end

--- A kernel whose lanes load their fragments, multiply and store D.
local function ptx(form)
  local na, nb, nc = table.unpack(form.regs)
  local lines = { ".version 8.7\n.target sm_" .. form.sm .. "\n.address_size 64",
    ".visible .entry k(.param .u64 x, .param .u64 y) {",
    ".reg .b32 t, n, c, r<64>; .reg .b64 x, y, o;", "ld.param.u64 x, [x]; ld.param.u64 y, [y];",
    "mov.u32 t, %tid.x; mov.u32 n, %ntid.x; mov.u32 c, %ctaid.x; mad.lo.u32 t, c, n, t;",
    ("mul.wide.u32 o, t, %d; add.u64 x, x, o; mul.wide.u32 o, t, 16; add.u64 y, y, o;")
      :format(4 * WORDS) }
  lines[2] = lines[2]:gsub(" x,", " px,"):gsub(" y%)", " py)")
  lines[4] = "ld.param.u64 x, [px]; ld.param.u64 y, [py];"
  for i = 0, na + nb + nc do
    lines[#lines + 1] = ("ld.global.b32 r%d, [x+%d];"):format(i, 4 * i)
  end
  lines[#lines + 1] = form.group and group_product(form) or warp_product(form)
  for i = 0, nc - 1 do
    lines[#lines + 1] = ("st.global.b32 [y+%d], r%d;"):format(4 * i, 32 + i)
  end
  lines[#lines + 1] = "ret; }"
  return table.concat(lines, "\n") .. "\n"
end

-- Numbers -----------------------------------------------------------------------------------------

local state = options.seed
local function any(n)
  state = (state * 6364136223846793005 + 1442695040888963407)
  return (state >> 33) % n
end

local layout = { f16 = { 16, 10, 15 }, bf16 = { 16, 7, 127 }, tf32 = { 32, 23, 127 },
                 f32 = { 32, 23, 127 }, e4m3 = { 8, 3, 7 }, e5m2 = { 8, 2, 15 } }

--- A random number of a format: its exponent at most `reach` below 0, one in eight a zero. Below
--- 0, reach says how far down all exponents are: sums that are nothing in f16.
local function number(kind, reach)
  local bits, fraction, bias = table.unpack(layout[kind])
  if any(8) == 0 then return 0 end
  local exponent = math.max(0, bias - (reach < 0 and any(4) - reach or any(reach + 1)))
  return any(2) << (bits - 1) | exponent << fraction | any(1 << fraction)
end

local function word(kind, reach)
  local row = layout[kind]
  if row == nil then return any(1 << 31) << 1 | any(2) end
  local value = 0
  for at = 0, 31, row[1] do value = value | number(kind, reach) << at end
  return value
end

--- Four bits for each chunk of a sparse row: two places in their order, for tf32 neighbours.
local places = { 0x4, 0x8, 0xc, 0x9, 0xd, 0xe }
local function metadata(form)
  local value = 0
  for at = 0, 28, 4 do
    value = value | (form.a == "tf32" and ({ 0x4, 0xe })[any(2) + 1] or places[any(6) + 1]) << at
  end
  return value
end

local function fill(x, form, reach)
  local na, nb, nc = table.unpack(form.regs)
  for lane = 0, 32 * WARPS - 1 do
    for i = 0, WORDS - 1 do
      local kind = i < na and form.a or i < na + nb and form.b or form.c
      x[lane * WORDS + i + 1] = i == na + nb + nc and metadata(form)
        or word(kind, kind == "f32" and reach > 0 and reach + 8 or reach)
    end
  end
end

-- Devices -----------------------------------------------------------------------------------------

local other = options["self-test"] and { matrix_capability = 80 } or nil
local kept = lfs.attributes(options["device-b"], "mode") == "directory" and options["device-b"]
local devices = { gi.device "emu", not kept and gi.device(options["device-b"], other) }

local function run(device, code, x)
  local y = gi.array("u32", 4 * 32 * WARPS):fill(0)
  local results = device:buffer(y)
  local args = { device:buffer(x), results }
  local block = code:find("wgmma", 1, true) and 128 or 32
  local m = assert(device:load(code):launch { kernel = "k", grid = 32 * WARPS // block,
    block = block, args = args })
  assert(m.status == "ok", m.message)
  return assert(results:read())
end

--- How many words differ, and the first of them.
local function compare(form, name)
  local text, n, first = ptx(form), 0, nil
  local file = "/" .. name:gsub("[^%w]+", "-")
  local from <close> = kept and assert(io.open(kept .. file, "rb"))
  local to <close> = options.keep ~= "" and assert(io.open(options.keep .. file, "wb"))
  local x = gi.array("u32", WORDS * 32 * WARPS)
  for round = 1, options.rounds do
    fill(x, form, ({ 2, 6, 12, 24, -13 })[round % 5 + 1])
    local b = kept and gi.array.frombytes(from:read(4 * 4 * 32 * WARPS), "u32")
      or run(devices[2], text, x)
    local a = to and b or run(devices[1], text, x)
    if to then assert(to:write(b:bytes())) end
    for i = 1, #a do
      if a[i] ~= b[i] then
        n = n + 1
        first = first or ("lane %d, register %d: %08x and %08x"):format((i - 1) // 4 % 32,
          (i - 1) % 4, a[i], b[i])
      end
    end
  end
  return n, first
end

local wrong, floats, rows = 0, 0, 0
local function row(form, name)
  state = options.seed -- a row's numbers are its own, whichever rows there are
  rows = rows + 1
  local ok, n, first = pcall(compare, form, name)
  if not ok then n, first = -1, tostring(n) end
  if n ~= 0 then wrong = wrong + 1 end
  if n > 0 and layout[form.a] then floats = floats + 1 end
  print(("%-44s %s"):format(name, n == 0 and "the same" or n < 0 and first
    or ("%d words differ, first %s"):format(n, first)))
end
for _, form in ipairs(forms) do
  local name = ("%s %s %s %s %s%s%s"):format(opcode(form), form.shape, form.a, form.b, form.c,
    form.selector and " " .. form.selector or form.tail or "",
    form.group and " " .. form.group or "")
  if name:find(options.only, 1, true) then row(form, name) end
end
print(("%d of %d instructions differ, seed %d"):format(wrong, rows, options.seed))
if options["self-test"] then os.exit(floats > 0 and wrong == floats and 0 or 1, true) end
os.exit(wrong == 0 and 0 or 1, true)
