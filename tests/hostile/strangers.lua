-- Files of strangers that attack who opens them: one row each, for tests/cli/hostile_files.t.
--
--   name    of the file, and what it tries
--   text    of NAME.cu; or of bad/result.json in the rows of a run
--   shell   what lies beside it is made by this
--   says    what one line of the answer matches (a Lua pattern); a row without becomes a problem
--   run     it attacks apply and verify: shell spoils the run `bad`, in which nothing is believed

local DEEP = 100000

local FINE = [[
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = sqrtf(x[i]);]]
local MAIN = [[
int main() {
  float *x; int n = 1000; cudaMalloc(&x, n * sizeof(float));
  %s
}
]]
local LAUNCH = "k<<<(n + 127) / 128, 128>>>(x, n);"

-- A whole program around a kernel's body, what stands before it, and how it is launched.
local function program(body, before, launch)
  return ("%s\n__global__ void k(float *x, int n)\n{\n%s\n}\n%s"):format(before or "", body,
    MAIN:format(launch or LAUNCH))
end

-- Macros, each ten of the one before.
local function bomb(n)
  local lines = { "#define A0 x[0] += 1;" }
  for i = 1, n do lines[i + 1] = ("#define A%d %s"):format(i, ("A%d "):format(i - 1):rep(10)) end
  return table.concat(lines, "\n")
end

-- Changes in a run's result.json.
local function sed(script) return "sed -i -E '" .. script .. "' bad/result.json" end
local PATH = 's|"path": "[^"]*/fine.cu"|"path": "%s"|'
local GENOME = 's|"genome": "[^"]*"|"genome": "%s"|'

local function launched(with) return program(FINE, nil, with) end


