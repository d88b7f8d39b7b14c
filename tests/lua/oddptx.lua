-- oddptx: odd but well-formed PTX, a line in a function at a time, and what ptxas and the virtual
-- GPU say of it. For tests/lua/verifier.lua.
--
-- A snippet is { text, where }: `text` stands in a kernel ("entry") or in a function that a kernel
-- calls ("func"), where all variables and registers of HEAD and BODY are known. Many snippets make
-- one module: ptxas says the line of each that it refuses, and a module without those is taken.

local M = {}

local HEAD = [[
.version 8.5
.target sm_90
.address_size 64
.global .align 16 .b8 g[64];
.global .align 4 .b32 gw;
.const .align 16 .b8 c[64];
.shared .align 16 .b8 s[64];
.extern .shared .align 16 .b8 dyn[];
.func (.param .b32 r) callee(.param .b32 a)
{
	.reg .b32 %t;
	ld.param.b32 %t, [a];
	st.param.b32 [r], %t;
	ret;
}
]]

-- Registers: %p0 is false; %rd1 a buffer's address, %rd2, %r2 0: an offset that is fine anywhere;
-- %rd3 a generic address in shared memory, %rd4 one in local memory, %rd5 a function's.
local BODY = [[
	.reg .pred %p<4>;
	.reg .b8 %x<4>;
	.reg .b16 %h<8>;
	.reg .u16 %hu<4>;
	.reg .b32 %r<8>;
	.reg .u32 %u<4>;
	.reg .s32 %i<4>;
	.reg .f32 %f<8>;
	.reg .b64 %rd<8>;
	.reg .u64 %ud<4>;
	.reg .f64 %d<8>;
	.reg .f16 %hf<4>;
	.reg .f16x2 %hh<4>;
	.reg .b128 %w<2>;
	.local .align 16 .b8 l[64];
	.shared .align 16 .b8 ls[64];
	.param .align 16 .b8 q[64];
	mov.b64 %rd1, g;
	mov.b64 %rd2, 0;
	mov.b32 %r2, 0;
	mov.b32 %r1, 1;
	mov.b64 %rd3, s;
	cvta.shared.u64 %rd3, %rd3;
	mov.b64 %rd4, l;
	cvta.local.u64 %rd4, %rd4;
	mov.b64 %rd5, callee;
	setp.ne.b32 %p0, %r2, 0;
	mov.b32 %r3, 3;
	mov.b32 %f1, 0f3F800000;
	mov.b64 %d1, 0d3FF0000000000000;
	mov.b16 %h1, 1;
	mov.b64 %rd6, 8;
	mov.b32 %u1, 1;
	mov.b32 %i1, 1;
	mov.b64 %ud1, 8;
	mov.b16 %hu1, 1;
]]

local function as_entry(n, text)
  return (".visible .entry k%d(.param .u64 y, .param .align 16 .b8 p[64])\n{\n%s%s\n\tret;\n}\n")
    :format(n, BODY, text)
end

local function as_func(n, text)
  return (".func (.param .align 16 .b8 r%d[64]) f%d" ..
    "(.param .u64 y, .param .align 16 .b8 p[64])\n{\n"):format(n, n)
    .. BODY .. text:gsub("%f[%w]result%f[%W]", "r" .. n) ..
    "\n\tret;\n}\n" .. ([[
.visible .entry k%d(.param .u64 y, .param .align 16 .b8 p[64])
{
	.param .u64 a;
	.param .align 16 .b8 b[64];
	.param .align 16 .b8 c[64];
	.reg .b64 %%z;
	mov.b64 %%z, 0;
	st.param.b64 [a], %%z;
	st.param.b64 [b], %%z;
	call.uni (c), f%d, (a, b);
	ret;
}
]]):format(n, n)
end

