-- GECCO 2014 with the settings of the Tesla K20c (Tables 1 and 2 of the paper): tune, evolve,
-- clean up, re-tune, validate; the paper's row is printed beside ours.
--
--   gilua [--device cuda] experiments/niftyreg_k20c.lua [--help]

require("gilua").gecco2014.run("niftyreg_k20c", { gpu = "k20c" })
