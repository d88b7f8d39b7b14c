-- own: what the commands for a user's own kernels share.

local M = {}

---Where the unmodified kernel runs for its answers: on the GPU where there is one, since a case
---that it does in milliseconds may take the virtual GPU minutes.
---@param device string of the experiment
---@return string? nil: the virtual GPU
function M.reference_device(device)
  if not device:find("^cuda") then return nil end
  return device:match("^cuda:%d+") or "cuda:0"
end

return M