--- The module of some snippets, whose kernels are k1, k2 …; and for each its first and last line.
---@param list table[] snippets
---@return string text, table[] lines
function M.module(list)
  local parts, lines, line = { HEAD }, {}, select(2, HEAD:gsub("\n", "")) + 1
  for i, snippet in ipairs(list) do
    local head = snippet.head and snippet.head .. "\n" or ""
    local text = head .. (snippet.whole and snippet.whole:gsub("#", i) or
      (snippet.where == "func" and as_func or as_entry)(i, snippet.text))
    local height = select(2, text:gsub("\n", ""))
    lines[i] = { line, line + height - 1 }
    line = line + height
    parts[#parts + 1] = text
  end
  return table.concat(parts), lines
end

--- The path of ptxas, or nil.
---@return string?
function M.ptxas()
  for _, name in ipairs { "ptxas", "/usr/local/cuda/bin/ptxas" } do
    if os.execute(name .. " --version >/dev/null 2>&1") then return name end
  end
end

local function assemble(program, folder, text)
  local path = folder .. "/odd.ptx"
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
  file:flush()
  local pipe <close> = assert(io.popen(("%s -arch=sm_90 -O0 %s -o %s/odd.cubin %s 2>&1"):format(
    program,
    text:find(".extern .func", 1, true) and "-c" or "", folder, path)))
  local said = pipe:read "a"
  return pipe:close() and true or false, said
end

--- Which snippet a line of what ptxas said is about.
local function blame(said, lines, list, refused)
  local n = 0
  for line, kind, why in said:gmatch "line (%d+)([^\n]-):%s*([^\n]*)" do
    line = not kind:find "warning" and tonumber(line) or -1
    for i, at in ipairs(lines) do
      local snippet = list[i]
      if line >= at[1] and line <= at[2] and not refused[snippet] then
        refused[snippet], n = why, n + 1
      end
    end
  end
  for name, why in said:gmatch "[Ff]unction '[kf](%d+)'([^\n]*)" do
    local snippet = list[tonumber(name)]
    if snippet and not refused[snippet] then refused[snippet], n = why, n + 1 end
  end
  return n
end

M.SILENT = "ptxas itself ends by a signal"

--- What ptxas refuses: why, by snippet (SILENT: it says nothing). A module that it refuses without
--- a line is cut in two.
---@param program string
---@param folder string
---@param list table[]
---@return table<table, string> refused
function M.refused(program, folder, list)
  local refused = {}
  local function try(some)
    while #some > 0 do
      local text, lines = M.module(some)
      local fine, said = assemble(program, folder, text)
      if fine then return end
      local dies = said:find("Segmentation fault", 1, true) or said == ""
      if #some == 1 then
        refused[some[1]] = not dies and (said:match "error%s*:%s*([^\n]*)" or said) or M.SILENT
        return
      end
      if blame(said, lines, some, refused) == 0 then
        try(table.move(some, 1, #some // 2, 1, {}))
        return try(table.move(some, #some // 2 + 1, #some, 1, {}))
      end
      local left = {}
      for _, snippet in ipairs(some) do
        if not refused[snippet] then left[#left + 1] = snippet end
      end
      some = left
    end
  end
  for from = 1, #list, 200 do try(table.move(list, from, math.min(from + 199, #list), 1, {})) end
  return refused
end

--- What the virtual GPU says of one snippet: "ok", "refused" or a fault's status; and why.
---@param gi table
---@param device Device
---@param snippet table
---@return string status, string? message
function M.run(gi, device, snippet)
  local module, why = device:load((M.module { snippet }))
  if not module then return "refused", why end
  local y = gi.array("i32", 64)
  local m, said = module:launch { kernel = "k1", grid = 1, block = 64, args = {
    device:buffer(y), ("\0"):rep(64) }, shared = 64 }
  if not m then return "refused", said end
  return m.status, m.message
end

--------------------------------------------------------------------------------------------------
-- Snippets: each space by each form of access by each way to name an address

local SPACES = { "", ".global", ".const", ".shared", ".shared::cta", ".local", ".param",
  ".param::entry", ".param::func" }
local ADDRESSES = { "g", "gw", "c", "s", "dyn", "l", "ls", "p", "q", "y", "callee", "result", "g+4",
  "s+60", "l+62", "p+62", "p+-4", "q+64", "%rd1", "%rd2", "%rd3", "%rd4", "%rd5", "%r2", "%ud1",
  "%f1", "%h1", "%p0", "%d1", "%rd1+16", "%r2+-4", "0", "16", "1.5" }
local USES = { "ld%s.b32 %%r4, [%s];", "st%s.b32 [%s], %%r1;",
  "ld%s.v4.b32 {%%r4,%%r5,%%r6,%%r7}, [%s];",
  "st%s.b8 [%s], %%h1;", "ld%s.b64 %%rd7, [%s];", "atom%s.add.u32 %%r4, [%s], %%r1;",
  "red%s.add.u32 [%s], %%r1;", "atom%s.cas.b32 %%r4, [%s], %%r1, %%r2;", "ldu%s.b32 %%r4, [%s];",
  "prefetch%s.L1 [%s];", "ld.volatile%s.b32 %%r4, [%s];" }

--- All of them, in kernels and in functions.
---@return table[] snippets
function M.accesses()
  local list = {}
  for _, where in ipairs { "entry", "func" } do
    for _, use in ipairs(USES) do
      for _, space in ipairs(SPACES) do
        for _, address in ipairs(ADDRESSES) do
          if where == "func" or address ~= "result" then
            list[#list + 1] = { where = where, text = "\t" .. use:format(space, address) }
          end
        end
      end
    end
    for _, a in ipairs(ADDRESSES) do
      for _, text in ipairs { "cp.async.ca.shared.global [" .. a .. "], [%rd1], 4;",
        "cp.async.ca.shared.global [%r2], [" .. a .. "], 4;", "mov.b64 %rd7, " .. a .. ";",
        "mov.u32 %r4, " .. a .. ";", "cvta.global.u64 %rd7, " .. a .. ";",
        "cvta.shared.u64 %rd7, " .. a .. ";", "cvta.local.u64 %rd7, " .. a .. ";",
        "cvta.param.u64 %rd7, " .. a .. ";", "isspacep.shared %p1, " .. a .. ";",
        "txq.width.b32 %r4, [" .. a .. "];", "prefetchu.L1 [" .. a .. "];" } do
        if where == "func" or a ~= "result" then
          list[#list + 1] = { where = where, text = "\t" .. text }
        end
      end
    end
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- Snippets: plain instructions, changed

local PLAIN = [[
add.s32 %r4, %r1, %r2;
add.u64 %rd7, %rd1, %rd2;
add.u16 %h2, %h1, %h3;
add.sat.s32 %r4, %r1, 5;
add.f32 %f2, %f1, 0f3F800000;
add.rn.ftz.f32 %f2, %f1, %f3;
add.f64 %d2, %d1, %d3;
add.cc.u32 %r4, %r1, %r2;
addc.u32 %r4, %r1, %r2;
sub.s32 %r4, %r1, 7;
mul.lo.s32 %r4, %r1, %r3;
mul.hi.u32 %r4, %r1, %r3;
mul.wide.s32 %rd7, %r1, 4;
mul.f32 %f2, %f1, %f3;
mad.lo.s32 %r4, %r1, %r2, %r3;
mad.wide.u32 %rd7, %r1, %r3, %rd6;
fma.rn.f32 %f2, %f1, %f3, %f4;
fma.rn.f64 %d2, %d1, %d3, %d4;
div.s32 %r4, %r3, %r1;
div.rn.f32 %f2, %f1, %f3;
rem.u32 %r4, %r3, %r1;
min.s32 %r4, %r1, %r2;
max.f32 %f2, %f1, %f3;
neg.s32 %r4, %r1;
abs.f32 %f2, %f1;
sqrt.rn.f32 %f2, %f1;
rcp.approx.ftz.f32 %f2, %f1;
ex2.approx.ftz.f32 %f2, %f1;
and.b32 %r4, %r1, 255;
or.b64 %rd7, %rd1, %rd2;
xor.b16 %h2, %h1, %h3;
and.pred %p1, %p0, %p2;
not.b32 %r4, %r1;
shl.b32 %r4, %r1, 3;
shr.s32 %r4, %r1, %r3;
shl.b64 %rd7, %rd6, 2;
shf.l.wrap.b32 %r4, %r1, %r2, %r3;
prmt.b32 %r4, %r1, %r2, 0x3210;
lop3.b32 %r4, %r1, %r2, %r3, 0x96;
bfe.u32 %r4, %r1, 3, 8;
bfi.b32 %r4, %r1, %r2, 3, 8;
popc.b32 %r4, %r1;
clz.b64 %r4, %rd1;
brev.b32 %r4, %r1;
bfind.u32 %r4, %r1;
dp4a.u32.u32 %r4, %r1, %r2, %r3;
sad.u32 %r4, %r1, %r2, %r3;
vadd.s32.u32.s32.sat %r4, %r1, %r2;
vmin.s32.s32.s32.add %r4, %r1.b1, %r2.h1, %r3;
vshl.u32.s32.u32.clamp %r4, %r1, %r3;
vmad.s32.s32.u32.shr7 %r4, %r1, %r2, %r3;
vset.s32.u32.lt %r4, %r1, %r2;
vadd4.u32.u32.u32.sat %r4, %r1, %r2, %r3;
vabsdiff2.u32.s32.s32.add %r4.h1, %r1.h20, %r2, %r3;
vset4.s32.u32.ge %r4.b21, %r1, %r2, %r3;
setp.lt.s32 %p1, %r1, %r2;
setp.ne.and.f32 %p1, %f1, 0f00000000, %p0;
setp.eq.b64 %p1|%p2, %rd1, 0;
set.eq.u32.s32 %r4, %r1, %r2;
selp.b32 %r4, %r1, 1, %p0;
selp.f32 %f2, %f1, %f3, %p0;
slct.s32.f32 %r4, %r1, %r2, %f1;
cvt.u64.u32 %rd7, %r1;
cvt.rn.f32.s32 %f2, %r1;
cvt.rzi.s32.f32 %r4, %f1;
cvt.f64.f32 %d2, %f1;
cvt.rn.f32.f64 %f2, %d1;
cvt.u16.u32 %h2, %r1;
cvt.u32.u8 %r4, %h1;
cvt.rn.f16.f32 %h2, %f1;
cvt.f32.f16 %f2, %h1;
mov.u32 %r4, %tid.x;
mov.b32 %f2, %r1;
mov.u64 %rd7, g;
mov.u32 %r4, s;
mov.f32 %f2, 0f3F800000;
mov.b64 {%r4,%r5}, %rd1;
mov.b64 %rd7, {%r1,%r2};
mov.b32 {%h2,%h3}, %r1;
mov.pred %p1, %p0;
mov.u64 %rd7, callee;
mov.v4.b32 {%r4,%r5,%r6,%r7}, {%r1,%r2,%r3,%r1};
mov.b128 %w1, {%rd1,%rd2};
ld.global.b32 %r4, [%rd1];
ld.global.b128 %w1, [%rd1];
ld.global.L2::cache_hint.b32 %r4, [%rd1], %rd2;
createpolicy.fractional.L2::evict_last.b64 %rd7, 0.5;
prefetch.global.L2::evict_last [%rd1];
fence.proxy.async.global;
fence.acquire.cluster;
pmevent 3;
max.xorsign.abs.f16x2 %r4, %r1, %r2;
cvt.rn.relu.satfinite.f16.f32 %h2, %f1;
cvt.rn.satfinite.bf16x2.f32 %r4, %f1, %f3;
ld.global.nc.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1+16];
ld.shared.u16 %h2, [%r2+4];
ld.local.u64 %rd7, [l+8];
ld.const.f32 %f2, [c+4];
ld.param.u32 %r4, [p+4];
ld.u8 %h2, [%rd3];
ld.relaxed.gpu.global.u32 %r4, [%rd1];
ld.volatile.shared.u32 %r4, [s];
st.global.f32 [%rd1], %f1;
st.global.v2.b32 [%rd1+8], {%r1,%r2};
st.shared.b64 [%rd2], %rd1;
st.local.u8 [l], %h1;
st.param.b32 [q+4], %r1;
st.release.gpu.global.u32 [%rd1], %r1;
st.wb.global.u32 [%rd1], 5;
atom.global.add.u32 %r4, [%rd1], %r1;
atom.shared.exch.b32 %r4, [s], %r1;
atom.global.cas.b64 %rd7, [%rd1], %rd2, %rd6;
atom.global.add.f32 %f2, [%rd1], %f1;
atom.add.noftz.f16x2 %r4, [%rd1], %r1;
atom.acq_rel.gpu.global.min.s32 %r4, [%rd1], 3;
red.global.max.u32 [%rd1], %r1;
red.relaxed.gpu.global.add.u64 [%rd1], %rd6;
cp.async.ca.shared.global [%r2], [%rd1], 8;
cp.async.cg.shared.global.L2::128B [s], [g], 16, 12;
cp.async.commit_group;
cp.async.wait_group 0;
cp.async.mbarrier.arrive.noinc.shared.b64 [s];
mbarrier.init.shared.b64 [s], %r1;
mbarrier.inval.shared.b64 [s];
mbarrier.arrive.release.cta.shared::cta.b64 %rd7, [s], %r1;
mbarrier.arrive.expect_tx.shared.b64 _, [s], %r1;
mbarrier.arrive.noComplete.shared.b64 %rd7, [%rd3], 2;
mbarrier.arrive_drop.shared.b64 %rd7, [s];
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [s], 16;
mbarrier.complete_tx.shared::cta.b64 [s], %r1;
mbarrier.test_wait.shared.b64 %p1, [s], %rd6;
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [s], %r1, 100;
mbarrier.pending_count.b64 %r4, %rd6;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], %r1, [s];
cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 16;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [s], %r1;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1, {0,0}], [s];
cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r1}], [s];
st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r2], {%r1, %r1}, [s];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r2], %r1, [s];
mapa.shared::cluster.u32 %r4, %r2, 0;
getctarank.shared::cluster.u32 %r4, %r2;
barrier.cluster.arrive.release.aligned;
ld.relaxed.cluster.shared::cluster.u32 %r4, [%r2];
fence.proxy.async.shared::cta;
fence.mbarrier_init.release.cluster;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4,%r5,%r6,%r7}, [s];
ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r4}, [%r2];
stmatrix.sync.aligned.m8n8.x2.shared.b16 [s], {%r1,%r2};
movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r1;
mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r4,%r5}, {%r1}, {%r2}, {%r1,%r2};
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d2,%d3}, {%d1}, {%d1}, {%d1,%d1};
wmma.load.a.sync.aligned.row.m8n8k32.shared.u4 {%r4}, [s], 32;
cp.async.bulk.prefetch.L2.global [%rd1], 16;
applypriority.global.L2::evict_normal [%rd1], 128;
prefetch.global.L2 [%rd1];
cvta.shared.u64 %rd7, s;
cvta.to.global.u64 %rd7, %rd1;
isspacep.global %p1, %rd1;
shfl.sync.bfly.b32 %r4|%p1, %r1, 1, 31, 0xffffffff;
vote.sync.ballot.b32 %r4, %p0, 0xffffffff;
match.any.sync.b32 %r4, %r1, 0xffffffff;
redux.sync.add.s32 %r4, %r1, 0xffffffff;
activemask.b32 %r4;
elect.sync %r4|%p1, 0xffffffff;
bar.sync 0;
bar.red.popc.u32 %r4, 0, %p0;
barrier.sync.aligned 1, 64;
bar.warp.sync 0xffffffff;
membar.gl;
fence.acq_rel.gpu;
nanosleep.u32 10;
alloca.u64 %rd7, %rd6, 8;
stacksave.u64 %rd7;
tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd2, {%r1}];
tex.2d.v4.u32.f32 {%r4,%r5,%r6,%r7}, [%rd2, {%f1,%f2}];
tld4.r.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd2, {%f1,%f2}];
suld.b.1d.b32.trap %r4, [%rd2, {%r1}];
sust.b.2d.v2.b32.clamp [%rd2, {%r1,%r2}], {%r3,%r1};
txq.width.b32 %r4, [%rd2];
ret;
exit;
trap;
]]

