-- samples: real data that experiments name and that a machine may lack.

local M = {}

---@class Sample
---@field variable string environment variable that names another file
---@field path string where Debian installs it
---@field what string
---@field advice string

---@type table<string, Sample>
M.known = {
  brain = {
    variable = "GILUA_BRAIN",
    path = "/usr/share/mricron/templates/ch2bet.nii.gz",
    what = "a skull-stripped head of 181x217x181 voxels, 1 737 193 of them non-zero",
    advice = "apt-get install mricron-data, or set GILUA_BRAIN to a skull-stripped NIfTI image",
  },
  aloe = {
    variable = "GILUA_ALOE",
    path = "/usr/share/doc/opencv-doc/examples/data/aloeL.jpg",
    what = "the left picture of a stereo pair of 1282x1110 pixels; aloeR.jpg is beside it",
    advice = "apt-get install opencv-doc libjpeg-turbo-progs, or set GILUA_ALOE to the left JPEG "
      .. "of a pair, …L.jpg beside …R.jpg",
  },
}

--- Where a sample is on this machine.
---@param name string a key of `known`
---@return string? path
---@return string? message what to do to have it
---@return string? code "io"
function M.path(name)
  local sample = M.known[name]
  if not sample then error("gilua.samples.path: no sample is called '" .. name .. "'", 2) end
  local path = os.getenv(sample.variable) or sample.path
  local file = io.open(path, "rb")
  if file then
    file:close()
    return path
  end
  local why = ("the %s is not installed: there is no %s (%s)"):format(name, path, sample.advice)
  return nil, why, "io"
end

return M
