-- kernels/stereo: the reference against the definition, every setting and random combinations of
-- them against the reference, scenes against their depth, pairs of files.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local choices = require "choices"
local gi = require "gilua"
local lfs = require "lfs"

local problem = gi.problem "kernels/stereo"
local all_right = choices.all_right
local SMALL = { seed = 3, width = 70, height = 23, max_disparity = 6 }

--- The reference's answers for two images, with disparities to `most`.
local function match(left, right, most)
  local height, width = left:shape()
  local out = gi.array("f32", height, width)
  problem.lib:call("stereo_match", { left, right, { "i64", width }, { "i64", height },
    { "i64", most }, out }, "u8")
  return out
end

local function noise(rng, height, width)
  local a = gi.array("u8", height, width)
  for i = 1, #a do a[i] = rng:int(0, 255) end
  return a
end

--- A pixel, the image's edge going on outside.
local function pixel(image, x, y)
  local height, width = image:shape()
  return image:at(math.max(1, math.min(height, y)), math.max(1, math.min(width, x)))
end

--- The sum over the window around (x, y) at disparity d, by the definition.
local function sum_at(left, right, x, y, d)
  local sum = 0
  for v = y - 5, y + 5 do
    for u = x - 5, x + 5 do sum = sum + (pixel(left, u, v) - pixel(right, u - d, v)) ^ 2 end
  end
  return sum
end

local function defined(left, right, x, y, most)
  local best, least = -1, 500000
  for d = 0, most do
    local sum = sum_at(left, right, x, y, d)
    if sum < least then best, least = d, sum end
  end
  return best
end

tap.case("the reference is the definition, word for word", function()
  local rng = gi.rng(4)
  local left, right = noise(rng, 7, 13), noise(rng, 7, 13)
  for i = 1, #left do -- so that some windows match and some do not
    if i % 13 < 8 then right[i] = left[i] // 2 + right[i] // 8 end
  end
  local got, wrong, none = match(left, right, 4), 0, 0
  for y = 1, 7 do
    for x = 1, 13 do
      local want = defined(left, right, x, y, 4)
      if got:at(y, x) ~= want then wrong = wrong + 1 end
      if want == -1 then none = none + 1 end
    end
  end
  tap.is(wrong, 0, "in every pixel of a small pair")
  tap.ok(none > 0 and none < 7 * 13, ("of which %d have no match"):format(none))
end)

tap.case("a shifted image has its shift as disparity", function()
  local rng = gi.rng(8)
  local right, left = noise(rng, 20, 60), gi.array("u8", 20, 60)
  for y = 1, 20 do
    for x = 1, 60 do left[(y - 1) * 60 + x] = pixel(right, x - 9, y) end
  end
  local got, wrong = match(left, right, 20), 0
  for y = 1, 20 do
    for x = 16, 55 do wrong = wrong + (got:at(y, x) == 9 and 0 or 1) end
  end
  tap.is(wrong, 0, "wherever the window lies inside")
end)

tap.case("the unmodified kernel is right whatever the image's size", function()
  local farm <close> = gi.farm(problem, { jobs = 1 })
  for _, size in ipairs { { 64, 40 }, { 65, 41 }, { 1, 1 }, { 3, 90 }, { 130, 5 }, { 1920, 9 },
    { 7, 1080 } } do
    all_right(farm, { "" }, { seed = 2, width = size[1], height = size[2], max_disparity = 7 },
      ("%d x %d"):format(size[1], size[2]))
  end
  all_right(farm, { "" }, { seed = 2, width = 20, height = 12, max_disparity = 128 },
    "disparities beyond the image's width")
end)

tap.case("every setting by itself is right", function()
  local farm <close> = gi.farm(problem, { jobs = 1 })
  all_right(farm, choices.alone(problem), SMALL, "all of them")
end)

