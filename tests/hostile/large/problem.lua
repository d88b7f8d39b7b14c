--- A problem whose output is larger than 2^31 bytes: every byte must be 42. A case is
-- { n = bytes }, a multiple of 16. A worker needs about twice that much memory.

local gi = require "gilua"

local function case(_, spec)
  local n = spec.n or (1 << 31) + 65536
  return { name = ("%d bytes"):format(n), answers = n, size = n, output = gi.array("u8", n),
           expected = gi.array("u8", n):fill(42), compare = { limit = 0.1 } }
end

local function launch(c)
  local n = c.size // 16
  return { grid = (n + 255) // 256, block = 256, args = { c.output, { "i64", n } } }
end

return {
  name = "hostile-large", title = "More than 2^31 bytes of answers", source = "kernel.cu",
  kernel = "fill", parameters = {}, tolerance = { max_error = 0, wrong_above = 0.1 },
  checked_case = { n = 65536 }, case = case, launch = launch,
}
