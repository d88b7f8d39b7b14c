-- StereoCamera: Langdon and Harman, EuroGP 2014, UCL RN/14/02; chapter 8 of "Genetically Improved
-- Software". Tune ROWSperTHREAD and BLOCK_W, evolve twelve configuration genes and the code, clean
-- up, tune again, validate; the paper's row of the Tesla K20c is printed beside ours.
--
--   gilua [--device cuda] experiments/stereo_k20c.lua [--help]
--
-- Without a GPU the defaults are smaller: a few minutes on two cores.

require("gilua").eurogp2014.run "stereo_k20c"
