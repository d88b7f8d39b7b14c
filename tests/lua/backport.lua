-- backport: a genome's changes in the file that the kernel came from, host code and all.
-- Random genomes; the seed is printed and may be given: ./gilua tests/lua/backport.lua 7

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"
local headers = require "gilua.new.headers"
local pythontext = require "gilua.new.pythontext"
local scratch = require "scratch"

local SEED = math.tointeger(tonumber(arg and arg[1])) or 1
local GENOMES = 2 -- of each file
local FILES = {
  { "cpp" }, { "doubles", genomes = 1, headers = true }, { "image" }, { "macros" }, { "many" },
  { "saxpy" }, { "shared" }, { "shared", python = true },
  { "structs" }, { "templates" },
  { "includes/includes", include = "includes/inc", define = "DIM=3" },
}

local function copy(from, to)
  scratch.write(to, assert(tap.read(from)))
end

-- A place with the user's file, and the problem that is cut out of it, by hand: nothing is run.
local function place_of(file, text)
  local place = tap.folder()
  for _, name in ipairs { "common.cuh", "inc/vec.h" } do
    require("lfs").mkdir(place .. "/inc")
    copy("tests/own/includes/" .. name, place .. "/" .. name)
  end
  local path, folder = place .. (file.python and "/user.py" or "/user.cu"), place .. "/problem"
  scratch.write(path, text)
  text = headers.read(path, "the kernel")
  require("lfs").mkdir(folder)
  local include = { place, place .. "/inc" }
  local o = { folder = folder, options = { "-I" .. folder, "-I" .. place, "-I" .. place .. "/inc",
    "-I" .. gi.home .. "/lua/gilua/include", file.define and "-D" .. file.define } }
  local kernels = gi.slice.kernels(text, path)
  local kernel = kernels[#kernels].name
  local host = gi.hostcode.read(text)
  local launch = host:launch(kernel)
  o.template = gi.launchguess.template(kernels[#kernels], launch, {}, host, {})
  local sliced = gi.slice.cut(text, path, kernel, o)
  scratch.write(folder .. "/kernel.cu", sliced.source)
  scratch.write(folder .. "/problem.lua", ([[return { source = "kernel.cu", kernel = %q, size = 1,
    args = { { name = "x", type = "f32", count = 1, role = "out" } }, include = { %q, %q },
    defines = { %s }, made_from = { path = %q, template = { %s } } }]]):format(kernel, include[1],
    include[2], file.define and ("%q"):format(file.define) or "", path,
    #o.template > 0 and '"' .. table.concat(o.template, '", "') .. '"' or ""))
  return gi.problem(folder), path, o
end

-- PTX without what names lines and files.
local function compiled(source, options)
  local ptx, why = gi.compile(source, { target = "compute_90", options = options,
    name = "user.cu" })
  return ptx and ptx:gsub("//[^\n]*", ""):gsub("%.loc[^\n]*", ""):gsub("%.file[^\n]*", ""), why
end

local function random_genome(problem, rng)
  local genes = {}
  for i = 1, 1 + rng:int(3) do genes[i] = problem.grammar:random_gene(rng) end
  return table.concat(genes, " ")
end

-- Does the changed file, cut again, compile to what the mutant does?
local function comes_back(problem, path, o, genome)
  local mutant = problem.grammar:apply(genome, true)
  local want = compiled(mutant, o.options)
  if not want then return nil end -- such a mutant is never a winner
  local text = gi.backport.file(gi.kept.of(problem), genome)
  if pythontext.is(path) then text = pythontext.source(text, path) end
  local again = gi.slice.cut(text, path, problem.kernel, o)
  return again.source == mutant or compiled(again.source, o.options) == want
end

for _, file in ipairs(FILES) do
  tap.case(file[1], function()
    if file.headers and not gi.compile("#include <cooperative_groups.h>\n") then
      tap.skip("NVRTC has no CUDA headers here, which " .. file[1] .. ".cu includes")
      return
    end
    if file.headers and tap.sanitized(file[1] .. ".cu, which compiles slowly") then return end
    local text = assert(tap.read("tests/own/" .. file[1] .. ".cu"))
    local problem, path, o -- in the end those of the file as it is
    local own_end = text:match "\r?\n"
    local ends = { own_end == "\n" and "\r\n" or "\n", own_end }
    for _, ending in ipairs(file.headers and { own_end } or ends) do
      local kind = ending == "\n" and "LF" or "CR LF"
      local own = text:gsub("\r?\n", ending) .. ""
      if file.python then own = ('import cupy%sx = r"""%s"""  # CUDA\n'):format(ending, own) end
      problem, path, o = place_of(file, own)
      local back, old, whence = gi.backport.file(gi.kept.of(problem), "")
      tap.ok(back == own and old == own, kind .. ": nothing changed gives the file byte for byte")
      tap.is(whence, path, "and its path")
    end
    local rng, tried, right, wanted = gi.rng(SEED), 0, 0, file.genomes or GENOMES
    for _ = 1, 5 * wanted do
      local genome = random_genome(problem, rng)
      local back = comes_back(problem, path, o, genome)
      if back ~= nil then
        tried = tried + 1
        right = right + (back and 1 or 0)
        if not back then tap.note("seed " .. SEED .. ": " .. genome) end
      end
      if tried == wanted then break end
    end
    tap.is(right .. " of " .. tried, wanted .. " of " .. wanted,
      "the changed file, cut again, compiles to the mutant's PTX")
  end)
end

-- The first gene of each kind that changes the code: what it does to which type, by which.
local function one_of_each(problem)
  local seen, list, g = {}, {}, problem.grammar
  for i = 1, g:gene_count() do
    local gene = g:genes(g:gene(i))[1]
    local kind = table.concat({ gene.kind, gene.target and gene.target.type or gene.text,
      gene.source and gene.source.type or "" }, " ")
    if not seen[kind] then
      seen[kind] = true
      list[#list + 1] = gene.text
    end
  end
  return list, seen
end

tap.case("genes of every kind", function()
  local text = assert(tap.read "tests/own/structs.cu")
  local problem, path, o = place_of({ "structs" }, text)
  local genes, kinds = one_of_each(problem)
  for _, kind in ipairs { "delete init ", "replace init init", "insert statement init",
    "replace statement init", "delete for2 ", "delete for3 " } do
    tap.ok(kinds[kind], "there is one: " .. kind)
  end
  for _, gene in ipairs(genes) do
    tap.ok(comes_back(problem, path, o, gene), gene)
  end
end)

tap.case("a file that begins with a byte order mark", function()
  local mark, rest = "\xEF\xBB\xBF", "#ifdef __CUDACC__\n#include <cuda.h>\n#endif\n"
    .. "__global__ void k(float *x)\n{\n    x[0] = 1;\n    x[1] = 2;\n}\n"
  local problem, path = place_of({}, "   " .. rest)
  scratch.write(path, mark .. rest)
  local text, old = gi.backport.file(gi.kept.of(problem), "")
  tap.ok(text == mark .. rest and old == text, "nothing changed gives the file byte for byte")
  text = gi.backport.file(gi.kept.of(problem), "<_kernel.cu_7>")
  tap.is(text, mark .. rest:gsub("x%[1%] = 2;", ""), "a change leaves the mark")
end)

tap.case("what others call too stays theirs", function()
  local text = [[
#define SCALE 3
__device__ float twice(float v)
{
  float w = v;
  w += v;
  return w * SCALE;
}
__device__ float more(float v) { return twice(v) + 1; }
__global__ void other(float *x) { x[threadIdx.x] = more(x[threadIdx.x]); }
__global__ void k(float *x)
{
  x[threadIdx.x] = more(x[threadIdx.x]) + twice(2);
}
]]
  local problem, path = place_of({}, text)
  local kept = gi.kept.of(problem)
  local files = gi.backport.files(kept, "<_kernel.cu_12>")
  tap.is(#files[1].copies, 0, "nothing is copied where the kernel alone is changed")
  files = gi.backport.files(kept, "<_kernel.cu_5>")
  tap.has(files[1].text:gsub("\n%s*\n", "\n"), [[
  return w * SCALE;
}
__device__ float twice_k(float v)
{
  float w = v;
  return w * SCALE;
}
__device__ float more(float v) { return twice(v) + 1; }
__device__ float more_k(float v) { return twice_k(v) + 1; }
]], "beside a copy of each")
  tap.has(files[1].text, "x[threadIdx.x] = more_k(x[threadIdx.x]) + twice_k(2);", "which k calls")
  local copies = {}
  for _, one in ipairs(files[1].copies) do copies[#copies + 1] = one.name .. " " .. one.copy end
  table.sort(copies)
  tap.is(table.concat(copies, ", "), "more more_k, twice twice_k", "told")
  local function ptx_of(of, entry)
    local ptx = compiled(of:gsub("__global__", 'extern "C" %0'), {})
    return ptx:match("(%.entry " .. entry .. ".-\n}\n)")
  end
  local whole = text:gsub("  w %+= v;", "")
  tap.ok(ptx_of(files[1].text, "k") == ptx_of(whole, "k"), "the kernel is the mutant")
  tap.ok(ptx_of(files[1].text, "other") == ptx_of(text, "other"), "the other one what it was")
  scratch.write(path, (text:gsub("\n", "\r\n")))
  problem = place_of({}, text:gsub("\n", "\r\n"))
  local again = gi.backport.files(gi.kept.of(problem), "<_kernel.cu_5>")[1].text
  tap.ok(again:gsub("\r\n", "\n") == files[1].text, "with the file's ends of lines")
  local double = text:gsub("__device__ float more",
    "__device__ int twice(int v) { return v; }\n%0")
  problem = place_of({}, double)
  files = gi.backport.files(gi.kept.of(problem), "<_kernel.cu_5>")
  tap.is(table.concat(files[1].shared), "a function is changed that others call: there are 2 "
    .. "functions twice", "what cannot be copied is told")
end)

tap.case("a macro that others use too is told", function()
  local shared = require "gilua.new.sharedcode"
  local text = "#define N 3\n__device__ int f() { return N; }\n"
    .. "__global__ void k(int *x) { *x = f(); }\n"
  local changed = text:gsub("3", "4")
  tap.is(#select(3, shared.apart(text, changed, { "k" })), 0, "not one's own")
  local other = "__global__ void other(int *x) { *x = 2 * N; }\n"
  local _, copies, seen = shared.apart(text .. other, changed .. other, { "k" })
  tap.is(#copies, 0, "a function with it is what it was")
  tap.is(table.concat(seen), "the macro N is changed, and other uses it", "the sentence")
end)

-- The text with a random end on each line; the last may have none.
local function mixed(text, rng)
  local own = text:gsub("\r?\n", function() return rng:int(2) == 1 and "\n" or "\r\n" end)
  return rng:int(2) == 1 and own:gsub("\r?\n$", "") or own
end

local function ends_of(text)
  local list = {}
  for stop in text:gmatch "[^\n]-(\r?\n)" do list[#list + 1] = stop end
  return list
end

-- Does each line of the changed text end as the line of the file that it stands for?
local function ends_kept(problem, genome, back, own)
  local origin = select(2, problem.grammar:apply(genome, true)).origin
  local old, new = ends_of(own), ends_of(back)
  for i, from in ipairs(origin) do
    if old[from] and new[i] ~= old[from] then return false end
  end
  return (back:sub(-1) == "\n") == (own:sub(-1) == "\n")
end

tap.case("line ends stay as they were, mixed ones too", function()
  local rng = gi.rng(SEED)
  for _, name in ipairs { "saxpy", "shared", "many" } do
    local text = assert(tap.read("tests/own/" .. name .. ".cu")):gsub("\r\n", "\n")
    local plain = place_of({ name }, text)
    local own = mixed(text, rng)
    local problem = place_of({ name }, own)
    local right, wanted = 0, 20
    for _ = 1, wanted do
      local genome = random_genome(plain, rng)
      local back = gi.backport.file(gi.kept.of(problem), genome)
      local want = gi.backport.file(gi.kept.of(plain), genome)
      local same = back:gsub("\r", ""):gsub("\n$", "") == want:gsub("\n$", "")
      local ok = same and ends_kept(problem, genome, back, own)
      right = right + (ok and 1 or 0)
      if not ok then tap.note("seed " .. SEED .. ": " .. genome) end
    end
    tap.is(right, wanted, name .. ": only the lines that a genome touches change")
  end
end)

tap.case("one line with CR LF in a file of LF stays one", function()
  local text = assert(tap.read "tests/own/shared.cu")
  local own = text:gsub("\n", "\r\n", 1)
  local problem = place_of({ "shared" }, own)
  local pragma
  for _, rule in ipairs(problem.grammar:rules()) do
    if rule.type == "pragma" then pragma = rule.name end
  end
  local back = gi.backport.file(gi.kept.of(problem), pragma .. "<pragma_K2>")
  local _, lines = gi.report.diff(own, back, "x"):gsub("\n[+-][^+-]", "")
  tap.is(lines, 1, "the difference is the pragma alone")
end)

tap.case("from another folder than the run began in", function()
  local lfs = require "lfs"
  local text = "__global__ void k(float *x) {\n    x[threadIdx.x] = TIMES;\n}\n"
  local place, began = tap.folder(), lfs.currentdir()
  assert(lfs.chdir(place) and lfs.mkdir "own")
  scratch.write("own/before.h", "#define TIMES 3\n") -- what stood before the kernel's file
  scratch.write("user.cu", text)
  local sliced = gi.slice.cut(text, place .. "/user.cu", "k", { folder = place .. "/own",
    template = {}, options = { "-I" .. place .. "/own", "--pre-include=before.h" } })
  scratch.write("own/kernel.cu", sliced.source)
  scratch.write("own/problem.lua", ([[return { source = "kernel.cu", kernel = "k", size = 1,
    args = { { name = "x", type = "f32", count = 1, role = "out" } },
    options = { "--pre-include=before.h" },
    made_from = { path = %q, template = {} } }]]):format(place .. "/user.cu"))
  local kept = gi.kept.of(gi.problem "own")
  lfs.chdir(began)
  tap.is(gi.backport.file(kept, ""), text, "the compiler finds the problem's headers")
end)

tap.case("a launch of whose grid something is asked", function()
  local text = [[
__global__ void k(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int f = blockIdx.z;
    if (i < n) y[f * n + i] = x[i];
}
int main(int argc, char **argv)
{
    float *x, *y;
    int m = atoi(argv[1]), filters = 30, layers = 32;
%s
}
]]
  local function is(launches, done, left, want, why)
    local problem = place_of({}, text:format(launches))
    local genome
    for _, kind in ipairs(problem.grammar:transformations()) do
      for _, place in ipairs(kind.name == "merge" and kind.places or {}) do
        genome = place.gene:match "^T:merge<%d+>%(z,4%)$" or genome
      end
    end
    local files, _, launched = gi.backport.files(gi.kept.of(problem), genome)
    tap.is(("%d %d"):format(launched.done, #launched.left), done .. " " .. left, why)
    tap.is(#gi.launchneeds.unwritten(problem, genome), left, why .. ": so many are a person's")
    tap.has(left > 0 and gi.launchneeds.place(launched.left[1]) or files[1].text, want, why)
    return table.concat(gi.promises.open(problem, genome), "; ")
  end
  local function call(z, x)
    return ("k<<<dim3(%s, 1, %s), 64>>>(x, y, 9);"):format(x or "2", z)
  end
  local function written(z, x) return call(("(%s + 3) / 4"):format(z), x) end
  local open = is(call "layers", 1, 0, written "layers", "is written where the code keeps it")
  tap.is(open:match "a multiple.*", nil, "and promises nothing of it")
  tap.has(is(call "m", 1, 0, written "m", "and where nobody knows"),
    "a multiple of 4 blocks in z, and how many blocks line 11 launches is not known", "is marked")
  local place = "line 11 of user.cu, `%s`"
  tap.has(is(call "filters", 0, 1, place:format(call "filters"), "not where it breaks that"),
    "a multiple of 4 blocks in z, but line 11 launches 2 x 1 x 30", "which the promise says")
  is(call("filters", "m"), 0, 1, place:format(call("filters", "m")), "nor with others unknown")
  is(call("layers", "m"), 1, 0, written("layers", "m"), "is, where that side keeps it")
  is(call "layers" .. "\n" .. call "30", 0, 2, place:format(call "layers"),
    "no launch where one breaks it")
  is("dim3 g(2, 1, filters);\nk<<<g, 64>>>(x, y, 9);", 0, 1, "k<<<g, 64>>>", "of a dim3, too")
  is("#ifdef NONE\n" .. call "layers" .. "\n#endif\n" .. call "layers", 0, 2, "layers",
    "nor what the compiler leaves out and nobody can ask")
end)

tap.case("launches by a macro that is given the kernel", function()
  local HEAD = [[
#define LAUNCH(kernel, n, ...) \
    do { kernel<<<((n) + 63) / 64, 64>>>(__VA_ARGS__); } while (0)
__global__ void other(float *x) { x[threadIdx.x] = 1; }
__global__ void k(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    float *x;
    LAUNCH(other, 1, x);
]]
  local function written(text)
    local problem = place_of({}, text)
    problem.kernel = "k"
    local kept = gi.kept.of(problem)
    for _, file in ipairs(kept.files) do
      if file.name == "problem.lua" then
        file.text = file.text:gsub("size = 1,", "size = 64, block_size_x = 64,", 1)
      end
    end
    kept.parameters = { { name = "block_size_x", default = 64, in_source = false } }
    kept.grammar = { apply = function(_, genome)
      local mutant, detail = problem.grammar:apply("", true)
      local twice = genome == "twice" and { ["T:launch"] = "grid.x*2" }
      detail.params = twice or { block_size_x = genome:match "%d+" }
      return mutant, detail
    end }
    return kept, function(genome) return gi.backport.files(kept, genome or "block_size_x=128") end
  end
  local function is(body, want, done, why, head)
    local _, files_of = written((head or HEAD) .. body .. "\n}\n")
    local files, _, launched = files_of()
    tap.is(launched and launched.done, done, why .. ": launches written")
    tap.is(files[1].text, (head or HEAD) .. want .. "\n}\n", why)
  end
  is("    LAUNCH(k, n, x, n);", "    do { k<<<((n) + 127) / 128, 128>>>(x, n); } while (0);", 1,
    "is written out with the launch that it gets")
  is("    LAUNCH(k, n,\n        x, n); f();",
    "    do { k<<<((n) + 127) / 128, 128>>>(x, n); } while (0)\n; f();", 1, "lines stay")
  is("    LAUNCH(k, n, x, n);\n    k<<<n / 64 + 1, 64>>>(x, n);",
    "    do { k<<<((n) + 127) / 128, 128>>>(x, n); } while (0);\n"
    .. "    k<<<n / 128 + 1, 128>>>(x, n);", 2, "beside others")
  local named = HEAD:gsub("__VA_ARGS__%)", "%0; puts(#kernel #n)", 1)
  is('    LAUNCH(k, n + *"\\2", x, n);',
    '    do { k<<<(((n + *"\\2") + 63) / 64 + 1) / 2, 128>>>(x, n); puts("k" "n + *\\"\\\\2\\""); }'
    .. " while (0);", 1, "makes strings of what it is given", named)
  local pair = "#define BOTH(n) ((n) + 63) / 64, 64\n"
    .. "#define NEXT 3, 64\n#define ALONE 64\n"
  for use, want in pairs { ["k<<<BOTH(n)>>>"] = "k<<<((n) + 127) / 128, 128>>>",
    ["k<int><<<NEXT>>>"] = "k<int><<<2, 128>>>" } do
    local rest = "(x, n); other<<<NEXT>>>(x); f(NEXT);"
    is(use .. rest, want .. rest, 1, use .. ": a macro that gives both", pair .. HEAD)
  end
  is("k<<<ALONE, 64>>>(x, n);", "k<<<(ALONE + 1) / 2, 128>>>(x, n);", 1, "not one that gives one",
    pair .. HEAD)
  local odd = HEAD:gsub("__VA_ARGS__%)", "%0; kernel##_done()", 1)
  is("    LAUNCH(k, n, x, n);", "    LAUNCH(k, n, x, n);", nil,
    "not one that makes a name of it", odd)

  local kernel = HEAD:match "__global__ void k.-\n}\n"
  local kept, files_of = written(kernel)
  local path = kept.made_from.path:match "^(.*)/" .. "/main.cpp"
  local MAIN = '#include "k.h"\nint main(int c, char **v) { int n = atoi(v[1]); %s; }\n'
  scratch.write(path:match "^(.*)/" .. "/k.h", HEAD:match "^.-\n.-\n" .. kernel:match "^[^\n]*"
    .. ";\n")
  scratch.write(path, MAIN:format "n, x, n")
  local function elsewhere(launch, want, why)
    scratch.write(path, MAIN:format(launch))
    local files, _, launched = files_of()
    tap.is(("%d %d %s"):format(launched.done, #launched.left, files[2] and files[2].text),
      "1 0 " .. MAIN:format(want), why)
  end
  elsewhere("LAUNCH(k, n, x, n)", "do { k<<<((n) + 127) / 128, 128>>>(x, n); } while (0)",
    "in another file of the program, by its header's macro")
  elsewhere("k<<<(n + 63) / 64, 64>>>(x, n)", "k<<<(n + 127) / 128, 128>>>(x, n)", "or not")

  kept, files_of = written('#include "common.cuh"\n' .. kernel)
  local folder = kept.made_from.path:match "^(.*)/" -- the problem's has a part of the header
  scratch.write(folder .. "/problem/common.cuh", "#pragma once\n")
  scratch.write(folder .. "/common.cuh", "int blocks(int n);\n")
  kept.options = { "-I" .. folder .. "/problem", "-I" .. folder }
  scratch.write(folder .. "/main.cpp", MAIN:format "k<<<blocks(n), 64>>>(x, n)")
  local files, _, launched = files_of "twice"
  tap.is(("%d %s"):format(launched.done, files[2] and files[2].text),
    "1 " .. MAIN:format "k<<<(blocks(n)) * 2, 64>>>(x, n)", "by a function of the program's header")
end)

tap.case("what cannot be put back is a sentence", function()
  local text = assert(tap.read "tests/own/saxpy.cu")
  local problem, path = place_of({ "saxpy" }, text)
  local kept = gi.kept.of(problem)
  scratch.write(path, (text:gsub("a %* x", "2 * a * x")))
  tap.has(scratch.sentence(gi.backport.file, kept, ""), "is not what it was in the run",
    "a file that was changed since")
  os.remove(path)
  tap.has(scratch.sentence(gi.backport.file, kept, ""),
    "cannot read the file that the kernel came from", "a file that is gone")
  scratch.write(path, text)
  tap.has(scratch.sentence(gi.backport.file, kept, "<_kernel.cu_9999>"), "does not fit",
    "a genome of another kernel")
end)

tap.done()
