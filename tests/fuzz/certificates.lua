-- certificates: random wrong kernels, of which none may be certified equal over the reals. Lines of
-- small kernels are deleted, copied and exchanged (genes), numbers and operators changed; each
-- mutant is held against its original on one set of data. One that is certified there and answers
-- otherwise on other sets is a false certificate: it is printed, and the script fails. A change of
-- a number by a millionth hides below rounding: a loud twin, with the number changed by much at the
-- same place, then says whether answers depend on it. No machine code is tried twice.
--
--   ./gilua tests/fuzz/certificates.lua [N] [SEED] [SECONDS] [KERNEL]
--
-- makes N mutants (200), or as many as SECONDS allow, of all kernels or of that number alone.

package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local overreals = require "overreals"

local N, SEED = tonumber(arg[1] or 200), tonumber(arg[2] or 1)
local UNTIL = arg[3] and os.time() + tonumber(arg[3]) or math.huge
local KERNEL = tonumber(arg[4])
local BATCH, SETS = 10, 3
local FAR = 1e-4 -- answers that differ by a larger share are others

local KERNELS = { [[
  float t = 0;
  for (int k = 0; k < 8; k++) {
    float v = x[(i + k) % count];
    t += v * z[k];
    t = t + s;
  }
  y[i] = t;
  d[i] = t * 2.0;]], [[
  float m = -LARGEST, t = 0;
  for (int k = 0; k < 6; k++) {
    float v = x[(i * 3 + k) % count];
    m = fmaxf(m, v);
  }
  for (int k = 0; k < 6; k++) {
    t += expf(x[(i * 3 + k) % count] - m);
  }
  y[i] = expf(x[i] - m) / t;]], [[
  float sum = 0, square = 0;
  for (int k = 0; k < 8; k++) {
    float v = x[(i + k) % count];
    sum += v;
    square += v * v;
  }
  float mean = sum / 8;
  float var = square / 8 - mean * mean;
  y[i] = (x[i] - mean) * rsqrtf(var + 1e-5f) * z[i] + s;]], [[
  __shared__ float tile[32];
  tile[threadIdx.x] = x[i] * s;
  __syncthreads();
  float t = 0;
  for (int k = 0; k < 32; k++) {
    t += tile[k] * z[k];
  }
  y[i] = t + tile[threadIdx.x];
  d[i] = d[i] + t;]], [[
  float t = x[i] * x[i];
  t += z[i];
  t += __shfl_xor_sync(~0u, t, 16);
  t += __shfl_xor_sync(~0u, t, 8);
  t += __shfl_xor_sync(~0u, t, 4);
  t += __shfl_xor_sync(~0u, t, 2);
  t += __shfl_xor_sync(~0u, t, 1);
  y[i] = t * s;]], [[
  float v = x[i];
  float w = z[i];
  if (v > w) {
    v = v * 2.0f + w;
  } else {
    v = w - v * s;
  }
  y[i] = v;
  n[i] = n[i] + (int)(v * 8.0f);]], [[
  float p = 3.0f;
  float v = x[i];
  p = p * v + s;
  p = p * v + z[i];
  p = p * v - 1.0f;
  y[i] = p / (fabsf(v) + 1.5f);]], [[
  float a = tanhf(0.7978845f * (x[i] + 0.044715f * x[i] * x[i] * x[i]));
  float b = 0.5f * x[i];
  y[i] = b * (1.0f + a);
  int bin = n[i];
  atomicAdd(&d[bin], (double)b);
  y[i] = y[i] + z[i];]], [[
  float lo = fminf(x[i], z[i]);
  float hi = fmaxf(x[i], z[i]);
  float r = hi - lo;
  r = fminf(fmaxf(r, 0.25f), 1.0f);
  y[i] = r * sinf(lo) + cosf(hi);
  d[i] = sqrt(d[i] * d[i] + 1.0) * r;]], [[
  __shared__ float tile[32];
  tile[threadIdx.x] = x[i] * z[i];
  __syncthreads();
  for (int k = 16; k > 0; k >>= 1) {
    if (threadIdx.x < k) tile[threadIdx.x] += tile[threadIdx.x + k];
    __syncthreads();
  }
  y[i] = tile[0] / 32.0f - x[i];]], [[
  float before = x[(i + count - 1) % count];
  float after = x[(i + 1) % count];
  float here = x[i];
  float flow = before - 2.0f * here + after;
  y[i] = here + 0.125f * flow * z[i];
  d[i] = d[i] + flow * s;]], [[
  float real = 1.0f, imag = 0.0f;
  for (int k = 0; k < 4; k++) {
    float next = real * x[i] - imag * z[i];
    imag = real * z[i] + imag * x[i];
    real = next + s;
  }
  y[i] = real;
  d[i] = imag;]], [[
  float best = x[i];
  int at = 0;
  for (int k = 1; k < 6; k++) {
    float v = x[(i + k * 5) % count];
    if (v > best) {
      best = v;
      at = k;
    }
  }
  y[i] = best * z[at] + 0.5f;
  n[i] = at;]], [[
  float sum = 0;
  for (int k = 0; k < n[i]; k++) {
    sum += x[(i + k) % count] * z[k];
  }
  float gate = 1.0f / (1.0f + expf(-sum));
  y[i] = gate * x[i] + s;]], [[
  __shared__ float tile[64];
  unsigned at = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
  tile[threadIdx.x] = s;
  tile[threadIdx.x + 32] = s;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(&x[i]) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at + 128), "l"(&z[i]) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  __syncthreads();
  float t = 0;
  for (int k = 0; k < 32; k++) {
    t += tile[k];
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (int k = 0; k < 32; k++) {
    t += tile[k + 32] * 0.5f;
  }
  y[i] = t * tile[threadIdx.x];]] }

