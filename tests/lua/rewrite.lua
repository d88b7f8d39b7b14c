-- Rewritings as data: the engine, and the heads, flags and documentation that follow from records.

package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local edit = require "gilua.rewrite.edit"
local grammar = require "gilua.transform.grammar"
local kernel = require "gilua.transform.kernel"
local lfs = require "lfs"
local rewrite = require "gilua.rewrite.rewrite"
local tap = require "tap"
local transform = require "gilua.transform.transform"
local where = require "gilua.rewrite.where"

local ROOM = core.home .. "/lua/gilua/rewrite/"

local function text_of(path)
  local f <close> = assert(io.open(path))
  return f:read "a"
end

-- ---- the engine -------------------------------------------------------------------------------

local TWO_LOOPS = [[
__global__ void k(float *y, const float *x, int n)
{
    for (int i = 0; i < n; i++) y[i] = x[i];
    for (int j = 0; j < 4; j++) y[j] += 1.f;
}
]]

-- A record that counts how often its needs are asked.
local function made_up(more)
  local asked = { n = 0 }
  local record = { name = "made_up", doc = "A test.", where = "loops",
    args = { { "factor", { 2, 4 }, from = 2, to = 9 } },
    needs = {
      { "loop", function(at)
        asked.n = asked.n + 1
        return at.loop.step == 1 and "by one"
      end, gives = "step", says = "its step is not 1" },
      { "once", function(at)
        if at.loop.trips then return at.loop.trips >= at[1] end
        return nil, "it has a round"
      end, promised = true, says = "it has too few rounds" },
    },
    becomes = function(at, e)
      e:before(at.loop.statement.first, ("/* %s %d */ "):format(at.step, at[1]))
      return "a comment"
    end }
  for key, value in pairs(more or {}) do record[key] = value end
  return rewrite.of(record), asked
end

