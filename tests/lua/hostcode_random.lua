-- hostcode on random words: whatever a file says, it is read without a Lua error, and soon.
-- The seed is printed and may be given: ./gilua tests/lua/hostcode_random.lua 7

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

local SEED = math.tointeger(tonumber(arg and arg[1])) or 1
local TEXTS = 1500
local WITH_BRANCHES = 100 -- every so many-th: the compiler is asked

local WORDS = { "\n", "\n#define MAX(a, b) ", "\n#define N ", "\n#include <x.h>\n", "\\\n",
  "template <int A = 3, bool F = A && B> void f(T *x) {", "struct alignas(8) S : T {", "enum { e,",
  "cudaLaunchKernel(", "cudaLaunchKernelEx(&c, k," }
for word in ([[( ) [ ] { } < > << >> <<< >>> , ; = : ? :: . -> * & && + - / % ^ ~ ! == <= 1 2.5f
    0x1F /* */ 1'000 n k T int float unsigned long const struct typedef using dim3 __constant__
    __shared__
    sizeof static_cast cudaMalloc cudaMallocPitch template typename "s" 's' R"( )" // MAX max std
    for threadIdx x extern "C" __global__ void __launch_bounds__ __align__ end]]):gmatch "%S+" do
  WORDS[#WORDS + 1] = word
end

local function random_text(rng)
  local list = {}
  for i = 1, rng:int(1, 120) do list[i] = WORDS[rng:int(1, #WORDS)] end
  return table.concat(list, " ")
end

local ASKED = { "fields", "size_of", "pointee_size", "value", "dimensions", "allocation", "launch" }
local USES = { "role", "is_index", "pairs", "loop_from" }

-- Asks for everything that the words may say.
local function ask(text)
  local host, body = gi.hostcode.read(text), gi.grammar.tokens(text)
  for _, question in ipairs(ASKED) do
    for _, word in ipairs(WORDS) do host[question](host, word) end
    host[question](host, text)
  end
  for _, use in ipairs(USES) do
    for _, name in ipairs { "n", "k", "x" } do gi.usage[use](body, name) end
  end
  host:constants()
  gi.csource.split(text)
  gi.csource.includes(text)
end

tap.case("random words", function()
  tap.note("seed " .. SEED)
  local rng, begun = gi.rng(SEED), os.clock()
  for i = 1, TEXTS do
    local text = random_text(rng)
    if i % WITH_BRANCHES == 0 then text = "#if N\n" .. text .. "\n#endif\n" end
    local fine, why = xpcall(ask, debug.traceback, text)
    if not fine then return tap.ok(false, ("text %d: %s\n%s"):format(i, why, text)) end
  end
  local seconds = os.clock() - begun
  tap.ok(seconds < 60, ("%d texts are read in %.1f s"):format(TEXTS, seconds))
end)

tap.done()