local rng = core.rng.new(SEED)

-- --- mutants ----------------------------------------------------------------------------------

local bases = {} -- by kernel: { source =, code =, grammar =, seen = codes that were tried }

local function compiled(sources, grammar)
  local units = {}
  for i, source in ipairs(sources) do units[i] = { source = source, names = grammar:names() } end
  return assert(gi.compile.batch(units, { options = overreals.FAST, target = overreals.target }))
end

local function base_of(which)
  if bases[which] then return bases[which] end
  local source = overreals.source(KERNELS[which])
  local grammar = assert(gi.grammar.parse("kernel.cu", { text = source, kernel = "k" }))
  bases[which] = { source = source, grammar = grammar,
    code = assert(compiled({ source }, grammar)[1].code), seen = {} }
  return bases[which]
end

-- One thing that stands in the text changed: a number, an operator, a name.
local CHANGES = {
  { "(%d+%.%d+)(f?)", function(number, f)
    return ("%.4f"):format(number + rng:int(1, 64) / 16) .. f
  end },
  { " %+ ", function() return " - " end }, { " %- ", function() return " + " end },
  { " %* ", function() return " + " end }, { "k < (%d+)", function(n) return "k < " .. n - 1 end },
  { "x%[i%]", function() return "z[i]" end }, { "z%[i%]", function() return "x[i]" end },
  { " > ", function() return " < " end }, { "fmaxf", function() return "fminf" end },
  { "%+=", function() return "-=" end }, { "%[(i[^%]]*)%]", function(at)
    return ("[(%s + 1) %% count]"):format(at) end },
}
-- Changes that answers hardly show, each with its loud twin.
local QUIET = {
  { "(%d+%.%d+)(f?)", function(number, f) return ("%.9g"):format(number * 1.000001) .. f end,
    function(number, f) return ("%.4f"):format(number * 1.5) .. f end },
  { "x%[i%]", function() return "(x[i] * 1.0000005f)" end, function() return "(x[i] * 1.5f)" end },
}

