-- certificates: random wrong kernels, of which none may be certified equal over the reals. Lines of
-- small kernels are deleted, copied and exchanged (genes), numbers and operators changed; each
-- mutant is held against its original on one set of data. One that is certified there and answers
-- otherwise on other sets is a false certificate: it is printed, and the script fails.
--
--   ./gilua tests/fuzz/certificates.lua [N] [SEED]      N mutants, 200 usually

package.path = "tests/lua/?.lua;" .. package.path
local core = require "gilua.core"
local gi = require "gilua"
local overreals = require "overreals"

local N, SEED = tonumber(arg[1] or 200), tonumber(arg[2] or 1)
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
  d[i] = sqrt(d[i] * d[i] + 1.0) * r;]] }

local rng = core.rng.new(SEED)

-- --- mutants ----------------------------------------------------------------------------------

local bases = {} -- by kernel: { source =, code =, grammar = }

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
    code = assert(compiled({ source }, grammar)[1].code) }
  return bases[which]
end

-- One thing that stands in the text changed: a number a little, an operator, a name.
local CHANGES = {
  { "(%d+%.%d+)(f?)", function(number, f) return ("%.9g"):format(number * 1.000001) .. f end },
  { "(%d+%.%d+)(f?)", function(number, f) return ("%.3f"):format(number + 1) .. f end },
  { " %+ ", function() return " - " end }, { " %- ", function() return " + " end },
  { " %* ", function() return " + " end }, { "k < (%d+)", function(n) return "k < " .. n - 1 end },
  { "x%[i%]", function() return "z[i]" end }, { "z%[i%]", function() return "x[i]" end },
  { " > ", function() return " < " end }, { "fmaxf", function() return "fminf" end },
  { "%+=", function() return "-=" end }, { "x%[i%]", function() return "(x[i] * 1.0000005f)" end },
}

local function changed(source)
  local change = rng:pick(CHANGES)
  local head, body = source:match "^(.-{\n.-\n)(.*)$"
  local _, places = body:gsub(change[1], "%0")
  if places == 0 then return source end
  local which, seen = rng:int(places), 0
  return head .. body:gsub(change[1], function(...)
    seen = seen + 1
    if seen == which then return change[2](...) end
  end)
end

local function mutant_of(base)
  local genes = {}
  for i = 1, rng:int(0, 2) do genes[i] = base.grammar:random_gene(rng) end
  local source = base.grammar:apply(table.concat(genes, " "), true) or base.source
  for _ = 1, rng:int(#genes == 0 and 1 or 0, 2) do source = changed(source) end
  return source
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

local counts = { mutants = 0, lost = 0, wrong = 0, right = 0, certified = 0, false_ = 0 }

local function count(what) counts[what] = counts[what] + 1 end

local function judge(base, source, result)
  if not result.code or result.code == base.code then return count "lost" end
  local wrong, first = false, nil
  for data = 1, SETS do
    local c = overreals.compared_code(base.code, result.code,
      { data = data, seed = rng:int(1 << 30), s = 0.25 + data / 4 })
    if not c then return count "lost" end
    first = first or c
    wrong = wrong or differ(c.answers[1], c.answers[2])
  end
  local equal = first.certified or first.why:find "same real number" ~= nil
  count(wrong and "wrong" or "right")
  if equal then count "certified" end
  if not wrong or not equal then return end
  count "false_"
  print("FALSE certificate of this kernel:\n" .. source .. "\nits original:\n" .. base.source)
end

while counts.mutants < N do
  local base, sources = base_of(rng:int(#KERNELS)), {}
  for i = 1, BATCH do sources[i] = mutant_of(base) end
  local results = compiled(sources, base.grammar)
  for i, result in ipairs(results) do
    count "mutants"
    judge(base, sources[i], result)
  end
  collectgarbage()
end
print(("%d mutants: %d do not run or are the same code, %d answer otherwise, %d alike; %d certified"
  .. " on the first data, %d falsely"):format(counts.mutants, counts.lost, counts.wrong,
  counts.right, counts.certified, counts.false_))
if counts.false_ > 0 then os.exit(1) end
