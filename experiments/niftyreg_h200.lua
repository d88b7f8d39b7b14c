-- GECCO 2014 on an H200, or whatever GPU is there: its own best block size is used in evolution.
--
--   gilua --device cuda experiments/niftyreg_h200.lua [--runs 5] [--help]

require("gilua").gecco2014.run("niftyreg_h200", {
  title = "NiftyReg, GECCO 2014, on a GPU of today",
})
