-- no_memory.lua [PIECE] - a short run of one binding, for tests/cli/no_memory.t: from the word
-- FAIL_FROM_HERE on, which no_memory.c hears, allocations may fail; what comes of it is printed.
-- Without an argument: the names of the pieces.

local core = require "gilua.core"
local gi = require "gilua"

local KERNEL = [[
#define UNROLL 2
__constant__ float scale[4];
texture_t dummy;
extern "C" __global__ void k(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  for (int j = 0; j < UNROLL; j++) {
    if (i + j < n) sum += x[i + j];
  }
  if (i < n) y[i] = sum;
}
]]

local PTX = [[
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .f32 %f<3>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra $done;
  mul.wide.s32 %rd3, %r5, 4;
  cvta.to.global.u64 %rd4, %rd1;
  cvta.to.global.u64 %rd5, %rd2;
  add.s64 %rd6, %rd4, %rd3;
  add.s64 %rd7, %rd5, %rd3;
  ld.global.f32 %f1, [%rd6];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd7], %f2;
$done:
  ret;
}
]]

local function must(value, ...)
  if value == nil then gi.fail("%s", (...)) end
  return value, ...
end

local PIECES = {}

function PIECES.array()
  local a = gi.array("f32", 100):fill(2)
  local b = gi.array.from({ 1, 2, 3 }, "f64")
  local c = gi.array.frombytes(("\1\0\0\0"):rep(10), "i32")
  local copy = a:copy()
  copy:put(4, 8)
  local share = must(core.array.share { a, b })
  local arrays = must(share:arrays())
  return a:hash(), b[2], c[5], copy[4], #arrays, arrays[1][7],
    gi.array.compare(a, copy, { max_error = 1 }).max_error, tostring(a), #a:bytes()
end

function PIECES.grammar()
  local g = must(gi.grammar.parse("k.cu", { text = KERNEL, pragmas = true, restricts = true,
    config = { { name = "UNROLL", on_value = "4", in_source = true } } }))
  local rng, out = gi.rng(3), {}
  for i = 1, 5 do
    local gene = must(g:random_gene(rng))
    local source, why = g:apply(gene, true)
    out[i] = gene .. " " .. core.system.hash(source or why)
  end
  local again = must(gi.grammar.read(tostring(g)))
  local _, why = g:apply "<nothing>"
  local tokens = gi.grammar.tokens(KERNEL)
  return table.concat(out, "\n"), #g:rules(), again:gene_count() == g:gene_count(), why,
    g:line(3), #g:outline(), tokens:find(1, "sum"), table.concat(g:kernels(), " ")
end

function PIECES.device()
  local device = must(gi.device "emu")
  local x, y = gi.array("f32", 70):fill(2), gi.array("f32", 70)
  local bx, by = must(device:buffer(x)), must(device:buffer(y))
  local module = must(device:load(PTX))
  local how = { kernel = "k", grid = 3, block = 32, args = { bx, by, { "i32", 70 } } }
  local function launched()
    local m = must(module:launch(how))
    if m.status == "out_of_memory" then gi.fail("%s", m.message) end
    return m
  end
  local m = launched()
  how.check_races, how.count_uninitialised, how.max_faults = true, true, 3
  local checked = launched()
  by:read()
  how.args[3] = { "i32", 90 }
  local wrong = launched()
  return m.status, m.ticks, checked.status, y[70], wrong.status, wrong.message,
    device:load "nonsense" == nil
end

function PIECES.ptx()
  return core.compile.canonical_hash(PTX)
end

