-- Tensor maps that a kernel makes (tensormap.replace, tensormap.cp_fenceproxy): a box is loaded by
-- one, and maps that fit nothing end the launch with the reason.

package.path = "tests/lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

local FRAME <const> = [[
.version 8.7
.target sm_90a
.address_size 64
.entry k(.param .u64 from, .param .u64 map_at, .param .u64 to) {
.reg .b32 t, r, s, box, bar, done; .reg .b64 in, made, out, d; .reg .pred first, p, zero;
.shared .align 128 .b8 map[128]; .shared .align 128 .b8 tile[128]; .shared .align 8 .b64 full;
ld.param.u64 in, [from]; ld.param.u64 made, [map_at]; ld.param.u64 out, [to];
cvta.to.global.u64 made, made; cvta.to.global.u64 out, out;
mov.u32 t, %%tid.x; setp.eq.u32 first, t, 0;
shl.b32 r, t, 2; mov.u32 s, map; add.u32 s, s, r; st.shared.b32 [s], 0;
bar.warp.sync -1;
@!first bra made_it;
%s
made_it:
bar.warp.sync -1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
  [made], [map], 128;
fence.proxy.tensormap::generic.acquire.gpu [made], 128;
mov.u32 box, tile; mov.u32 bar, full;
@!first bra loaded;
mbarrier.init.shared.b64 [bar], 1;
fence.proxy.async.shared::cta;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes
  [box], [made, {4, 2}], [bar];
loaded:
bar.warp.sync -1;
again:
mbarrier.try_wait.parity.shared.b64 p, [bar], 0;
@!p bra again;
mov.u32 s, tile; add.u32 s, s, r; ld.shared.b32 done, [s];
mul.wide.u32 d, t, 4; add.u64 out, out, d; st.global.b32 [out], done;
ret; }
]]