-- The body with one place of a pattern replaced.
local function replaced(source, pattern, which, by)
  local head, body = source:match "^(.-{\n.-\n)(.*)$"
  local seen = 0
  return head .. body:gsub(pattern, function(...)
    seen = seen + 1
    if seen == which then return by(...) end
  end)
end

-- A text with one change more, and with its loud twin.
local function changed(source, changes)
  local change = rng:pick(changes)
  local _, places = source:match "^.-{\n.-\n(.*)$":gsub(change[1], "%0")
  if places == 0 then return source, source end
  local which = rng:int(places)
  local text = replaced(source, change[1], which, change[2])
  return text, change[3] and replaced(source, change[1], which, change[3]) or text
end

-- A mutant, and its loud twin where its last change is a quiet one; else the mutant again.
local function mutant_of(base)
  local genes = {}
  for i = 1, rng:int(0, 5) do genes[i] = base.grammar:random_gene(rng) end
  local source = base.grammar:apply(table.concat(genes, " "), true) or base.source
  for _ = 1, rng:int(0, 4) do source = changed(source, CHANGES) end
  if source ~= base.source and rng:int(5) > 1 then return source, source end
  return changed(source, QUIET)
end

-- --- verdicts ---------------------------------------------------------------------------------

local function differ(old, new)
  for k, array in ipairs(old) do
    for i = 1, #array do
      local a, b = array[i], new[k][i]
      local same = a == b or a ~= a and b ~= b
      local near = math.abs(a - b) <= FAR * (math.abs(a) + math.abs(b)) + 1e-7
      if not same and not near then return true end
    end
  end
  return false
end

local counts = { mutants = 0, lost = 0, known = 0, wrong = 0, quiet = 0, right = 0, certified = 0,
  false_ = 0 }

local function count(what) counts[what] = counts[what] + 1 end

-- Does a kernel answer otherwise than the base on any set of data? With the first comparison; nil
-- where it does not run.
local function differs(base, code)
  local wrong, first = false, nil
  for data = 1, SETS do
    local c = overreals.compared_code(base.code, code,
      { data = data, seed = rng:int(1 << 30), s = 0.25 + data / 4 })
    if not c then return nil end
    first = first or c
    wrong = wrong or differ(c.answers[1], c.answers[2])
  end
  return wrong, first
end

-- loud: what became of its loud twin, where it has one.
local function judge(base, source, result, loud)
  if not result.code or result.code == base.code then return count "lost" end
  if base.seen[result.code] then return count "known" end
  base.seen[result.code] = true
  local wrong, first = differs(base, result.code)
  if wrong == nil then return count "lost" end
  if not wrong and loud and loud.code and differs(base, loud.code) then
    count "quiet"
    wrong = true
  end
  count(wrong and "wrong" or "right")
  local equal = first.certified or first.why:find "same real number" ~= nil
  if equal then count "certified" end
  if not wrong or not equal then return end
  count "false_"
  print("FALSE certificate of this kernel:\n" .. source .. "\nits original:\n" .. base.source)
end

while counts.mutants < N and os.time() < UNTIL do
  local base, sources, twins = base_of(KERNEL or rng:int(#KERNELS)), {}, {}
  for i = 1, BATCH do sources[i], twins[i] = mutant_of(base) end
  for i = 1, BATCH do
    if twins[i] ~= sources[i] then
      sources[#sources + 1] = twins[i]
      twins[i] = #sources
    end
  end
  local results = compiled(sources, base.grammar)
  for i = 1, BATCH do
    count "mutants"
    judge(base, sources[i], results[i], results[twins[i]])
  end
  collectgarbage()
end
print(("%d mutants: %d do not run or are the same code, %d were tried before, %d answer otherwise "
  .. "(%d of them by less than rounding), %d alike; %d certified on the first data, %d falsely")
  :format(counts.mutants, counts.lost, counts.known, counts.wrong, counts.quiet, counts.right,
  counts.certified, counts.false_))
if counts.false_ > 0 then os.exit(1) end