return {
  -- what an #include reaches
  { name = "climbs", text = program(FINE, '#include "../../../../../../../../etc/passwd"') },
  { name = "absolute", text = program(FINE, '#include "/etc/passwd"') },
  { name = "endless-device", text = program(FINE, '#include "/dev/zero"') },
  { name = "pipe", text = program(FINE, '#include "p.h"'), shell = "mkfifo p.h",
    says = "compiling pipe.cu: it waited for something that does not come" },
  { name = "link-loop", text = program(FINE, '#include "l.h"'), shell = "ln -s l.h l.h" },
  { name = "link-out", text = program(FINE, '#include "o.h"'), shell = "ln -s /etc/passwd o.h" },
  { name = "includes-itself", text = program(FINE, '#include "includes-itself.cu"'),
    says = 'function "k" has already been defined' },
  { name = "huge-header", text = program(FINE, '#include "h.h"'), shell = "truncate -s 1T h.h",
    says = "cannot read a header: with .*h.h there are more than 4 MB of source" },
  { name = "doubling", text = program(FINE, '#include "b0.h"'),
    shell = "for i in $(seq 0 40); do printf '#include \"b%d.h\"\\n%.0s' $((i+1)) $((i+1)) >b$i.h;"
      .. " done; echo '#include \"b0.h\"' >b41.h" },

  -- what the compiler is to choke on
  { name = "macros", text = program("  A6", bomb(6)),
    says = "compiling macros.cu: no answer within 1 s of processor time" },
  { name = "instances", text = program("  x[0] = A<100000>::v;",
    "template <int N> struct A { static const int v = A<N - 1>::v + A<N - 2>::v; };"),
    says = "left out before: .*excessive recursion" },
  { name = "constant", text = program("  constexpr int q = f(); x[0] = q;",
    "__device__ constexpr int f() { int s = 0; while (true) s ^= 1; return s; }"),
    says = "constant.cu:.*must have a constant value" },
  { name = "signs", text = program("  x[0] = " .. ("-+"):rep(DEEP) .. "1;"),
    says = "compiling signs.cu: the worker was killed by signal 11" },
  { name = "brackets", text = program("  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    .. "  if (i < n) x[i] = " .. ("("):rep(DEEP) .. "x[i] + 1" .. (")"):rep(DEEP) .. ";") },
  { name = "shared-memory", text = program("  __shared__ float s[1ull << 40];\n"
    .. "  s[threadIdx.x] = x[0];\n  x[0] = s[3];"), says = "s" },
  { name = "negative", text = program("  __shared__ float s[-5];\n  x[0] = s[3];"),
    says = "negative.cu:.*size of an array must be greater than zero" },
  { name = "global-memory", text = program("  g[n] = x[0];\n  x[0] = g[3];",
    "__device__ float g[1ull << 34];"), says = "an array's size is 68719476736" },

  -- what the virtual GPU is to choke on
  { name = "allocates", text = (program(FINE):gsub("n %* sizeof%(float%)", "8ull << 30")) },
  { name = "overflows", text = program(FINE):gsub("n %* sizeof%(float%)", "1ull << 63") },
  { name = "blocks", text = launched "k<<<2147483647, 128>>>(x, n);" },
  { name = "never", text = program("  while (x[0] != 7) x[n - 1] += 1;"),
    says = "timeout: the budget of 1000000" },
  { name = "prints", text = program('  for (int i = 0; i < 1000000000; i++)\n'
    .. '    if (i % 64 == 0) printf("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");\n  x[0] = 1;',
    "#include <stdio.h>"), says = "timeout: the budget of 1000000" },
  { name = "endless-in-double", text = program("  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    .. "  float t = 1.0f;\n  while (sizeof(t * x[0]) == 8 && t > 0) t += 1.0f;\n"
    .. "  if (i < n) x[i] = 3.1f * x[i];") },
  { name = "locals", text = program("  float a[200000];\n"
    .. "  for (int j = 0; j < 99; j++) a[(j * 997 + (int)x[0]) % 200000] = j;\n"
    .. "  x[threadIdx.x] = a[(int)x[5] % 200000];"),
    says = "stack overflow: 800000 bytes of local memory" },
  { name = "heap", text = program("  for (int j = 0; j < 200; j++) {\n"
    .. "    float *p = (float *)malloc(1 << 24);\n    if (p) p[j] = x[0];\n  }\n" .. FINE),
    says = "its data want a hand" },
  { name = "calls-itself", text = program("  x[threadIdx.x] = f(0, x);",
    "__device__ int f(int n, float *x) { volatile int a[99]; a[n % 99] = n;\n"
    .. "  return n == x[0] ? a[3] : f(n + 1, x) + f(n + 2, x) + a[5]; }"),
    says = "stack overflow: call of" },

  -- what a reader is to choke on
  { name = "zero-byte", text = program(FINE:gsub("int i", "int\0 i")),
    says = "zero%-byte.cu, line 3" },
  { name = "utf16", text = "\xff\xfe" .. program(FINE):gsub(".", "%0\0"),
    says = "has no __global__ function" },
  { name = "empty", text = "", says = "has no __global__ function" },
  { name = "open-string", text = program('  const char *s = "abc; x[0] = 1;'),
    says = "open.string" },
  { name = "open-comment", text = program("  /* " .. FINE), says = "open.comment" },
  { name = "large", text = program(FINE) .. ("int y;\n"):rep(600000),
    says = "cannot read the kernel: with large.cu there are more than 4 MB" },
  { name = "host-brackets", text = launched("k<<<" .. ("("):rep(DEEP) .. "1" .. (")"):rep(DEEP)
    .. ", 32>>>(x, n);") },
  { name = "host-signs", text = launched("k<<<" .. ("- +"):rep(DEEP) .. "1, 32>>>(x, n);") },
  { name = "colours", text = program(FINE .. '\n#error "\27]0;mine\7\27[2J"'),
    says = '#error directive: "\\x1b%]0;mine\\x07\\x1b%[2J"' },
  { name = "other-line", text = '#line 1 "/etc/passwd"\n' .. program(FINE) },

  -- what a run's folder says of itself
  { run = true, name = "another file to change", shell = sed(PATH:format "/etc/passwd"),
    says = "passwd has no __global__ function named k" },
  { run = true, name = "a source that is a pipe", says = "cannot read .*pipe",
    shell = "mkfifo p.cu; " .. sed(PATH:format "'\"$PWD\"'/p.cu") },
  { run = true, name = "a copy that leads out", says = "is not what the run kept",
    shell = "ln -sf /etc/passwd bad/problem.kept/kernel.cu" },
  { run = true, name = "a genome of odd characters", says = "gene",
    shell = sed(GENOME:format [[$(touch ran) <\\u001b[2J>;\\n../..]]) },
  { run = true, name = "a genome without end", says = "gene",
    shell = "perl -pi -e 's|\"genome\": \"\\K[^\"]*|\"<_a>\" x 1000000|e' bad/result.json" },
  { run = true, name = "a result without end", says = "not what a run leaves",
    shell = "perl -e 'print \"[\" x 3000000' >bad/result.json" },
  { run = true, name = "a large result", says = "more than",
    shell = "truncate -s 1T bad/result.json" },
  { run = true, name = "a result that is a pipe", says = "is no run",
    shell = "rm bad/result.json; mkfifo bad/result.json" },
  { run = true, name = "options of the compiler", says = "option .time=stolen writes",
    shell = sed [[s|"options": \[|"options": ["--pre-include=/etc/passwd", "-time=stolen", |]] },
}
