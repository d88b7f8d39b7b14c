--- The hostile mutants: edits of tests/hostile/problem/kernel.cu that hang, crash, starve or
-- deceive whoever evaluates them.
--
-- Each is { name =, why =, source = fun(honest) -> text, emu =, cuda =, raw = }: what must come of
-- it on the virtual GPU; on a GPU (default: as on emu, because the checked run comes first); and on
-- a GPU with the checked run left out, so that the GPU's own measures are put to the test too
-- (default: as cuda). A fate is a status, several of them ("timeout|crash"), "wrong" (it ran to its
-- end and the answers are refused) or "right" (harmless after all: its answers are right).
--
-- quick = false: not in the quick run (it costs a compiler's time limit or gigabytes).

local M = {}

-- --- edits -------------------------------------------------------------------------------------

--- The text with its one `old` replaced; an error where there is none or more than one.
local function swap(text, old, new)
  local first, last = text:find(old, 1, true)
  assert(first and not text:find(old, last, true), "not once in the kernel: " .. old)
  return text:sub(1, first - 1) .. new .. text:sub(last + 1)
end

local function edit(old, new)
  return function(honest) return swap(honest, old, new) end
end

local STORE = "out[i] = sum;"
local BEGIN = "    int k;\n"

--- Lines at the beginning of the kernel's body, after its variables.
local function first(lines)
  return edit(BEGIN, BEGIN .. "    " .. lines .. "\n")
end

--- Another store of the answer.
local function store(lines)
  return edit(STORE, lines)
end

--- Lines before the kernel, and an edit of it.
local function with(lines, change)
  return function(honest)
    local text = change and change(honest) or honest
    return swap(text, 'extern "C"', lines .. '\nextern "C"')
  end
end

local function before(text)
  return function(honest) return text .. honest end
end

local function after(text)
  return function(honest) return honest .. text end
end

local function add(name, fates, source, why)
  M[#M + 1] = { name = name, source = source, why = why, emu = fates[1],
                cuda = fates.cuda or fates[1], raw = fates.raw or fates.cuda or fates[1],
                quick = fates.quick ~= false }
end

-- Fates that depend on how far a compiler gets before it gives up.
local COMPILER = "compile_error|timeout|out_of_memory|crash"

-- --- kernels that do not end -------------------------------------------------------------------

add("endless loop", { "timeout", raw = "timeout|wrong" },
  first "for (volatile int again = 1; again;) out[0] = 1.f;",
  "a kernel that never ends can only be ended with its process")
add("endless loop, no effect", { "timeout|wrong|right" },
  first "while (c_n > 0) { }",
  "C++ lets the compiler assume that it ends")
add("spins for another block", { "timeout" },
  first "while (atomicAdd(&d_blocks, 0u) < 2u * gridDim.x) { }",
  "waits for blocks that will never come")
add("spins on a lock never freed", { "timeout" },
  with("__device__ int d_lock = 1;", first "while (atomicCAS(&d_lock, 0, 1) != 0) { }"),
  "a lock that nobody releases")
add("barrier for some lanes", { "launch_error", raw = "launch_error|timeout|right|wrong" },
  first "if (t < 5) __syncthreads();",
  "part of a warp at a barrier is undefined")
add("barrier for some warps",
  { "race|timeout|launch_error", raw = "timeout|launch_error|right|wrong" },
  first "if (t < 32) __syncthreads(); if (t == 0) while (c_n) __syncthreads();",
  "a barrier that can never be complete")
add("sleeps for hours", { "right|timeout", raw = "timeout" },
  first "for (int night = 0; night < 2000; night++) __nanosleep(1000000);",
  "the virtual GPU does not sleep")

-- --- memory ------------------------------------------------------------------------------------

add("null pointer", { "illegal_address" },
  first "*(volatile int *)nullptr = t;", "an address that is never valid")
add("far outside", { "illegal_address" },
  first "out[(1ll << 40) + i] = 1.f;", "an address that belongs to nobody")
add("one past the end", { "illegal_address" },
  first "if (i == 0) out[c_n] = 1.f;", "a guard zone lies there on a GPU")
add("one before the beginning", { "illegal_address" },
  first "if (i == 0) out[-1] = 1.f;", "a guard zone lies there on a GPU")
add("4000 bytes past the end", { "illegal_address" },
  first "if (i == 0) out[c_n + 1000] = 1.f;", "still in the guard zone")
add("one byte past the input", { "illegal_address" },
  first "if (i == 0) ((char *)in)[4ll * c_n] = 1;", "inputs have guard zones too")
add("misaligned", { "misaligned" },
  first "*(volatile int *)((char *)out + 1) = t;", "an int at an odd address")
add("writes to its input", { "illegal_address" },
  store "out[i] = sum; ((float *)in)[i] = 0.f;", "the next mutant would get other inputs")
add("writes the same to its input", { "illegal_address", raw = "illegal_address|right" },
  first "if (i < c_n) ((float *)in)[i] = in[i] + 0.f;", "an input that is as it was does no harm")
add("writes to a constant", { "illegal_address|launch_error",
    raw = "illegal_address|wrong|right|launch_error" },
  first "if (i == 0) *(volatile float *)const_cast<float *>(&c_tap[0].weight) = 9.f;",
  "constants are shared by the mutants of a compilation")
add("strays among device variables", { "illegal_address", raw = "illegal_address|right|wrong" },
  first "if (i == 0) for (int far = 1; far < 64; far++) (&d_blocks)[far] = 77u;",
  "the variables of other mutants may lie there")
add("poisons a device variable", { "right" },
  edit("if (t == 0) atomicAdd(&d_blocks, 1u);", "__syncthreads(); d_blocks = 0xffffffffu;"),
  "the next launch must find the initial value")
add("reads around the output", { "illegal_address", raw = "illegal_address|wrong" },
  store [[{
        const float *p = out + c_n + 64;
        while (p[0] != sum) p++;
        out[i] = *p;
    }]], "looks for the expected answers in the neighbourhood")
for _, k in ipairs { -3, -2, -1, 1, 2, 3 } do
  add(("copies from %+d buffers away"):format(k), { "illegal_address",
      raw = "illegal_address|wrong" },
    store(("out[i] = out[i + (%dll) * ((4ll * c_n + 8192 + 2097151) / 2097152 * 524288)];")
      :format(k)), "the expected answers may lie at a round distance")
end
add("deep recursion", { "launch_error", raw = "launch_error|illegal_address|out_of_memory" },
  with([[__device__ __noinline__ float deep(float x, int d) {
    volatile float a[16];
    a[d & 15] = x;
    return d ? deep(a[d & 15] + 1.f, d - 1) + a[(d + 1) & 15] : x;
}]], store "out[i] = deep(sum, 1000000);"), "the stack of a thread ends")
add("a stack of 400 KB", { "launch_error|out_of_memory|compile_error|right" },
  with([[__device__ __noinline__ float keep(int t, float x) {
    volatile float a[100000];
    a[t] = x;
    return a[t];
}]], store "out[i] = keep(t, sum);"), "times the threads of a GPU that is 100 GB, which some have")
add("malloc until there is none", { "illegal_address" },
  first "for (;;) { int *p = (int *)malloc(1 << 20); *p = t; }", "then writes through NULL")
add("a terabyte of variables", { "compile_error|out_of_memory|crash|launch_error" },
  with("__device__ char d_all[1ull << 40];", first "d_all[(size_t)i << 8] = 1;"),
  "no GPU has that")
add("60 KB of constants", { "right" },
  with("__constant__ int c_huge[15000];", store "out[i] = sum + c_huge[t];"),
  "legal alone, but two of them do not go into one module")
add("60 KB of constants more", { "right" },
  with("__constant__ int c_other[15001];", store "out[i] = sum + c_other[t];"),
  "the second one")
add("60 KB of shared memory", { "compile_error|launch_error" },
  function(honest)
    return swap(swap(honest, BEGIN, BEGIN .. "    __shared__ volatile char big[60000];\n"),
      STORE, "big[t] = 1; out[i] = sum + big[t] - 1;")
  end, "static shared memory ends at 48 KB")
add("400 live registers", { "right|timeout|launch_error|compile_error" },
  store [[float a[400];
#pragma unroll
        for (int j = 0; j < 400; j++) a[j] = in[(i + j) % c_n];
        __threadfence();
        float rest = 0.f;
#pragma unroll
        for (int j = 0; j < 400; j++) rest += a[j] * a[399 - j];
        out[i] = rest < 0.f ? 0.f : sum;]], "spills: slow, but right")
add("shared memory nobody wrote", { "wrong|right" },
  first "__shared__ volatile float left[block_size]; sum += left[t];",
  "zero on the virtual GPU, anything on a GPU")

-- --- signals -----------------------------------------------------------------------------------

add("trap", { "launch_error" }, first "if (i == 77) __trap();", "the context dies with it")
add("assert", { "launch_error" }, first "assert(i != 77);", "a failed assertion")
add("breakpoint", { "launch_error|compile_error" }, first [[asm volatile("brkpt;");]],
  "there is no debugger")
add("printf flood", { "right|timeout" },
  first [[if (t == 0) for (int j = 0; j < 40; j++) printf("%d %s\n", j, "a flood of text");]],
  "nothing of it may reach the host's output")
add("exits at once", { "wrong" }, first [[asm volatile("exit;");]], "nothing is written")

-- --- answers -----------------------------------------------------------------------------------

add("empty", { "wrong" }, first "return;", "stale output")
add("leaves every third unset", { "wrong" }, store "if (i % 3) out[i] = sum;", "stale output")
add("copies what is there", { "wrong" }, store "out[i] = out[i];", "the sentinel itself")
add("writes only over the sentinel", { "right" },
  store "if (__float_as_int(out[i]) == 0x7fdead01) out[i] = sum;",
  "the sentinel is there before every launch")
add("writes only over no sentinel", { "wrong" },
  store "if (__float_as_int(out[i]) != 0x7fdead01) out[i] = sum;",
  "the sentinel is there before every launch")
add("answers with the sentinel", { "wrong" }, store "out[i] = __int_as_float(0x7fdead01);",
  "unset, whoever wrote it")
add("NaN", { "wrong" }, store "out[i] = __int_as_float(0x7fc00000);", "NaN equals nothing")
add("infinity", { "wrong" }, store "out[i] = __int_as_float(0x7f800000);", "no finite error")
add("NaN in one place", { "wrong" },
  store "out[i] = i == 4321 ? __int_as_float(0xffffffff) : sum;", "every answer is looked at")
add("wrong in the last one", { "wrong" }, store "out[i] = i == c_n - 1 ? sum + 1.f : sum;",
  "every answer is looked at")
add("wrong in the large case only", { "wrong" },
  store "out[i] = c_n > 5000 && i == 5001 ? sum + 1.f : sum;", "the small case proves nothing")
add("right in the first run only", { "right" },
  with("__device__ unsigned int d_runs;",
    store "out[i] = atomicAdd(&d_runs, 1u) < (unsigned)c_n ? sum : 0.f;"),
  "device variables are initial again, so every run is the first")
add("answers kept in a variable", { "race", raw = "right|wrong" },
  with("__device__ float d_cache[4000000]; __device__ int d_known;",
    store [[if (d_known == 0) d_cache[i] = sum;
        out[i] = d_cache[i];
        if (i == c_n - 1) d_known = 1;]]),
  "never in it what an earlier launch put there, and whether later blocks see d_known is chance")
add("only what was kept", { "race", raw = "wrong" },
  with("__device__ float d_kept[4000000]; __device__ int d_full;",
    store "if (d_full) out[i] = d_kept[i]; else d_kept[i] = sum; if (i == 0) d_full = 1;"),
  "no launch may see what the last one left, nor may blocks wait for d_full like this")
add("noise from the clock", { "wrong" }, store "out[i] = sum + (float)(clock() & 63);",
  "no two runs alike")
add("noise now and then", { "wrong|right", raw = "wrong|right" },
  store "out[i] = sum + (float)((clock64() & 0xfffff) == 77);", "rarely wrong: seen if it happens")
add("no barrier", { "race", raw = "wrong|right" }, edit("    __syncthreads();\n", ""),
  "may well be right by luck")
add("all lanes write one word", { "race", raw = "wrong|right" },
  first "volatile float *v = tile; v[5] = t; sum = v[5] - v[5] + 0.f * t;", "a race on purpose")
add("writes into the next block", { "race", raw = "right|wrong" },
  store "out[i] = sum; if (i + block_size < c_n) out[i + block_size] = 0.f;",
  "whichever block comes last has its way")
add("order of blocks", { "wrong" },
  with("__device__ unsigned int d_ticket;",
    store "out[i] = sum + (float)atomicAdd(&d_ticket, 1u);"),
  "depends on who comes first")

-- --- what is not there -------------------------------------------------------------------------

add("renamed entry", { "launch_error" }, edit(" blur(", " blurred("), "there is no such kernel")
add("no entry at all", { "launch_error|compile_error" }, function() return "\n" end,
  "an empty source compiles")
add("a mangled name", { "launch_error" }, edit('extern "C" ', ""), "there is no such kernel")
add("another signature", { "launch_error" },
  edit("float *out)", "float *out, const float *third)"), "an argument is missing")
add("one argument less", { "launch_error" }, function(honest)
  return swap(swap(honest, "const float *in, float *out)", "float *out)"), BEGIN,
    BEGIN .. "    const float *in = out;\n")
end, "there is one too many")
add("two kernels", { "right" }, after 'extern "C" __global__ void idle() { }\n',
  "the other one is not launched")
add("the same kernel twice", { "compile_error" }, function(honest)
  return honest .. honest:match('extern "C".*')
end, "defined twice")
add("a constant less", { "compile_error" }, edit("__constant__ int c_n;\n", ""), "not declared")
add("a constant of another size", { "launch_error|right" },
  edit("__constant__ int c_n;", "__constant__ long long c_n;"), "the host's value does not fit")
add("launch bounds of one warp", { "launch_error" },
  edit("__global__ void", "__global__ void __launch_bounds__(32)"), "the block is larger")

-- --- compilers ---------------------------------------------------------------------------------

add("#error", { "compile_error" }, before "#error no\n", "refused by itself")
add("includes /dev/zero", { COMPILER, quick = false }, before '#include "/dev/zero"\n',
  "a file without an end")
add("includes standard input", { "right|compile_error" }, before '#include "/dev/stdin"\n',
  "waits for a person")
add("includes what is not there", { "compile_error" }, before '#include "nowhere.h"\n', "no file")
add("includes itself", { "compile_error" }, before "#include __FILE__\n", "no end")
add("a source of 10 MB", { "right|" .. COMPILER, quick = false },
  after(("// ten million bytes of this\n"):rep(370000)), "a long text")
add("10 MB of code", { COMPILER .. "|right", quick = false }, function(honest)
  return swap(honest, STORE, ("part += sum * in[0];\n"):rep(500000) .. STORE)
end, "a long function")
add("macro bomb", { COMPILER, quick = false }, function(honest)
  local lines = { "#define X0 + 1.f" }
  for i = 1, 30 do lines[#lines + 1] = ("#define X%d X%d X%d"):format(i, i - 1, i - 1) end
  return table.concat(lines, "\n") .. "\n" .. swap(honest, STORE, "out[i] = sum X30;")
end, "2^30 tokens from a few lines")
add("template bomb", { COMPILER, quick = false },
  with("template <int N, int M> struct Bomb { static const int value = Bomb<N - 1, 2 * M>::value "
    .. "+ Bomb<N - 1, 2 * M + 1>::value; };\n"
    .. "template <int M> struct Bomb<0, M> { static const int value = M & 1; };",
    store "out[i] = sum + Bomb<24, 1>::value;"), "2^24 types")
add("endless template", { COMPILER },
  with("template <int N> struct Down { static const int value = Down<N + 1>::value; };",
    store "out[i] = sum + Down<0>::value;"), "the compiler counts how deep it is")
add("endless constexpr", { COMPILER, quick = false },
  with("__device__ constexpr int forever(int n) { int s = 0; for (;;) s ^= n++; return s; }",
    store "constexpr int x = forever(1); out[i] = sum + x;"), "a calculation without an end")
add("100,000 brackets", { COMPILER .. "|right" },
  store("out[i] = " .. ("("):rep(100000) .. "sum" .. (")"):rep(100000) .. ";"),
  "a parser's stack ends")
add("100,000 warnings", { "right|" .. COMPILER, quick = false },
  function(honest)
    return swap(honest, BEGIN, BEGIN .. ("{ int unused; }\n#warning again\n"):rep(100000))
  end, "a log of megabytes")
add("broken PTX", { "compile_error" }, first [[asm volatile("this is no ptx;");]],
  "only the assembler sees it")
add("PTX that closes the function", { "compile_error|wrong" },
  first [[asm volatile("}\n.visible .entry stolen() { ret;");]], "the text is taken apart")

-- --- bad company: what would change the other mutants of its compilation -------------------------

add("packs structures", { "right" }, after "#pragma pack(1)\n", "holds until the end of the text")
add("a comment without an end", { "compile_error|right" }, after "/* and so on\n",
  "the next comment's end would end it")
add("a line that goes on", { "compile_error|right" }, after "// and so on \\\n",
  "swallows the line behind it")
add("an #if without an end", { "compile_error" }, after "#if 0\n", "hides what follows")
add("a brace without an end", { "compile_error" }, after "namespace other {\n",
  "holds what follows")
add("a brace too many", { "compile_error" }, after "}\n", "closes nothing")
add("leaves a macro", { "right" }, after "#define float double\n", "another float for the others")
add("leaves a macro, digraph", { "right" }, after "%:define float double\n",
  "the same, spelled oddly")
add("leaves a macro, comment", { "right" }, after "/* */ #define float double\n", "the same")
add("leaves a macro, split", { "right" }, after "#\\\ndefine float double\n", "the same")
add("makes warnings errors", { "right|compile_error" }, after "#pragma nv_diag_error 177\n",
  "holds until the end of the text")
add("a name of the farm's", { "right|compile_error" },
  after('extern "C" __global__ void blur__gilua0000() { }\n'
    .. 'extern "C" __global__ void blur__gilua0001() { }\n'),
  "as if it were another mutant's kernel")
add("a NUL byte", { "right|compile_error" }, function(honest)
  return swap(honest, STORE, STORE .. "\0")
end, "the text ends there for C")

return M
