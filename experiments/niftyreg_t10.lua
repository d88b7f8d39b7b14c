-- GECCO 2014 with the settings of the Tesla T10 (Tables 1 and 2 of the paper): tune, evolve,
-- clean up, re-tune, validate; the paper's row is printed beside ours.
--
--   gilua [--device cuda] experiments/niftyreg_t10.lua [--help]

require("gilua").gecco2014.run("niftyreg_t10", { gpu = "t10" })
