-- GECCO 2014 with the settings of the Tesla C2050 (Tables 1 and 2 of the paper): tune, evolve,
-- clean up, re-tune, validate; the paper's row is printed beside ours.
--
--   gilua [--device cuda] experiments/niftyreg_c2050.lua [--help]

require("gilua").gecco2014.run("niftyreg_c2050", { gpu = "c2050" })
