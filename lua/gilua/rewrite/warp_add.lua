--- warp_add: the lines by which the lanes of a warp add up what they have, and one of them updates
-- memory; each lane for itself where some are inactive.

local M = {}

local THREAD = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"

--- Returns these lines, in braces.
---@param kernel table
---@param type string
---@param place string a pointer to the element
---@param value string what a lane adds
---@return string[]
function M.lines(kernel, type, place, value)
  local sum, step = kernel:fresh("warp_value"), kernel:fresh("lanes")
  return {
    "{",
    ("  %s %s = %s;"):format(type, sum, value),
    "  if (__activemask() == 0xffffffffu) {",
    ("    for (int %s = 16; %s > 0; %s /= 2)"):format(step, step, step),
    ("      %s += __shfl_xor_sync(0xffffffffu, %s, %s);"):format(sum, sum, step),
    ("    if ((%s) %% 32 == 0)"):format(THREAD),
    ("      atomicAdd(%s, %s);"):format(place, sum),
    "  } else {",
    ("    atomicAdd(%s, %s);"):format(place, sum),
    "  }",
    "}",
  }
end

return M