local OPERANDS = { "%r1", "%r2", "%r4", "%rd1", "%rd7", "%f1", "%f2", "%d1", "%h1", "%h2", "%p0",
  "%p1",
  "%u1", "%i1", "%ud1", "%hu1", "%hf1", "%hh1", "%x1", "%w1", "!%p0", "!%r1", "-%r1", "_", "0",
    "1", "-1",
  "31", "32", "255", "256", "65536", "0xffffffff", "0x100000000", "1.0", "0f3F800000",
  "0d3FF0000000000000", "g", "s", "l", "c", "p", "q", "callee", "%tid.x", "%laneid", "%clock64",
  "[%rd1]", "[g]", "[s]", "[l]", "[c]", "[p]", "[q]", "[%r2]", "[%rd1+4]", "[%rd1+1]", "[s+2]",
  "{%r1,%r2}", "{%f1,%f2,%f3,%f4}", "{%r1,_}", "{%rd1,%rd2}", "%p0|%p1", "(q)", "nowhere" }
local MODIFIERS = { "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32",
  "s64", "f16",
  "f16x2", "bf16", "f32", "f64", "pred", "global", "shared", "local", "const", "param", "v2", "v4",
  "v8", "rn", "rz", "ftz", "sat", "lo", "hi", "wide", "cc", "sync", "aligned", "volatile",
    "relaxed",
  "acquire", "release", "gpu", "cta", "sys", "weak", "nc", "ca", "cg", "wb", "approx", "full",
    "and",
  "or", "eq", "lt", "add", "cas", "exch", "noftz", "L1::evict_last", "L2::128B", "1d", "2d", "3d",
  "trap", "clamp", "uni", "to", "all", "any", "x" }

