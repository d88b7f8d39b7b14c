-- madekernels: random kernels for rewritings to go wrong on: second names of arrays, loops that may
-- have no round, with bounds that change, breaks, continues, gotos, returns, and what only some
-- threads do. Each is k(out, a, b, n) of rewritten.source, ends, and races with nobody: a thread
-- writes its own elements alone, but for atomic counts.

local rewritten = require "rewritten"

local M = {}

local Maker = {}
Maker.__index = Maker

local MOST_DEPTH = 3

local function chance(self, percent) return self.rng:int(100) <= percent end

local function new_name(self, letter)
  self.count = self.count + 1
  return letter .. self.count
end

local function put(self, text, ...)
  self.lines[#self.lines + 1] = ("  "):rep(self.depth + 1) .. text:format(...)
end

-- What an element of the thread's own can be called by, all of them within `out` or `tile`.
local NAMES = {
  { "auto %s = out;", "%s[t]" }, { "float *%s = out + 64;", "%s[t]" },
  { "auto *%s = &out[t];", "%s[0]" }, { "float *%s; %s = out + t;", "%s[64]" },
  { "float &%s = out[t];", "%s" }, { "const float &%s = out[t + 64];", nil, "%s" },
  { "float (*%s)[32] = tile;", "%s[1][lane]" }, { "float (&%s)[4][32] = tile;", "%s[0][lane]" },
  { "auto %s = tile[0];", "%s[lane]" }, { "float *%s[2] = { out, tile[0] };", "%s[0][t]" },
  { "typedef float *P%s; P%s %s = tile[1];", "%s[lane]" },
  { "float *%s = n > 2 ? out : out + 64;", "%s[t]" },
  { "decltype(tile) &%s = tile;", "%s[0][lane]" },
}

local function add_name(self)
  local one, name = self.rng:pick(NAMES), new_name(self, "z")
  local stars = select(2, one[1]:gsub("%%s", ""))
  local words = {}
  for i = 1, stars do words[i] = name end
  put(self, one[1], table.unpack(words))
  if one[2] then self.places[#self.places + 1] = one[2]:format(name) end
  self.loads[#self.loads + 1] = (one[2] or one[3]):format(name)
end

local function integer(self)
  return self.rng:pick { "n", "m", "0", "1", "3", "n - 2", "m + 1", "lane % 3",
    "(int)b[lane] & 3", table.unpack(self.integers) }
end

local function load(self)
  if chance(self, 40) then return self.rng:pick(self.loads) end
  return self.rng:pick { "a[t]", "b[t]", "a[t + 5]", "b[n]", "a[m]", table.unpack(self.inner) }
end

local function value(self)
  return self.rng:pick { "%s", "%s", "%s * 0.5f", "%s + 1.0f", "%s - s" }:format(load(self))
end

local function condition(self)
  return self.rng:pick { "%s > 0.5f", "%s < s", "n > 2", "m > 1", "lane < 9", "%s > 0.0f && n > 1",
    "n < 3 || %s > 1.0f" }:format(load(self))
end

local statement

local function block(self, n)
  local counts = { #self.places, #self.loads, #self.integers, #self.inner }
  self.depth = self.depth + 1
  for _ = 1, n do statement(self) end
  self.depth = self.depth - 1
  for i, list in ipairs { self.places, self.loads, self.integers, self.inner } do
    for k = #list, counts[i] + 1, -1 do list[k] = nil end -- what was declared there
  end
end

local function assign(self)
  if chance(self, 45) then return put(self, "s = s * 0.5f + %s;", value(self)) end
  put(self, "%s %s %s;", self.rng:pick(self.places), self.rng:pick { "=", "+=", "-=" }, value(self))
end

local function branch(self)
  put(self, "if (%s) {", condition(self))
  block(self, 1)
  if chance(self, 40) then
    put(self, "} else {")
    block(self, 1)
  end
  put(self, "}")
end

local function jump(self)
  local word = self.rng:pick { "break;", "break;", "continue;", "goto next" .. self.loop .. ";",
    "return;", "break;" }
  if word:find "^goto" then self.gone[self.loop] = true end
  put(self, "if (%s) %s", condition(self), word)
end

-- A loop that goes up to a bound, whatever else its body does to its variable.
local function round(self)
  local i, at, low, high = new_name(self, "i"), new_name(self, "at"), integer(self), integer(self)
  local outer = self.loop
  put(self, "int %s = (%s) < (%s) ? t : -100000;", at, low, high)
  local head = self.rng:pick { "for (int I = L; I < H; I++) {", "for (int I = L; I < H; I += 2) {",
    "for (int I = H - 1; I >= L; I--) {", "int I = L; while (I < H) { I++;",
    "int I; for (I = L; I < H; I++) {", "for (int I = L, q = 0; I < H; I++, q++) {" }
  put(self, "%s", (head:gsub("%u", { I = i, L = "(" .. low .. ")", H = "(" .. high .. ")" })))
  self.loop, self.loops = self.loops + 1, self.loops + 1
  local own, inner = self.loop, #self.inner
  self.inner[inner + 1], self.inner[inner + 2] = ("a[%s]"):format(at), ("b[%s + 4]"):format(i)
  if chance(self, 30) then put(self, "  out[%s] += b[%s + 3];", at, i) end
  if chance(self, 20) then put(self, "  if (a[%s] > 0.5f) s += b[lane]; else s -= 1.0f;", at) end
  if chance(self, 20) then put(self, "  s += 1.0f / (a[%s] + 64.0f);", at) end
  block(self, self.rng:int(2))
  if chance(self, 35) then self.depth = self.depth + 1 jump(self) self.depth = self.depth - 1 end
  if chance(self, 15) and not head:find "%-%-" then
    put(self, "  if (%s) %s += %d;", condition(self), i, self.rng:int(3))
  end
  if chance(self, 50) then block(self, 1) end
  put(self, "  %s }", self.gone[own] and "next" .. own .. ": ;" or "")
  self.inner[inner + 1], self.inner[inner + 2], self.loop = nil, nil, outer
  if head:find "^int" then self.integers[#self.integers + 1] = i .. " % 4" end
end

local function exchange(self)
  put(self, "__syncthreads(); tile[3][lane] = s; __syncthreads();")
  put(self, "s += tile[3][31 - lane];")
end

function statement(self)
  local dice = self.rng:int(100)
  if dice <= 15 and self.depth == 0 and not self.returns then return exchange(self) end
  if dice <= 30 then return add_name(self) end
  if dice <= 55 and self.depth < MOST_DEPTH then return round(self) end
  if dice <= 70 and self.depth < MOST_DEPTH then return branch(self) end
  if dice <= 75 and #self.integers > 0 then
    return put(self, "atomicAdd(&out[2048 + ((%s) & 3)], 1.0f);", self.rng:pick(self.integers))
  end
  assign(self)
end

--- A kernel's source.
---@param rng table
---@return string
function M.make(rng)
  local self = setmetatable({ rng = rng, lines = {}, depth = 0, count = 0, loops = 0, gone = {},
    places = { "out[t]", "out[t + 64]", "tile[0][lane]", "tile[1][lane]" },
    loads = { "out[t]", "out[t + 64]", "tile[0][lane]", "tile[1][lane]" }, integers = {},
    inner = {} }, Maker)
  put(self, "int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x, m = n / 2;")
  put(self, "__shared__ float tile[4][32];")
  put(self, "for (int row = 0; row < 4; row++) tile[row][lane] = b[t + row];")
  put(self, "float s = a[t];")
  for _ = 1, rng:int(2, 5) do statement(self) end
  put(self, "out[t + 128] = s + tile[0][lane] + tile[1][lane];")
  return rewritten.source(table.concat(self.lines, "\n"))
end

return M
