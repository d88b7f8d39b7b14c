-- GECCO 2014 with the settings of the GeForce GTX 580 (Tables 1 and 2 of the paper): tune, evolve,
-- clean up, re-tune, validate; the paper's row is printed beside ours.
--
--   gilua [--device cuda] experiments/niftyreg_gtx580.lua [--help]

require("gilua").gecco2014.run("niftyreg_gtx580", { gpu = "gtx580" })