local function found(t, known)
  local list = {}
  for _, place in ipairs(t.find(known)) do
    list[#list + 1] = ("%d(%s)"):format(place.line, table.concat(place.args, ","))
  end
  return table.concat(list, " ")
end

tap.case("places times arguments for which all needs hold are found, and made", function()
  local t, asked = made_up()
  local known = kernel.of_text(TWO_LOOPS)
  tap.is(found(t, known), "3(2) 3(4) 4(2) 4(4)", "each loop with each number")
  tap.is(asked.n, 4, "each was asked once")
  local change = t.make(known, 3, { "4" })
  tap.is(asked.n, 4, "and not again when it is made")
  tap.is(change.edits[1][3], "    /* by one 4 */ for (int i = 0; i < n; i++) y[i] = x[i];", "text")
  tap.is(change.says, "a comment", "words")
  tap.is(change.promise, "it has a round", "what is unknown is promised, where the need says so")
  tap.is(t.make(known, 4, { "4" }).promise, nil, "what is certain is not")
  tap.ok(t.make(known, 4, { "3" }), "an argument that fits, though it is not proposed")
  change.says, change.launch = "another", "grid.x/2"
  tap.is(t.make(known, 3, { "4" }).says, "a comment", "who is given a change may alter it")
end)

tap.case("of two places on a line that both fit one is proposed", function()
  local t = made_up { needs = {}, becomes = function() return "nothing" end }
  local two = "for (int j = 0; j < 4; j++) ; for (int j = 0; j < 5; j++) ;"
  tap.is(found(t, kernel.of_text("__global__ void k() {\n  " .. two .. "\n}\n")), "2(2) 2(4)",
    "which is the first")
end)

tap.case("a refusal is data", function()
  local known = kernel.of_text((TWO_LOOPS:gsub("j < 4", "j < 3"):gsub("i%+%+", "i += 2")))
  local t = made_up()
  tap.is(found(t, known), "4(2)", "a known number of rounds decides")
  local change, says, refused = t.make(known, 4, { "4" })
  tap.is(change, nil, "no is no, though unknown is promised")
  tap.is(says, "it has too few rounds", "in words")
  tap.is(refused.fact .. refused.line .. refused.says, "once4it has too few rounds", "as data")
  tap.is(select(2, t.make(known, 3, { "2" })), "its step is not 1", "the first need that fails")
  local list = rewrite.refusals(t.record, known)
  tap.is(#list, 1, "one place where nothing is proposed")
  tap.is(list[1].line .. list[1].fact, "3loop", "its line, and the fact")
  tap.is(select(2, t.make(known, 1, { "2" })), "no loop begins there", "another line")
end)

tap.case("arguments are read as the record says", function()
  local t = made_up { args = { { "items", { 2 }, from = 2, to = 9 }, { "way", { false, "all" } } } }
  local known = kernel.of_text(TWO_LOOPS)
  for _, args in ipairs { {}, { "1" }, { "10" }, { "2.5" }, { "two" }, { "2", "none" },
                          { "2", "false" }, { "2", "all", "all" } } do
    tap.is(select(2, t.make(known, 3, args)), "it is written made_up<LINE>(ITEMS,WAY), with items "
      .. "2 to 9 and way none or all", table.concat(args, ","))
  end
  tap.is(found(t, known), "3(2) 3(2,all) 4(2) 4(2,all)", "one that may be left out")
  t = made_up { args = { { "array", of = "name" } }, where = "declarations", needs = {},
    becomes = function(at, e)
      e:after(at.d.last, "_2")
      return "a name"
    end }
  known = kernel.of_text "__global__ void k()\n{\n  float a, b;\n}\n"
  tap.is(found(t, known), "3(a) 3(b)", "the name of the place")
  tap.is(t.make(known, 3, { "b" }).edits[1][3], "  float a, b_2;", "the place of that name")
  tap.is(select(2, t.make(known, 3, { "c" })), "no such name is declared there", "no such place")
  local two = kernel.of_text "__global__ void k(int *a, int *b) { atomicAdd(&a[0], 1); }\n"
  local sums = transform.find "block_atomic"
  tap.ok(sums.make(two, 1, { "a" }), "a parameter by its name")
  tap.is(sums.make(two, 1, { "b" }), nil, "another one is not it")
  local index = kernel.of_text(("__global__ void k(int *a, int n)\n{\n%s\n}\n"):format(
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) a[i] = 1;"))
  tap.has(transform.find("coarsen").make(index, 3, { "4" }).says, "a block's width apart",
    "one with a default")
end)

tap.case("what is written outside of functions stands alone", function()
  local known = kernel.of_text("__constant__ float w[9];\n__global__ void k(float *y)\n{\n"
    .. "  for (int i = 0; i < 9; i++) y[i] = w[i];\n}\n")
  tap.is(transform.find("constant").make(known, 1, { "w" }).alone, true, "a declaration")
  tap.is(transform.find("unroll").make(known, 4, { "2" }).alone, nil, "a loop")
end)

tap.case("what cannot be written is not proposed", function()
  local t = made_up { becomes = function(at, e)
    e:replace(at.loop.statement.first, at.loop.statement.last, ";")
    if at.line == 3 then e:replace(at.loop.body.first, at.loop.body.last, ";") end
    return "half a loop"
  end }
  local known = kernel.of_text(TWO_LOOPS)
  tap.is(found(t, known), "4(2) 4(4)", "two changes of one place")
  tap.is(select(2, t.make(known, 3, { "2" })), "two changes overlap", "why")
  t = made_up { pays = function(at) return at.line == 4, "it is too short" end }
  tap.is(found(t, known), "4(2) 4(4)", "nor what does not pay")
  tap.is(rewrite.refusals(t.record, known)[1].says, "it is too short", "why")
  tap.ok(t.make(known, 3, { "2" }), "which can be made all the same")
end)

tap.case("a function that is not understood has no place", function()
  local t = made_up { where = "functions", args = {}, needs = {} }
  local long = ("  n = 1;\n"):rep(5001)
  local known = kernel.of_text("__global__ void k(int n)\n{\n" .. long .. "}\n")
  tap.is(known.functions[1].body, nil, "it has no body")
  tap.is(found(t, known), "", "none")
  tap.is(select(3, t.make(known, 1, {})).fact, "opaque", "why")
end)

tap.case("flags follow", function()
  local t = made_up { launch = "grid.x/$1" }
  tap.is(("%s %s %s"):format(t.first, t.counts, t.times), "true 1 true", "of fewer blocks")
  tap.is(t.make(kernel.of_text(TWO_LOOPS), 4, { "2" }).launch, "grid.x/2", "and the launch")
  t = made_up { launch = "grid.x<$1" }
  tap.is(("%s %s %s"):format(t.first, t.counts, t.times), "true nil false", "of a number of blocks")
  t = made_up()
  tap.is(("%s %s"):format(t.first, t.counts), "false nil", "of a launch that stays")
end)

-- ---- arrays that are taken for different memory -----------------------------------------------

local HEAD = "__global__ void k(float *a, float *b, const float *c, int *n)"

local function gene_of(body, text, head)
  local source = (head or HEAD) .. "\n{\n" .. body .. "\n}\n"
  local g = grammar.of(assert(core.grammar.parse("k.cu", { text = source, open_loops = true })))
  return assert(g:genes(text))[1]
end

local function pairs_of(body, text, head)
  local gene, list = gene_of(body, text, head), {}
  if not gene.says then return "passed over: " .. gene.why end
  for i, pair in ipairs(gene.pairs) do list[i] = pair[1] .. "-" .. pair[2] end
  return table.concat(list, " ") .. (gene.proved and " proved" or "")
end

tap.case("a change has the arrays that its facts took for different memory", function()
  local other = "  for (int i = 0; i < 9; i++) b[i] = c[i];\n"
  tap.is(pairs_of(other .. "  for (int i = 0; i < 9; i++) a[i] = c[0];", "T:hoist<4>()"), "a-c",
    "of its own loop, not of the other one's")
  tap.is(pairs_of("  for (int i = 0; i < 9; i++) a[i] += 1.f;", "T:unroll<3>(2)"), "", "none")
  tap.is(pairs_of("  for (int i = 0; i < *n; i++) a[i] += 1.f;", "T:unroll<3>(2)"), "a-n",
    "a bound that is loaded in a loop that stores")
  tap.is(pairs_of([[
  __shared__ float s[9];
  for (int i = 0; i < 9; i++) s[i] = c[0];]], "T:hoist<4>()"), " proved", "shared memory is apart")
  tap.is(pairs_of("  for (int i = 0; i < 9; i++) a[i] = c[0];", "T:hoist<3>()",
    (HEAD:gsub("%*c", "*__restrict__ c"))), " proved", "what its own __restrict__ proves")
end)

tap.case("a change of a text that means the same has that text's arrays, too", function()
  local row = "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < 9)\n"
  tap.is(pairs_of(row .. "    for (int j = 0; j < 9; j++) a[i] += c[j];", "T:warp_row<3>(32)"),
    "a-c", "what is kept in a variable, once")
  tap.is(pairs_of(row .. [[
    for (int j = 0; j < 9; j++) {
      a[i] += c[j];
      if (a[i] > 1.f) break;
    }]], "T:warp_row<3>(32)"), "passed over: it has no loop that lanes could share",
    "a refusal is that of the kernel as it is")
  local sum = row .. [[ {
    float s = 0;
    for (int j = 0; j < 9; j++) s += c[j];
    a[i] = s;
  }]]
  tap.is(pairs_of(sum, "T:warp_row<3>(32)"), "", "all lanes have read before one writes")
  tap.is(pairs_of(sum .. "\n  b[0] = 1;", "T:warp_row<3>(32)"), "a-b b-c",
    "and what threads do besides")
end)

tap.case("what is written behind a loop is of no matter to its shared loads", function()
  local before = "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  float s = 0;\n"
  local loop = "  for (int j = 0; j < 64; j++) s += c[j];\n"
  for _, text in ipairs { "T:stage<5>(32)", "T:shuffle<5>()" } do
    local function is(body, answer, why)
      tap.is(pairs_of(body, text), answer, text .. ": " .. why)
    end
    is(before .. loop .. "  a[i] = s;", "", "behind it")
    local none = ("passed over: no element in it is one that %s read"):format(
      text:find "stage" and "several threads" or "all lanes of a warp")
    is(before .. loop:gsub("c%[", "a[") .. "  a[i] = s;", none, "its own array")
    is(before .. loop .. "  float *p = i > 3 ? a : b;\n  p[i] = s;", none, "an unknown one")
    is(before .. "a[i] = 1; " .. loop .. "  b[i] = s;", "a-c", "before it")
    is(before .. loop:gsub("s %+=", "a[i] +="), "a-c", "in it")
    local is_block = text:find "stage" and "passed over: not all threads may come to it: the "
      .. "kernel has a goto"
    is(before .. "again:" .. loop .. "  a[i] = s;\n  if (s < 9.f) goto again;", is_block or "a-c",
      "where a jump comes back")
    is(before .. "for (int r = 0; r < 2; r++) {" .. loop .. "  a[i] = s; }", "a-c",
      "where a loop comes back")
  end
end)

tap.case("one that is no record takes all arrays of the function, where it says so", function()
  transform.add { name = "any", doc = "A test.", apart = true, promise = "all is well",
    find = function() return {} end,
    make = function(_, line) return { edits = { { line, line, "  ;" } } } end }
  tap.is(pairs_of("  a[0] = b[0];", "T:any<3>()"), "a-b", "the pairs where one is written")
  tap.is(pairs_of("  a[0] = 1.f;", "T:any<3>()"), " proved", "none")
  tap.is(gene_of("  a[0] = 1.f;", "T:any<3>()").promise, "all is well", "its own promise")
  tap.is(gene_of("  a[0] = p[0];", "T:any<3>()", "__device__ float *p; " .. HEAD).promise,
    "all is well, and `a` and `p` are different memory", "with those that no host keeps")
  tap.is(gene_of("  for (int i = 0; i < *p; i++) a[i] = 1.f;",
    "T:unroll<3>(2)", "__device__ int *p; " .. HEAD).promise,
    "`a` and `p` are different memory", "of a record")
end)

tap.case("lines beside a copy of them are those of the change", function()
  tap.is(gene_of("  for (int i = 0; i < n[0]; i++) b[i] += 1.f;", "T:unroll<3>(2)").twice, true,
    "a rest")
  tap.is(gene_of("  for (int i = 0; i < 8; i++) b[i] += 1.f;", "T:unroll<3>(2)").twice, false,
    "no rest")
end)

-- ---- why nothing is proposed ------------------------------------------------------------------

local function refused(source)
  local list, g = {}, grammar.of(assert(core.grammar.parse("k.cu", { text = source })))
  for _, one in ipairs(g:refusals()) do
    list[one.line .. " " .. one.name] = one.fact .. ": " .. one.says
  end
  return list
end

tap.case("each loop and kernel has the reasons for which nothing is proposed", function()
  local list = refused [[
__global__ void k(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < n; j++) if (x[j] > 1.f) break;
    y[i] = x[i];
}
__global__ void none(float *y) { y[0] = 1.f; }
__global__ void turned(float *y, int w)
{
    int i = threadIdx.x, j = threadIdx.y;
    if (i < w) y[i * w + j] += 1.f;
}
__global__ void first(float *y, const float *x)
{
    if (threadIdx.x == 0) {
        y[0] = x[0];
    }
}
]]
  tap.is(list["4 unroll"], "loop: its variable, its bound or the way out of it change within",
    "a loop that is left")
  tap.is(list["4 search"], nil, "what is proposed there has none")
  tap.is(list["4 specialise"], "values: no value of what it asks for is known to be the same in "
    .. "all launches", "values that nobody knows")
  tap.is(list["3 coarsen"], "threads: line 5 does something before it is known whether 'i' has an "
    .. "item", "an index")
  tap.is(list["4 shuffle"], "loop: it is left in another way", "the same to another kind")
  tap.is(list["11 transpose"], "effects: it is more than read or written", "a row apart")
  tap.is(list["7 transpose"], "turned: no element is read or written there that threads have a "
    .. "row apart", "a kernel without")
  tap.is(list["3 warp_row"], "shared_loop: it has no loop that lanes could share", "a row")
  tap.is(list["1 warp_loop"], "first_thread: no `if` begins there whose condition is that the "
    .. "thread is the first", "a kernel whose threads all work")
  tap.is(list["15 warp_loop"], "shared_loop: it has no loop that lanes could share", "no loop")
  tap.is(list["3 subwarp"], "row_places: line 1 begins a kernel without rows of teams",
    "a kernel that gives no warp a row")
  tap.is(list["7 coarsen"], "threads: no index that is computed from blockIdx is declared there",
    "a kernel without one")
  tap.is(list["7 merge"], "mergeable: it does not ask for blockIdx.x", "a side of a kernel")
  tap.is(list["1 merge"], nil, "where another side of it is proposed")
end)

-- ---- heads, facts and documentation -----------------------------------------------------------

-- Every record of the room: { name (of its file), record, text }.
local function records()
  local list = {}
  for file in lfs.dir(ROOM) do
    local name = file:match "^(.+)%.lua$"
    local given = name and require("gilua.rewrite." .. name)
    if given and given.becomes then
      list[#list + 1] = { name = name, record = given, text = text_of(ROOM .. file) }
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- The head of a file: { name, textbook, where, needs, becomes, promises }.
local function head_of(text)
  local head = {}
  head.name, head.textbook = text:match "^%-%-%- ([%w_]+): ([^\n]+)\n%-%-\n"
  for _, word in ipairs { "where", "needs", "becomes", "promises" } do
    head[word] = text:match("\n%-%- " .. word .. " +([^\n]+)\n")
  end
  return head
end

-- Facts once each, in order; those of needs with a field alone, where one is given.
local function facts_of(needs, field)
  local list, seen = {}, {}
  for _, need in ipairs(needs) do
    local is_wanted = not field or need[field]
    if is_wanted and not seen[need[1]] then list[#list + 1] = need[1] end
    seen[need[1]] = seen[need[1]] or is_wanted
  end
  return list
end

tap.case("a file's head says what its record does", function()
  local n = 0
  for _, one in ipairs(records()) do
    local head, record, what = head_of(one.text), one.record, one.name .. ": "
    tap.is(head.name, record.name, what .. "its name")
    tap.is(one.name, record.name, what .. "its file")
    tap.ok(head.becomes and head.textbook, what .. "what it is, and what the code becomes")
    local set = type(record.where) == "string" and record.where or record.set
    tap.is(head.where, set, what .. "where")
    tap.is(head.needs, table.concat(facts_of(record.needs), ", "), what .. "needs")
    n = n + 1
  end
  tap.ok(n > 1, n .. " records")
end)

tap.case("a need is a fact of the room facts", function()
  for _, one in ipairs(records()) do
    for _, need in ipairs(one.record.needs) do
      local path = core.home .. "/lua/gilua/facts/" .. need[1] .. ".lua"
      tap.is(lfs.attributes(path, "mode"), "file", one.name .. " needs " .. need[1])
    end
  end
end)

-- What the corpus has no place for.
local MORE = [[
__global__ void k(int *out, const float *a, int n)
{
    int at = 0;
    for (int i = 0; i < n; i++)
        if (a[i] > 1.f) { at = i; break; }
    out[0] = at;
}
__global__ void own(float *out)
{
    __shared__ float s[32];
    s[threadIdx.x] = 1.f;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
__global__ void stores(float *y, float *z, const float *w, const int *n)
{
    float sum = 0.f;
    for (int i = 0; i < *n; i++) {
        sum += 1.f;
        y[i] += 2.f;
    }
    for (int i = 0; i < *n; i++) y[i] = i % 33;
    for (int i = 0; i < 9; i++) y[i] = z[i] / w[0];
    for (int i = 0; i < 9; i++)
        if (w[0] > 0.f) y[i] = z[i];
    y[threadIdx.x] = sum;
}
__global__ void waits(float *y, float *z)
{
    y[threadIdx.x] = 1.f;
    __syncthreads();
    z[threadIdx.x + 1] = 2.f;
}
__global__ void behind(float *z, int n) { z[threadIdx.x] = n; }
__global__ void turned(float *out, int w)
{
    out[threadIdx.x * w + threadIdx.y] = 1.f;
}
__global__ void attends(float *out, const float *q, const float *k, const float *v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float most = -1e30f, sum = 0.f, all[4] = {};
    for (int j = 0; j < n; j++) {
        float s = 0.f;
        for (int d = 0; d < 4; d++) s += q[i * 4 + d] * k[j * 4 + d];
        float m = fmaxf(most, s), keep = expf(most - m), w = expf(s - m);
        sum = sum * keep + w;
        for (int d = 0; d < 4; d++) all[d] = all[d] * keep + w * v[j * 4 + d];
        most = m;
    }
    for (int d = 0; d < 4; d++) out[i * 4 + d] = all[d] / sum;
}

__global__ void twice(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < 2; r++) {
        float sum = 0;
        for (int k = 0; k < 64; k++) sum += in[k];
        if (i < n) out[i] = sum;
    }
}
]]

local function sources()
  local list = { MORE }
  for _, folder in ipairs { "kernels", "tests/gpu", "tests/own" } do
    for name in lfs.dir(folder) do
      local path = folder .. "/" .. name
      if lfs.attributes(path .. "/kernel.cu", "mode") then path = path .. "/kernel.cu" end
      if path:find "%.cu$" and lfs.attributes(path, "size") < 12000 then
        list[#list + 1] = text_of(path)
      end
    end
  end
  return list
end

-- What records promise over all sources: name -> { apart = true } where arrays were taken for
-- different memory.
local function promised()
  local list = {}
  for _, source in ipairs(sources()) do
    local known = kernel.of_text(source, { values = function(fn)
      local values = {}
      for _, p in ipairs(fn.params) do values[p.name] = p.type == "int" and 16 or nil end
      if fn.name == "waits" then values["before.behind"] = 16 end
      return values
    end })
    for _, one in ipairs(records()) do
      local t = transform.find(one.name)
      for _, place in ipairs(t.find(known)) do
        local change = t.make(known, place.line, place.args)
        list[one.name] = list[one.name] or {}
        if #change.pairs > 0 then list[one.name].apart = true end
      end
    end
  end
  return list
end

tap.case("a head promises what its record promises", function()
  local seen = promised()
  for _, one in ipairs(records()) do
    local head, wanted = head_of(one.text), {}
    if (" " .. head.promises .. ","):find " apart," then wanted[1] = "apart" end
    local facts = facts_of(one.record.needs, "promised")
    table.move(facts, 1, #facts, #wanted + 1, wanted)
    if one.record.promise then wanted[#wanted + 1] = "numbers" end
    tap.is(head.promises, wanted[1] and table.concat(wanted, ", ") or "nothing", one.name)
    local is_apart = wanted[1] == "apart"
    if not seen[one.name] then
      tap.ok(false, one.name .. " is proposed nowhere in the corpus")
    else
      tap.is(seen[one.name].apart, is_apart or nil, one.name .. ": arrays that are apart")
    end
  end
end)

tap.case("the manual's table has each, with its textbook name and its arguments", function()
  local page = text_of "docs/transformations.md"
  for _, one in ipairs(records()) do
    local head = head_of(one.text)
    local cell = page:match("\n| (`" .. one.record.name .. "`[^|]*) |")
    tap.has(cell or "", ": " .. head.textbook, one.name)
    for _, arg in ipairs(type(one.record.args) == "table" and one.record.args or {}) do
      local words = (cell or ""):match "%((.-)%)" or ""
      local is_there = words:find(arg[1], 1, true) ~= nil
      for _, value in ipairs(type(arg[2]) == "table" and not arg.from and arg[2] or {}) do
        is_there = is_there or value and words:find("`" .. value .. "`", 1, true) ~= nil
      end
      tap.ok(is_there, one.name .. " has the argument " .. arg[1])
    end
  end
end)

tap.case("sets of places are in the file's order, and found once", function()
  local known = kernel.of_text(TWO_LOOPS)
  for name in pairs(where.SETS) do
    local list, line = where.places(known, name), 0
    tap.is(where.places(known, name), list, name .. ": once")
    for _, at in ipairs(list) do
      if at.line < line then tap.ok(false, name .. ": order") end
      line = at.line
    end
  end
  tap.is(edit.unit(known.functions[1]), "    ", "and the file's own indentation is read")
end)

tap.done()
