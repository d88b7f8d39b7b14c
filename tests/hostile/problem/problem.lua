--- The honest problem of the hostile suite: out[i] = 3 + the sum over k of (k + 1) * in[i + k].
--
-- A case is { n = answers, seed = of the inputs }. All numbers are small and whole, so the expected
-- answers are calculated here, exactly, and any other answer is a wrong one.

local gi = require "gilua"

local WEIGHTS = { 1, 2, 3, 4 }
local OFFSET = 3

--- c_tap as the kernel declares it: char, three bytes of padding, float.
local function taps()
  local bytes = {}
  for k, weight in ipairs(WEIGHTS) do bytes[k] = string.pack("<bxxxf", k - 1, weight) end
  return gi.array.frombytes(table.concat(bytes), "u8")
end

--- Numbers as the bytes of an f32 array, in pieces that string.pack can take.
local function floats(numbers)
  local pieces, piece = {}, 100
  for first = 1, #numbers, piece do
    local last = math.min(first + piece - 1, #numbers)
    pieces[#pieces + 1] = string.pack("<" .. ("f"):rep(last - first + 1),
      table.unpack(numbers, first, last))
  end
  return gi.array.frombytes(table.concat(pieces), "f32")
end

local function case(_, spec)
  local n, rng = spec.n or 1000003, gi.rng(spec.seed or 1)
  local values, answers = {}, {}
  for i = 1, n do values[i] = rng:int(200) end
  local function value(i) return values[i] or 0 end -- what lies after the end counts as nothing
  for i = 1, n do
    answers[i] = OFFSET + value(i) + 2 * value(i + 1) + 3 * value(i + 2) + 4 * value(i + 3)
  end
  return {
    name = ("%d answers, seed %d"):format(n, spec.seed or 1), answers = n,
    input = floats(values), taps = taps(), size = n,
    output = gi.array("f32", n), expected = floats(answers), compare = { limit = 0.1 },
  }
end

local function launch(c, values)
  return {
    grid = (c.size + values.block_size - 1) // values.block_size,
    block = values.block_size,
    args = { c.input, c.output },
    constants = { c_n = { "i32", c.size }, c_tap = c.taps },
  }
end

return {
  name = "hostile",
  title = "A sum of four neighbours, for the hostile suite",
  source = "kernel.cu",
  kernel = "blur",
  grammar = { open_loops = true, pragmas = true, restricts = true, launch_bounds = false },
  parameters = {
    { name = "block_size", default = 128, values = { 64, 128, 256 }, doc = "threads a block" },
  },
  tolerance = { max_error = 0.001, wrong_above = 0.1 },
  checked_case = { n = 5000, seed = 9 },
  case = case,
  launch = launch,
}