local plain
local function plain_list()
  if plain then return plain end
  plain = {}
  for line in PLAIN:gmatch "[^\n]+" do plain[#plain + 1] = line end
  return plain
end

-- "a, {b, c}, [d]" at its outer commas.
local function split(text)
  local list, depth, from = {}, 0, 1
  for at, char in text:gmatch "()(.)" do
    if char:find "[%[{(]" then depth = depth + 1
    elseif char:find "[%]})]" then depth = depth - 1 end
    if char == "," and depth == 0 then
      list[#list + 1] = text:sub(from, at - 1)
      from = at + 1
    end
  end
  if text:find "%S" then list[#list + 1] = text:sub(from) end
  for i, part in ipairs(list) do list[i] = part:match "^%s*(.-)%s*$" end
  return list
end

local function pick(rng, list)
  return list[rng:int(#list)]
end

local function change_words(rng, words)
  local how, at = rng:int(4), rng:int(#words)
  if how == 1 then words[at] = pick(rng, MODIFIERS)
  elseif how == 2 then table.insert(words, at, pick(rng, MODIFIERS))
  elseif how == 3 then table.remove(words, at)
  else
    local other = rng:int(#words)
    words[at], words[other] = words[other], words[at]
  end
end

local function change_operands(rng, operands)
  local how, at = rng:int(6), rng:int(#operands)
  if how <= 3 then operands[at] = pick(rng, OPERANDS)
  elseif how == 4 then
    local other = rng:int(#operands)
    operands[at], operands[other] = operands[other], operands[at]
  elseif how == 5 then table.insert(operands, at, pick(rng, OPERANDS))
  else table.remove(operands, at) end
end

--- A plain instruction with one or two changes.
---@param rng Rng
---@return table snippet
function M.changed(rng)
  local line = pick(rng, plain_list())
  local opcode, mods, rest = line:match "^(%w+)([%w%.:_]*)%s*(.-);$"
  local words, operands = {}, split(rest)
  for word in mods:gmatch "[^%.]+" do words[#words + 1] = word end
  for _ = 1, rng:int(2) do
    local turn = rng:int(5)
    if turn <= 2 and #words > 0 then change_words(rng, words)
    elseif #operands > 0 then change_operands(rng, operands) end
  end
  local guard = rng:int(12) == 1 and "@" .. pick(rng, { "%p0 ", "!%p0 " }) or ""
  local head = guard .. opcode .. (#words > 0 and "." .. table.concat(words, ".") or "")
  return { where = rng:int(4) == 1 and "func" or "entry",
    text = "\t" .. head .. " " .. table.concat(operands, ", ") .. ";" }
end

--- The plain instructions as they are: ptxas takes them all.
---@return table[] snippets
function M.unchanged()
  local list = {}
  for i, line in ipairs(plain_list()) do list[i] = { where = "entry", text = "\t" .. line } end
  return list
end

--- The plain instructions with operands left out, the last one first, until none is left. Behind a
--- loop's load and compare-and-swap, for which the decoder looks at other instructions.
---@return table[] snippets
function M.cut()
  local list = {}
  local before = "\tld.volatile.global.u32 %r5, [%rd1];\n" ..
    "\tatom.global.cas.b32 %r6, [%rd1], %r7, 1;\n"
  for _, line in ipairs(plain_list()) do
    local opcode, rest = line:match "^(%S+)%s*(.-);$"
    local operands = split(rest)
    for n = #operands - 1, 0, -1 do
      local left = table.concat(operands, ", ", 1, n)
      list[#list + 1] = { where = "entry", text = before .. "\t" .. opcode .. " " .. left .. ";" }
    end
  end
  return list
end

--------------------------------------------------------------------------------------------------
-- Snippets: whole files. A kernel k# of (.param .u64 y, .param .align 16 .b8 p[64]); # is a number

local KERNEL = ".visible .entry k#(.param .u64 y, .param .align 16 .b8 p[64])\n{\n" .. BODY
local RESULT = "\n\tld.param.u64 %rd1, [y];\n\tst.global.u32 [%rd1], %r4;\n\tret;\n}\n"

local function kernel(head, text)
  return { text = text, whole = (head .. KERNEL .. text .. RESULT), is_file = true }
end

-- A function of some parameters and a call of it.
local function call(formals, rets, body, declared, how)
  local head = (".func %s F#%s\n{\n\t.reg .b32 %%r<8>;\n" ..
    "\t.reg .b64 %%rd<8>;\n%s\n\tret;\n}\n"):format(
    rets, formals, body)
  return kernel(head, "\t{\n\t" .. declared .. "\n\t" .. how .. "\n\t}\n")
end

local TAKE = "\tld.param.b32 %r1, [a];\n\tst.param.b32 [r], %r1;"

--- Functions and calls that do not fit, recursion, alloca, tables, textures, nested launches,
--- asynchronous copies, control flow.
---@return table[] snippets
function M.files()
  local list = {}
  local function add(s) list[#list + 1] = s end
  for _, formal in ipairs { ".param .b32 a", ".param .b64 a", ".param .align 4 .b8 a[4]",
    ".param .align 16 .b8 a[1000]", ".param .b8 a", ".param .f32 a", ".param .align 8 .b8 a[8]" } do
    for _, given in ipairs { ".param .b32 x;", ".param .b64 x;", ".param .align 4 .b8 x[4];",
      ".param .align 16 .b8 x[1000];", ".param .align 8 .b8 x[8];" } do
      add(call("(" .. formal .. ")", "(.param .b32 r)", "", given .. " .param .b32 z;",
        "call (z), F#, (x);"))
    end
  end
  for _, how in ipairs { "call (z), F#, (x);", "call F#, (x);", "call (z), F#;",
    "call (z), F#, (x, x);",
    "call (z, z), F#, (x);", "call (z), F#, (z);", "call (x), F#, (x);", "call (p), F#, (x);",
    "call (z), F#, (p);", "call (z), F#, (y);", "call (z), F#, (g);", "call (z), k#, (x);",
    "call (z), nowhere, (x);", "call (z), %rd5, (x);", "call (z), F#, (x), F#;",
      "call (s), F#, (x);",
    "call (z), F#, (x+0);", "call (z), F#, ({x});", "call (z), F#, (_);", "call (z), F#, (%r1);",
    "call (z), F#, (1);", "call.uni (z), F#, (x);", "call.gpu (z), F#, (x);" } do
    add(call("(.param .b32 a)", "(.param .b32 r)", TAKE, ".param .b32 x; .param .b32 z;", how))
  end
  for _, proto in ipairs { "(.param .b32 _) _ (.param .b32 _)",
    "(.param .b32 _) _ (.param .b64 _)", "_ ()",
    "(.param .b64 _) _ (.param .b32 _)", "(.param .b32 _) _ (.param .align 4 .b8 _[4])",
    "(.param .b32 _) _ (.param .align 16 .b8 _[4096])" } do
    for _, target in ipairs { "F#", "callee", "g", "k#" } do
      add(call("(.param .b64 a)", "(.param .b32 r)", "",
        ".param .b32 x; .param .b32 z; st.param.b32 [x], %r1;",
        "mov.b64 %rd7, " .. target .. ";\n\tpr: .callprototype " .. proto .. ";\n\t" ..
        "call (z), %rd7, (x), pr;"))
    end
    add(kernel("", "\t.param .b32 x; .param .b32 z;\n\tpr: .callprototype " .. proto ..
      ";\n\tcall (z), %rd6, (x), pr;\n"))
  end
  for _, room in ipairs { "16", "100000", "%rd1", "-1", "0" } do
    for _, body in ipairs { "st.local.b32 [%rd7], %r1;", "st.local.b32 [%rd7+16], %r1;",
      "st.local.b32 [%rd7+-4], %r1;", "stackrestore.u64 %rd7; st.local.b32 [%rd7], %r1;",
      "stackrestore.u64 %rd1; ld.local.b32 %r4, [%rd7];" } do
      add(kernel("", "\tmov.b64 %rd6, " .. (room:find "%%" and "-5" or room) ..
        ";\n\talloca.u64 %rd7, %rd6;\n\t" .. body .. "\n"))
    end
  end
  for _, depth in ipairs { "1", "100", "100000" } do
    add(kernel([[
.func (.param .b32 r) D#(.param .b32 a)
{
	.reg .b32 %a<4>;
	.reg .pred %p;
	.local .align 16 .b8 big[256];
	.param .b32 x;
	.param .b32 z;
	ld.param.b32 %a1, [a];
	setp.eq.u32 %p, %a1, 0;
	@%p bra done;
	sub.u32 %a1, %a1, 1;
	st.param.b32 [x], %a1;
	call (z), D#, (x);
	ld.param.b32 %a1, [z];
done:
	st.param.b32 [r], %a1;
	ret;
}
]], "\t.param .b32 x;\n\t.param .b32 z;\n\tst.param.b32 [x], " .. depth ..
      ";\n\tcall (z), D#, (x);\n\tld.param.b32 %r4, [z];\n"))
  end
  for _, index in ipairs { "0", "1", "2", "-1", "%r3", "%rd1", "%f1", "%tid.x" } do
    add(kernel("", "\tts: .branchtargets A, B;\n\tmov.b32 %r5, 1;\n\tbrx.idx " .. index ..
      ", ts;\nA:\n\tadd.s32 %r4, %r4, 1;\nB:\n"))
  end
  for _, text in ipairs { "bra C;", "bra A; { A: }", "{ A: } bra A;",
    "ts: .branchtargets Z;\n\tbrx.idx 0, ts;",
    "ts: .branchtargets A;\n\tbrx.idx %r2, g;\nA:", "A:\n\tA:", "@%p0 bra A;\nA:",
      "bra A;\n\tadd.s32 %r4, 1, 2;\nA:" } do
    add(kernel("", "\t" .. text .. "\n"))
  end
  for _, handle in ipairs { "%rd1", "%rd2", "%rd5", "%r1", "g", "[g]", "0", "%rd1+8" } do
    for _, text in ipairs { "tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [H, {%r1}];",
      "suld.b.2d.b32.zero %r4, [H, {%r1,%r2}];",
        "sust.b.1d.v4.b32.clamp [H, {%r1}], {%r1,%r2,%r3,%r4};",
      "suq.width.b32 %r4, [H];", "tld4.g.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [H, {%f1,%f2}];" } do
      local named = text:gsub("H", function() return handle end)
      add(kernel("", "\t" .. named .. "\n"))
    end
  end
  for _, to in ipairs { "%r2", "s", "s+60", "s+64", "dyn+100", "%rd3", "%rd1", "l" } do
    for _, from in ipairs { "%rd1", "g+60", "g+64", "%rd4", "c", "y" } do
      add(kernel("", ("\tcp.async.ca.shared.global [%s], [%s], 16;\n\tcp.async.commit_group;\n" ..
        "\tcp.async.wait_group 0;\n"):format(to, from)))
    end
  end
  local provided = { { "vprintf", ".b64 ; .b64", ".b32" }, { "malloc", ".b64", ".b64" },
    { "free", ".b64", "" }, { "__cudaCDP2GetParameterBufferV2", ".b64 ; .align 4 .b8 [12] ; " ..
    ".align 4 .b8 [12] ; .b32", ".b64" }, { "__cudaCDP2LaunchDeviceV2", ".b64 ; .b64", ".b32" },
    { "__cudaCDP2MemcpyAsync", ".b64 ; .b64 ; .b64 ; .b32 ; .b64", ".b32" },
    { "__cudaCDP2MemsetAsync", ".b64 ; .b32 ; .b64 ; .b64", ".b32" } }
  for _, f in ipairs(provided) do
    for _, value in ipairs { "%rd1", "%rd3", "%rd4", "%rd5", "%rd2", "-1", "1" } do
      add(M.provided(f[1], f[2], f[3], value))
    end
  end
  return list
end

--- A call of a function that CUDA provides, all of whose parameters of 8 bytes are one value.
function M.provided(name, params, ret, value)
  local formals, declared, names = {}, {}, {}
  for one in (params .. " ; "):gmatch "(.-) ; " do
    local i = #formals + 1
    local type, array = one:match "^(%S.-%S*)%s*(%[?%d*%]?)$"
    formals[i] = (".param %s a%d%s"):format(type, i, array)
    declared[i] = ("\t.param %s x%d%s;\n\tst.param.b%s [x%d], %s;\n"):format(type, i, array,
      type == ".b64" and "64" or "32", i, type == ".b64" and value or "1")
    names[i] = "x" .. i
  end
  local result = ret ~= "" and ("(.param %s r) "):format(ret) or ""
  return kernel((".extern .func %s%s(%s);\n"):format(result, name, table.concat(formals, ", ")),
    ("\t{\n%s%s\tcall %s%s, (%s);\n\t}\n"):format(table.concat(declared),
      ret ~= "" and "\t.param " .. ret .. " z;\n" or "", ret ~= "" and "(z), " or "", name,
      table.concat(names, ", ")))
end

local DECLARATIONS = [[
.local .b32 a[-1];
.local .b32 a[];
.local .b32 a[0];
.local .b32 a[1000000];
.local .b32 a[400000000];
.local .b8 GIGABYTES;
.shared .b8 GIGABYTES;
.param .b8 GIGABYTES; st.param.b8 [e+999999999], 1;
.local .align 3 .b32 a;
.local .align 0 .b32 a;
.local .align 1048576 .b32 a;
.local .align 1 .b32 a; st.local.b32 [a], 1;
.shared .v4 .b64 a;
.shared .v3 .b32 a;
.shared .v4 .f32 a; st.shared.v4.f32 [a], {%f1,%f2,%f3,%f4};
.shared .pred a;
.shared .b32 a = 5;
.param .v2 .b32 a;
.param .align 256 .b8 a[4];
.param .align 3 .b8 a[4];
.reg .texref a;
.reg .bf16 a;
.reg .v2 .b64 a;
.reg .v4 .b64 a;
.reg .b32 %r1;
{ .reg .b32 %r1; }
.reg .b32 y;
.reg .b32 a<0>;
.reg .b32 a<-1>;
.extern .shared .b8 a[];
.extern .global .b32 a;
.global .b32 a = 1.0;
.global .f32 a = 1;
.global .u64 a = g;
.global .u64 a = g+-4;
.global .u64 a = g-4;
.global .s64 a = g;
.global .u32 a = g;
.global .u64 a = s;
.global .u64 a = callee;
.global .u64 a = callee+4;
.global .u8 a[2] = {0xff(g), 0xff00(g)};
.global .u8 a[2] = {0xf(g), 1};
.global .u32 a[2] = {1,2,3};
.global .u32 a[2] = 1;
.global .u32 a[2][2] = {1,2,3};
.global .u32 a[2][2] = {{1},{2,3}};
.const .b8 a[70000];
.const .b8 a[60000];
.local .texref a;
.pragma "nounroll";
.file 1 "a.cu"
.loc 1 1 1
;
.maxntid 32
]]

-- Five variables, a to f, whose sizes together overflow 32 bits.
local function huge(space)
  local list = {}
  for name in ("abdef"):gmatch "." do
    list[#list + 1] = ("%s .b8 %s[1000000000];"):format(space, name)
  end
  return table.concat(list, " ")
end

--- Declarations in a body.
---@return table[] snippets
function M.declarations()
  local list = {}
  for line in DECLARATIONS:gmatch "[^\n]+" do
    local space = line:match "^(%S+) %S+ GIGABYTES;"
    local many = space and line:gsub("^%S+ %S+ GIGABYTES;", huge(space)) or line
    list[#list + 1] = { where = "entry", text = "\t" .. many:gsub("; ", ";\n\t") }
  end
  return list
end

local TF32 = "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f2,%f3,%f4,%f5}, "
local ZERO = "0f00000000"
local PHASE = "mbarrier.init.shared.b64 [s], 1;\n\t"

--- Numbers in the place of registers, floats in that of whole numbers, modifiers in other orders.
---@return table[] snippets
function M.numbers()
  local list = {}
  for _, text in ipairs { TF32 .. "{%r1,%r2}, {%r1}, {0,0,0,0};",
    TF32 .. ("{%%r1,%%r2}, {%%r1}, {%s,%s,%s,%s};"):format(ZERO, ZERO, ZERO, ZERO),
    TF32 .. "{0,0}, {%r1}, {%f1,%f1,%f1,%f1};", "movmatrix.sync.aligned.m8n8.trans.b16 %r4, 5;",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [s], {1,2};", "cp.async.wait_group 1.0;",
    "cp.async.bulk.wait_group.read 1.0;", "cp.async.bulk.wait_group 1;",
    PHASE .. "mbarrier.test_wait.parity.shared.b64 %p1, [s], 7;",
    PHASE .. "mbarrier.test_wait.parity.shared.b64 %p1, [s], 1;",
    "ldmatrix.b16.aligned.m8n8.x4.shared.sync {%r4,%r5,%r6,%r7}, [s];",
    "movmatrix.aligned.m8n8.trans.sync.b16 %r4, %r1;",
    "st.global.b32.v2 [%rd1+8], {%r1,%r2};" } do
    list[#list + 1] = { where = "entry", text = "\t" .. text }
  end
  return list
end

return M