function PIECES.image()
  local path = os.tmpname()
  local pixels = gi.array("u8", 20, 30)
  for i = 1, 600 do pixels[i] = i % 251 end
  local seen = {}
  for _, extension in ipairs { ".pgm", ".png" } do
    must(gi.image.write(path .. extension, pixels))
    seen[#seen + 1] = must(gi.image.read(path .. extension))[600]
    os.remove(path .. extension)
  end
  os.remove(path)
  return table.unpack(seen)
end

function PIECES.nifti()
  local path = os.tmpname()
  local voxels = gi.array("i16", 4, 5, 6)
  for i = 1, 120 do voxels[i] = i end
  local seen = {}
  for _, extension in ipairs { ".nii", ".nii.gz", ".img" } do
    must(gi.nifti.write(path .. extension, voxels))
    seen[#seen + 1] = must(gi.nifti.read(path .. extension)).data[77]
    os.remove(path .. extension)
  end
  os.remove(path .. ".hdr")
  os.remove(path)
  return table.unpack(seen)
end

function PIECES.file()
  local folder <close> = must(core.file.folder())
  local path = folder:path() .. "/a"
  must(core.file.write(path, "text"))
  must(core.file.write(path, "other"))
  must(core.file.link("a", path .. ".link"))
  local journal = must(core.file.journal(path .. ".log"))
  must(journal:add "line\n")
  journal:close()
  must(core.file.lock(path .. ".lock", "me")):close()
  return gi.textfile.read(path, "it"), gi.textfile.read(path .. ".log", "the log")
end

-- Changes that wait are whole ones, also behind one for which there was no memory.
local function waiting(sql)
  local list = {}
  for i = 1, 40 do
    local tries = 0
    repeat
      tries = tries + 1
      local added, why = pcall(core.store.later, list, sql, i, nil, "x")
      if not added and tries == 3 then error(why, 0) end
    until added
  end
  return list
end

function PIECES.store()
  local path = os.tmpname()
  local s = must(core.store.open(path))
  must(s:execute "CREATE TABLE t (a INTEGER, b TEXT, c BLOB)")
  for i = 1, 20 do must(s:run("INSERT INTO t VALUES (?1, ?2, ?3)", i, ("x"):rep(i * 50), nil)) end
  local whole, done, why = pcall(s.run_all, s, waiting "INSERT INTO t VALUES (?1, ?2, ?3)")
  if not whole and not tostring(done):find "memory" then os.exit(99) end -- no sentence: it is torn
  must(whole and done or nil, whole and why or done)
  local rows = must(s:rows "SELECT * FROM t ORDER BY a DESC")
  local row = must(s:row("SELECT sum(a) AS n, count(c) AS c FROM t WHERE a > ?1", 3))
  s:close()
  local reader = must(core.store.open(path, { read_only = true }))
  local n = must(reader:row "SELECT count(*) AS n FROM t").n
  reader:close()
  for _, extension in ipairs { "", "-wal", "-shm" } do os.remove(path .. extension) end
  return #rows, rows[1].c, row.n, row.c, n
end

function PIECES.pack()
  local packed = core.store.pack(PTX .. "!", PTX)
  return #packed, must(core.store.unpack(packed, #PTX + 1, PTX)) == PTX .. "!"
end

function PIECES.wire()
  local value = { 1, 2.5, "x", { a = { b = true } }, ("long"):rep(100) }
  local arrays = {}
  local bytes = core.wire.encode({ value, gi.array("f32", 3) }, arrays)
  return #bytes, core.wire.decode(bytes, arrays)[1][4].a.b
end

function PIECES.system()
  return core.system.hash "a", core.system.hash128 "a", core.system.sha256 "a",
    core.system.printable "\27[1m", core.system.run { argv = { "/bin/true" } }
end

function PIECES.rng()
  local rng = gi.rng(7)
  return rng:int(100), rng:unit(), rng:normal(), rng:pick { 1, 2, 3 },
    rng:fill(gi.array("f32", 9), -1, 1):hash()
end

function PIECES.library()
  local lib = must(gi.library(gi.home .. "/kernels/reduction/reference.so"))
  local values = gi.array("f32", 4, 4)
  lib:call("reduction_matrix", { { "i64", 3 }, { "i64", 4 }, { "i64", 4 }, { "i64", 4 }, values })
  return values:hash()
end

-- A worker that answers what it is asked.
local ECHO = [[
require "gilua.core".farm.serve(function(bytes, share) return bytes:upper(), share end)
]]

function PIECES.farm()
  local workers = must(core.farm.open({ core.system.program(), "-e", ECHO }, 1, {}))
  workers:send(1, "hello", must(core.array.share { gi.array("f32", 5):fill(3) }))
  local kind, _, answer, share
  repeat kind, _, answer, share = workers:wait(5) until kind ~= "nothing"
  local back = share and must(share:arrays())[1][5]
  workers:close()
  return kind, answer, back
end

function PIECES.text()
  local json = gi.json.encode { a = { 1, 2, { b = "x" } }, c = 1.5 }
  return gi.json.decode(json).a[3].b, gi.diff.unified("a\nb\nc\n", "a\nB\nc\nd\n", "f"),
    must(gi.luadata.read 'return { 1, { x = "y" } }') ~= nil
end

function PIECES.archive()
  local path = os.tmpname()
  os.remove(path)
  local archive = gi.archive.open(path)
  local id = archive:world "a world"
  local run = archive:begin_run { world = id, seed = 1, device = "emu", problem = "p",
    command = "{}" }
  for i = 1, 10 do
    archive:evaluated(run, { id = i, genome = "g" .. i, birth = "initial", parents = {},
      fitness = i, measurement = { status = "ok", ticks = i, n = 3 } }, 1, "case")
  end
  archive:end_run(run)
  archive:flush()
  local n = archive:row("SELECT count(*) AS n, sum(ticks) AS t FROM evaluations")
  archive:close()
  for _, extension in ipairs { "", "-wal", "-shm" } do os.remove(path .. extension) end
  return n.n, n.t
end

local piece = arg[1]
if not piece then
  print(table.concat(gi.settings.keys(PIECES), "\n"))
  return
end
local run = PIECES[piece]
run() -- what is loaded when it is first used is loaded
os.getenv "FAIL_FROM_HERE"
print(run())