tap.case("128 disparities are right in every type of answer", function()
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local spec = { seed = 5, width = 200, height = 12, max_disparity = 128 }
  local _, most = assert(problem:case(spec)).expected:range()
  tap.ok(most > 85, ("the scene has disparities up to %d"):format(most))
  local genomes, few = { "", "DPER=4", "DPER=3 OUT_TYPE=uchar" }, tap.sanitized "int and short"
  for _, type in ipairs(few and { "float", "uchar" } or { "float", "int", "short", "uchar" }) do
    for _, place in ipairs { "GLOBAL", "SHARED", "LOCAL" } do
      genomes[#genomes + 1] = ("OUT_TYPE=%s STORE_disparityPixel=%s"):format(type, place)
    end
  end
  all_right(farm, genomes, spec, "wherever it is kept")
  spec.max_disparity, spec.width = 97, 161
  all_right(farm, { "DPER=4", "DPER=4 OUT_TYPE=uchar XHALO" }, spec, "so are other numbers of them")
end)

tap.case("combinations are right, and those that cannot be are taken as documented", function()
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local genomes = {
    "BLOCK_W=512 DPER=4", "BLOCK_W=8 XHALO", "BLOCK_W=8 XHALO DPER=3",
    "ROWSperTHREAD=240 BLOCK_W=512 STORE_disparityPixel=SHARED STORE_disparityMinSSD=SHARED",
    "ROWSperTHREAD=40 BLOCK_W=192 STORE_disparityPixel=SHARED STORE_disparityMinSSD=SHARED",
    "texturenormalized=1 textureaddressMode=Wrap", "texturenormalized=1 textureaddressMode=Mirror",
    "textureaddressMode=Wrap", "GPtexturereadmode=ElementType texturefilterMode=Linear",
    "GPtexturereadmode=None texturenormalized=1 textureaddressMode=Mirror", "XHALO XHALO=undef",
  }
  all_right(farm, genomes, SMALL, "these")
  all_right(farm, choices.random(problem, 20, gi.rng(2014)), SMALL, "at random")
end)

--- The name of the n-th rule of a type below a source line that contains the text.
local function rule(type, text, n)
  local found = 0
  for _, r in ipairs(problem.grammar:rules()) do
    if r.type == type and problem.grammar:line(r.line):find(text, 1, true) then
      found = found + 1
      if found == n then return r.name end
    end
  end
  error(("no %s number %d at '%s'"):format(type, n, text))
end

--- The K20c's genome of Figure 8.16, its lines those of our kernel that do the same.
local function figure_8_16()
  local rows = "for (row = 0; row < ROWSperTHREAD && Y + row < height; row++)"
  return table.concat({
    "DPER=2 STORE_disparityMinSSD=SHARED XHALO STORE_disparityPixel=SHARED",
    rule("pragma", rows, 2) .. "<pragma_K3>",
    rule("pragma", "for (row = 1;", 1) .. "<pragma_K11>",
    rule("statement", "__syncthreads();", 6),
    rule("if", "if (lane < TILE_W && X < width)", 3) .. rule("if", "if (group == 0)", 1),
  }, " ")
end

tap.case("no thread races with another, and the checks see one that does", function()
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local barrier = rule("statement", "__syncthreads();", 1)
  local verdicts = farm:check { "", "DPER=4 XHALO", "DPER=3 BLOCK_W=32",
    "STORE_disparityPixel=SHARED STORE_disparityMinSSD=LOCAL DPER=2", barrier }
  for i = 1, 4 do
    tap.is(verdicts[i].status, "ok", verdicts[i].message or "a setting")
    tap.is(verdicts[i].uninitialised_reads, 0, "and nothing is read that was not written")
  end
  tap.is(verdicts[5].status, "race", "without the first barrier there is a race")
end)

tap.case("the grammar has what chapter 8 opens, and header genes do no harm", function()
  local count = {}
  for _, r in ipairs(problem.grammar:rules()) do count[r.type] = (count[r.type] or 0) + 1 end
  tap.is(count.optconst, 4, "a const for each scalar argument")
  tap.ok(count.optvolatile == 1 and count.optrestrict == 1, "volatile and restrict: all or none")
  tap.is(count.for1, count.pragma, "a pragma for each loop")
  tap.is(count.for1, count.for2, "whose headers are open")
  tap.ok(count.for1 >= 10, ("%d loops"):format(count.for1))
  tap.is(count.launchbounds, 1, "and launch bounds")
  local const = rule("optconst", "int width", 1)
  local bounds, volatile, restrict
  for _, r in ipairs(problem.grammar:rules()) do
    if r.type == "launchbounds" then bounds = r.name end
    if r.type == "optvolatile" then volatile = r.name end
    if r.type == "optrestrict" then restrict = r.name end
  end
  local farm <close> = gi.farm(problem, { jobs = 1 })
  all_right(farm, { const .. "<optconst_K0>", volatile .. "<optvolatile_K0>",
    restrict .. "<optrestrict_K0>", bounds .. "<launchbounds_K2> DPER=3", figure_8_16() }, SMALL,
    "each, and the K20c's genome of Figure 8.16")
  local replayed = problem.grammar:apply(gi.eurogp2014.k20c_genome, true)
  tap.is((problem.grammar:apply(figure_8_16(), true)), replayed, "which is what is replayed")
end)

--- A mutant by hand: the kernel after a setting, with texts replaced: { from, to, from, to … }.
local function by_hand(dev, setting, edits)
  local source, detail = problem.grammar:apply(setting, true)
  for i = 1, #edits, 2 do
    local first, last = assert(source:find(edits[i], 1, true))
    source = source:sub(1, first - 1) .. edits[i + 1] .. source:sub(last + 1)
  end
  return { code = assert(gi.compile(source, { target = dev:target() })),
           values = problem:values(detail.params) }
end

local BEST = "PIXEL(row) = dmin;"

--- The mean penalty of §8.14.5.3, one pixel after the other.
local function penalty_of(c, none, unset)
  local sum, n = 0, 0
  for i = 1, c.answers do
    local got, want = c.output[i], c.expected[i]
    if want ~= none then
      n = n + 1
      local outside = not (got >= 0 and got <= c.max_disparity)
      sum = sum + (got == unset and 200 or outside and 100 or math.abs(got - want))
    end
  end
  return sum / n, n
end

tap.case("what a wrong pixel costs is what the paper says, in every type of answer", function()
  local dev = gi.device "emu"
  local runner = gi.runner.new(problem, dev)
  runner:use(assert(problem:case { seed = 7, width = 90, height = 47, max_disparity = 9,
                                   noise = 40 }))
  for _, type in ipairs { "float", "int", "short", "uchar" } do
    for _, m in ipairs {
      { "two more in some columns", BEST, "PIXEL(row) = dmin + (X % 3 ? 0 : 2);" },
      { "no match in most rows", "ssd < MIN_SSD(row)", "false" },
      { "wild in some columns", BEST, "PIXEL(row) = X % 5 ? dmin : 99;" },
      { "some never written", "PIXEL(row) = -1;", ";", BEST, "if (X % 5) PIXEL(row) = dmin;" },
      { "written where there is a match", "PIXEL(row) = -1;", ";" },
      { "a match for every pixel", "MIN_SSD(row) = NO_MATCH", "MIN_SSD(row) = 1 << 30" },
    } do
      local mutant = by_hand(dev, "OUT_TYPE=" .. type, table.move(m, 2, #m, 1, {}))
      local got = runner:measure(mutant, { budget = 0 })
      local c = runner.case
      local mark = gi.array(c.output:dtype(), 1):sentinel()[1]
      if mark ~= mark then -- a NaN equals nothing: found by another value
        mark = -12345
        for i = 1, c.answers do
          if c.output[i] ~= c.output[i] then c.output[i] = mark end
        end
      end
      local want, counted = penalty_of(c, type == "uchar" and 255 or -1, mark)
      tap.ok(counted > 0 and counted < c.answers and got.wrong > 0, ("%s, %s: %d of %d count")
        :format(type, m[1], counted, c.answers))
      tap.near(got.penalty, want, "penalty")
      tap.is(got.counted, counted, "counted")
    end
  end
end)

tap.case("mutants that may be parents are timed, and stay wrong", function()
  local dev = gi.device "emu"
  local runner = gi.runner.new(problem, dev)
  runner.virtual = false -- as on a GPU
  runner:use(assert(problem:case(SMALL)))
  local timing = { min_samples = 3, max_samples = 5, rel_error = 0.1, min_time_s = 0 }
  local function measured(better)
    return runner:measure(by_hand(dev, "", { BEST, better }), { budget = 0, timing = timing })
  end
  local near = measured "PIXEL(row) = dmin + (X == 3);"
  tap.ok(near.max_error == 1 and near.penalty < 0.1, ("one column is one off: %g"):format(
    near.penalty))
  tap.ok(near.samples ~= nil and near.ns < math.huge, "it has a time")
  tap.is(gi.fitness.right(near), false, "it is not right")
  local far = measured "PIXEL(row) = -2;"
  tap.ok(far.status == "ok" and far.penalty > 6, ("another is %g off"):format(far.penalty))
  tap.is(far.samples, nil, "and not timed")
end)

tap.case("a loop may run ten times as often as the kernel's do", function()
  local dev = gi.device "emu"
  local runner = gi.runner.new(problem, dev)
  runner:use(assert(problem:case(problem.checked_case)))
  local most = problem.loop_limit // 10
  local function ends(limit)
    local source = problem.grammar:guard(true, limit) .. "#line 1\n" .. problem.grammar:apply ""
    local code = assert(gi.compile(source, { target = dev:target() }))
    return runner:check(code, problem:values(), 0, true).status
  end
  tap.is(problem.loop_limit, 10 * most, "ten times")
  tap.is(ends(most), "ok", ("%d iterations"):format(most))
  tap.is(ends(most - 1), "loop_limit", "which no thread of the unmodified kernel exceeds")
  local farm <close> = gi.farm(problem, { jobs = 1 })
  local step = rule("for3", "for (row = 1;", 1)
  local verdict = farm:check { "", step }
  tap.is(verdict[1].status, "ok", "it is checked with that limit")
  tap.is(verdict[2].status, "loop_limit", "and what never ends meets it")
end)

tap.case("a scene is matched within one of its depth where both images show it", function()
  for seed = 1, 3 do
    local c = assert(problem:case { seed = seed, width = 200, height = 150 })
    local shares = gi.array("f64", 2)
    problem.lib:call("stereo_shares", { c.expected, c.depth, c.seen, { "i64", c.answers },
      { "f64", 1 }, shares })
    tap.ok(shares[2] > 0.85, ("scene %d: %.3f of what both show, %.3f of all"):format(seed,
      shares[2], shares[1]))
    local least, most = math.huge, 0
    for i = 1, #c.depth do
      least, most = math.min(least, c.depth[i]), math.max(most, c.depth[i])
    end
    tap.ok(least >= 0 and most <= 50, ("depths from %.1f to %.1f"):format(least, most))
  end
end)

tap.case("the same seed makes the same scene, another another", function()
  local a, b = problem:case(SMALL), problem:case(SMALL)
  tap.is(gi.array.compare(a.left, b.left).max_error, 0, "left")
  tap.is(gi.array.compare(a.right, b.right).max_error, 0, "right")
  local other = problem:case { seed = 4, width = 70, height = 23, max_disparity = 6 }
  tap.ok(gi.array.compare(a.left, other.left).max_error > 0, "seed 4 is not seed 3")
end)

--- A folder of pairs, removed when `body` is done.
local function with_folder(body)
  local root = os.tmpname()
  os.remove(root)
  for _, below in ipairs { "", "/left", "/right" } do assert(lfs.mkdir(root .. below)) end
  local written = {}
  local function write(name, ...)
    written[#written + 1] = root .. "/" .. name
    assert(gi.image.write(written[#written], ...))
    return written[#written]
  end
  body(root, write)
  for _, path in ipairs(written) do os.remove(path) end
  for _, below in ipairs { "/left", "/right", "" } do assert(lfs.rmdir(root .. below)) end
end

tap.case("pairs come from files, whatever their depth, and from a folder of them", function()
  with_folder(function(root, write)
    local s = problem:case(SMALL)
    local wide = gi.array("u16", s.height, s.width)
    for i = 1, #wide do wide[i] = s.right[i] * 257 end
    local left, right = write("left/b.png", s.left), write("right/b.png", wide)
    local c = assert(problem:case { left = left, right = right, max_disparity = 6 })
    tap.is(gi.array.compare(c.expected, s.expected).max_error, 0, "8 bits left, 16 bits right")
    write("left/a.pgm", s.right)
    write("right/a.pgm", s.right)
    c = assert(problem:case { folder = root, seed = 3, max_disparity = 6 })
    tap.is(gi.array.compare(c.expected, s.expected).max_error, 0, "the second of a folder's two")
    tap.is(problem:case({ folder = root, seed = 4 }).expected[1000], 0, "the first: no depth")
    local small = write("right/c.pgm", gi.array("u8", 4, 5))
    local none, why = problem:case { left = left, right = small }
    tap.is(none, nil, "pictures of two sizes are no pair")
    tap.has(why, "must be of one size", "and that is said")
  end)
end)

tap.case("files that have changed are another case", function()
  with_folder(function(_, write)
    local left, flat = noise(gi.rng(8), 12, 60), gi.array("u8", 12, 60)
    local spec = { left = write("left/a.pgm", left), right = write("right/a.pgm", left),
      max_disparity = 4 }
    local farm <close> = gi.farm(problem, { jobs = 1 })
    tap.is(farm:answers("", spec):at(6, 30), 0, "the same picture twice: no disparity")
    write("right/a.pgm", flat)
    tap.is(farm:answers("", spec):at(6, 30), -1, "the right one is black now: no match")
  end)
end)

tap.case("what is wrong with a case is said in a sentence", function()
  local function refused(spec, part)
    tap.raises(function() problem:case(spec) end, part, part)
  end
  refused({}, "a case needs an integer seed")
  refused({ seed = 1, max_disparity = 129 }, "max_disparity must be a whole number from 1 to 128")
  refused({ seed = 1, widht = 3 }, "did you mean 'width'")
  refused({ left = "a.pgm" }, "needs 'right'")
  refused({ image = "lena" }, "image can be 'aloe'")
  refused({ image = "aloe", scale = 3 }, "scale must be 1, 2, 4 or 8")
  refused({ left = "a.pgm", right = "b.pgm", width = 3 }, "unknown option 'width'")
  tap.has(select(2, problem:case { left = "no/a.pgm", right = "no/b.pgm" }), "no/a.pgm", "no file")
  tap.has(select(2, problem:case { folder = "no/such", seed = 1 }), "is not a folder", "no folder")
end)

--- f() where an environment variable has another value.
local function with_variable(name, value, f)
  local getenv = os.getenv
  os.getenv = function(asked) -- luacheck: ignore 122
    if asked == name then return value end
    return getenv(asked)
  end
  local ok, why = pcall(f)
  os.getenv = getenv -- luacheck: ignore 122
  if not ok then error(why, 0) end
end

tap.case("another pair in place of Aloe, which must be one", function()
  with_variable("GILUA_ALOE", "/no/such/L.jpg", function()
    local none, why = problem:case { image = "aloe" }
    tap.is(none, nil, "none that is not there")
    tap.has(why, "there is no /no/such/L.jpg (apt-get install opencv-doc", "and how to get it")
  end)
  with_variable("GILUA_ALOE", "kernels/stereo/README.md", function()
    tap.has(select(2, problem:case { image = "aloe" }), "must be named …L.jpg", "nor one alone")
  end)
end)

tap.case("a case says its size and whether it is real, for reports", function()
  tap.is(problem:case(SMALL).size .. " " .. problem:case(SMALL).group, "70x23 made-up pairs",
    "a scene")
  with_folder(function(_, write)
    local left, right = write("left/a.pgm", gi.array("u8", 4, 5)), write("right/a.pgm",
      gi.array("u8", 4, 5))
    local c = assert(problem:case { left = left, right = right, max_disparity = 2 })
    tap.is(c.size .. " " .. c.group, "5x4 real pairs", "files")
  end)
end)

if lfs.attributes("/usr/share/doc/opencv-doc/examples/data/aloeL.jpg")
  and os.execute "command -v djpeg >/dev/null" then
  tap.case("the Aloe pair is read", function()
    local c = assert(problem:case { image = "aloe", scale = 8 })
    tap.is(c.width .. "x" .. c.height, "161x139", "an eighth of its size")
  end)
else
  tap.note("no Aloe pair here (opencv-doc, libjpeg-turbo-progs): not tried")
end

tap.done()