--- The fields of a map of 5 rows of 10 numbers, 12 apart, whose box has 4 rows of 8.
local function fields(more)
  local list = {
    { "global_address", "b64", "in" }, { "rank", "b32", 1 },
    { "box_dim", "b32", 0, 8 }, { "box_dim", "b32", 1, 4 },
    { "global_dim", "b32", 0, 10 }, { "global_dim", "b32", 1, 5 },
    { "global_stride", "b64", 0, 48 },
    { "element_stride", "b32", 0, 1 }, { "element_stride", "b32", 1, 1 },
    { "elemtype", "b32", 3 }, { "interleave_layout", "b32", 0 }, { "swizzle_mode", "b32", 0 },
    { "fill_mode", "b32", 0 },
  }
  table.move(more, 1, #more, #list + 1, list)
  local lines = {}
  for i, f in ipairs(list) do
    lines[i] = ("tensormap.replace.tile.%s.shared::cta.b1024.%s [map], %s;"):format(f[1], f[2],
      table.concat(f, ", ", 3))
  end
  return table.concat(lines, "\n")
end

--- shift: of the tensor's numbers, which are 1, 2 …
local function run(more, races, shift)
  local device <close> = gi.device "emu"
  local input, out = gi.array("i32", 60), gi.array("i32", 32):fill(-1)
  for i = 1, 60 do input[i] = i << (shift or 0) end
  local made = device:buffer(gi.array("u8", 256):fill(0))
  local result = device:buffer(out)
  local module, why = device:load(FRAME:format(fields(more)))
  local info, said = nil, why
  if module then info, said = module:info "k" end
  if not info then return nil, said end
  local m = module:launch { kernel = "k", grid = 1, block = 32, check_races = races,
    count_uninitialised = races and true,
    args = { device:buffer(input), made, result } }
  if m.status == "ok" then result:read(out) end
  return m, out
end

tap.case("a box is loaded by a map that the kernel made", function()
  for _, races in ipairs { false, "global" } do
    local m, out = run({}, races or nil)
    tap.is(m.status, "ok", m.message)
    local wrong = 0
    for y = 0, 3 do
      for x = 0, 7 do
        local inside = 4 + x < 10 and 2 + y < 5
        local want = inside and (2 + y) * 12 + 4 + x + 1 or 0
        if out[y * 8 + x + 1] ~= want then wrong = wrong + 1 end
      end
    end
    tap.is(wrong, 0, "numbers of the box")
    tap.is(m.warnings, nil)
  end
end)

tap.case("a load of tf32 rounds to the nearest, and one that is flushed flushes nothing", function()
  for _, case in ipairs { { 8, 23 }, { 8, 13 }, { 8, 0 }, { 11, 23 }, { 11, 13 }, { 12, 23 },
    { 12, 13 }, { 11, 12, 0x1c000 }, { 11, 11, 0xe000 }, { 12, 12, 0x1c000 } } do
    local m, out = run({ { "elemtype", "b32", case[1] } }, nil, case[2])
    tap.is(m.status, "ok", m.message)
    tap.is(out[1], case[3] or 29 << case[2], ("type %d, shift %d"):format(case[1], case[2]))
  end
end)

tap.case("what is outside may be NaNs, of floats", function()
  local m, out = run { { "elemtype", "b32", 7 }, { "fill_mode", "b32", 1 } }
  tap.is(m.status, "ok", m.message)
  tap.is(("%d %x %x"):format(out[1], out[7], out[32]), "29 7ff77ff7 7ff77ff7", "0x7ff7 everywhere")
  m = run { { "fill_mode", "b32", 1 } }
  tap.is(m.status, "launch_error")
  tap.has(m.message, "a fill of NaNs is of floating-point elements", "and of no others")
end)

tap.case("a map that fits nothing ends the launch with the reason", function()
  for _, case in ipairs {
    { { "rank", "b32", 9 }, "has no 1 to 5 dimensions" },
    { { "box_dim", "b32", 1, 70000 }, "no 1 to 256 elements" },
    { { "box_dim", "b32", 0, 7 }, "rows are no multiples of 16" },
    { { "element_stride", "b32", 1, 9 }, "element stride is not 1 to 8" },
    { { "global_stride", "b64", 0, 40 }, "stride is no multiple of 16" },
    { { "global_address", "b64", 24 }, "address is no multiple of 16" },
    { { "swizzle_mode", "b32", 1 }, nil },
    { { "rank", "b32", 0 }, "a tensor map of 1 dimensions for a copy of 2" },
  } do
    local m = run { case[1] }
    if case[2] then
      tap.is(m.status, "launch_error")
      tap.ok(m.message:find(case[2], 1, true), m.message)
    else
      tap.is(m.status, "ok", m.message)
    end
  end
end)

tap.case("a map beyond shared memory, or at an odd place, is a fault", function()
  local text = FRAME:format(fields {})
  for _, case in ipairs { { "[map+256], 1;", "illegal_address" },
                          { "[map+64], 1;", "misaligned" } } do
    local device <close> = gi.device "emu"
    local changed = text:gsub("rank%.shared::cta%.b1024%.b32 %[map%], 1;",
      "rank.shared::cta.b1024.b32 " .. case[1])
    local args = {}
    for i = 1, 3 do args[i] = device:buffer(gi.array("u8", 256):fill(0)) end
    local module = assert(device:load(changed))
    local m = module:launch { kernel = "k", grid = 1, block = 32, args = args }
    tap.is(m.status, case[2], m.message)
  end
end)

tap.case("what no map can hold is refused", function()
  for _, case in ipairs {
    { { "elemtype", "b32", 13 }, "elemtype 13 is not supported" },
    { { "fill_mode", "b32", 2 }, "fill_mode 2 is not supported" },
    { { "interleave_layout", "b32", 1 }, "interleave_layout 1 is not supported" },
    { { "box_dim", "b32", 5, 1 }, "box_dim has dimensions 0 to 4" },
    { { "rank", "b64", "in" }, "does not know this instruction" },
  } do
    local m, why = run { case[1] }
    tap.is(m, nil)
    tap.ok(tostring(why):find(case[2], 1, true), why)
  end
end)

tap.done()
