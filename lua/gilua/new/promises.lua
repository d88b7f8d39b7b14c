-- promises: what a winner promises of every launch of its kernel, where its case shows one: that no
-- array it writes is the memory of another (`__restrict__`, and transformations that take arrays
-- for apart), that no block has more threads than `__launch_bounds__` says, that no block or grid
-- is another than a transformation is for. The host's code that the kernel came from is asked,
-- read and not run; where it cannot tell, the promise is a person's to keep. So is what nobody's
-- code says: that numbers fit into fewer bits, that approximate mathematics will do within a
-- tolerance that was guessed, that a line which stands there twice may differ.
--
-- Where there is no such code, but arguments of a person's own or a recording's, the virtual GPU
-- has watched whether arrays met (gilua.facts.watched). That says nothing of arguments which gilua
-- made up: each of those arrays has memory of its own.

local attempt = require "gilua.base.attempt"
local brokenpromise = require "gilua.problem.brokenpromise"
local callers = require "gilua.host.callers"
local covered = require "gilua.new.covered"
local csource = require "gilua.source.csource"
local ends = require "gilua.base.ends"
local fixed = require "gilua.host.fixed"
local float = require "gilua.rewrite.float"
local launchedit = require "gilua.new.launchedit"
local largestgrid = require "gilua.new.largestgrid"
local launches = require "gilua.transform.launch"
local othernames = require "gilua.new.othernames"
local program = require "gilua.new.program"
local roots_of = require "gilua.host.roots"
local recordeds = require "gilua.problem.recorded"
local scalaruse = require "gilua.new.scalaruse"
local settings = require "gilua.base.settings"
local slice = require "gilua.new.slice"
local tablecase = require "gilua.problem.tablecase"

local M = {}

-- The host's code of the file that a problem was made of, or of one of several, and its program.
local function host_of(t, kernel, path)
  local found = program.read(path or t.made_from.path, kernel, t.include or {}, t.defines)
  found.host.program = found
  return found.host
end

-- What a genome gives each rule of a type, of a rule that is given several the last: texts, and the
-- rules' lines.
local function texts_of(problem, genome, type)
  local rules, given = {}, {}
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    local rule = gene.target
    local text = gene.source and gene.source.text or ""
    if rule and rule.type == type then
      if not given[rule.name] then rules[#rules + 1] = rule end
      given[rule.name] = text:match "^%s*(.-)%s*$"
    end
  end
  local texts, lines = {}, {}
  for i, rule in ipairs(rules) do texts[i], lines[i] = given[rule.name], rule.line end
  return texts, lines
end

--------------------------------------------------------------------------------------------------
-- Arrays that are different memory

---@alias ApartNeeds fun(a: integer, b: integer): string? the words for the promise that two
---  arguments of a launch are apart; nil where nothing hangs on these two

-- What two arguments that are arrays have to be apart for; nil where neither is written, or nothing
-- is promised of them.
local function needed(t, needs, i, k)
  local is_written = tablecase.is_written(t.args[i]) or tablecase.is_written(t.args[k])
  return is_written and t.args[i].count and t.args[k].count and needs(i, k) or nil
end

-- Returns what pairs of a launch's arguments have to be apart for: { i, k, words }.
local function pairs_needed(t, needs)
  local list = {}
  for k = 1, #t.args do
    for i = 1, k - 1 do
      local words = needed(t, needs, i, k)
      if words then list[#list + 1] = { i, k, words } end
    end
  end
  return list
end

-- The roots of a launch's arguments, each looked for once.
local function roots_in(host, texts, body)
  return setmetatable({}, { __index = function(self, i)
    self[i] = roots_of.of(host, texts[i], body)
    return self[i]
  end })
end

-- Can a function that nothing calls be given one memory as two arguments of the launch? Not by a
-- parameter that is `restrict` itself, and never the memory that the function asks for itself.
local function is_open(host, way, pair)
  local by_name, any = {}, false
  for _, param in ipairs(way.open and way.open.params or {}) do by_name[param.name] = param.text end
  for _, i in ipairs(way.open and pair or {}) do
    local text = type(i) == "number" and way.args[i]
    local root = text and roots_of.of(host, text, way.open)[1]
    if text and (not root or roots_of.is_own(host, text, way.open)) then return false end
    local declared = root and by_name[root:match "^[%w_]*"]
    any = any or declared and not declared:find "restrict" or false
  end
  return any
end

-- The promise that arrays are apart, by the arguments of a launch that it is of; nil where a genome
-- promises no such thing. Of `__restrict__`, and of arrays in a function that the kernel calls, it
-- is of all arguments.
local function apart(problem, genome)
  local texts = texts_of(problem, genome, "optrestrict")
  local all, some = table.concat(texts):find "__restrict__" and "`__restrict__`" or nil, {}
  local any = all
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    local words = gene.apart and ("by %s that its arrays are different memory"):format(gene.text)
    any = any or words
    for _, pair in ipairs(words and gene.pairs or {}) do
      local key = pair.args and ("%d %d"):format(math.min(table.unpack(pair.args)),
        math.max(table.unpack(pair.args)))
      if key then some[key] = some[key] or words else all = all or words end
    end
  end
  return any, function(a, b) return all or some[("%d %d"):format(a, b)] end
end

-- What speaks against a pair of one launch: the words for it; nil where nothing does.
local function against(host, t, way, roots, pair)
  local i, k, words = table.unpack(pair)
  local place, a, b = way.launch.place, roots[i], roots[k]
  local unknown = a.unknown or b.unknown
  local at = not unknown and roots_of.common(host, a, b)
  if unknown then
    return ("%s, and `%s`, which %s launches it with, is not understood"):format(words, unknown,
      place)
  elseif at then
    return ("%s, but %s launches it with `%s` as both %s and %s"):format(words, place, at,
      t.args[i].name, t.args[k].name)
  elseif is_open(host, way, pair) then
    return ("%s, and nothing says what %s is called with, where %s launches it"):format(words,
      way.open.name, place)
  end
end

local function of_arrays(host, t, ways, promise, needs, tell)
  if #ways == 0 then
    tell("%s, and no launch says whether its arrays may be one memory", promise)
  end
  local list = pairs_needed(t, needs)
  for _, way in ipairs(ways) do
    local roots, said = roots_in(host, way.args, way.launch.body), nil
    if #way.args ~= #t.args then
      said = ("%s, and what %s launches it with is not understood"):format(promise,
        way.launch.place)
    end
    for _, pair in ipairs(not said and list or {}) do
      said = said or against(host, t, way, roots, pair)
    end
    if said then tell("%s", said) end
  end
end

-- How a promise of one gene came out on all data that were watched.
local function summed(rows, one)
  local key = one.gene .. " " .. one.promise
  local row = rows[key]
  if not row then
    row = { gene = one.gene, promise = one.promise, held = 0, of_file = one.of_file }
    rows[#rows + 1], rows[key] = row, row
  end
  row.held = row.held + (one.answer and 1 or 0)
  row.why = row.why or one.why
end

-- The promises of a genome's genes, with what the cases showed of each; a gene that promises in its
-- own words says so there, too.
local function watched(problem, genome, seen)
  local rows, cases = {}, {}
  for _, case in ipairs(seen) do cases[#cases + 1] = case.meets end
  for i = 1, math.max(#cases, 1) do
    for _, one in ipairs(brokenpromise.all(problem, genome, cases[i])) do
      if not one.ours then summed(rows, one) end
    end
  end
  return rows
end

-- What is said of a promise; of several of a gene with the same end it is said once.
local function say_each(rows, ending_of, say)
  local said, order = {}, {}
  for _, row in ipairs(rows) do
    local ending = ending_of(row)
    local key = row.gene .. ending
    if not said[key] then order[#order + 1] = { key, row.gene, ending } end
    said[key] = said[key] and "its arrays are different memory" or row.promise
  end
  for _, one in ipairs(order) do say("by %s that %s%s", one[2], said[one[1]], one[3]) end
end

local function of_watched(rows, tell, keep)
  local open, held = {}, {}
  for _, row in ipairs(rows) do table.insert(row.why and open or held, row) end
  say_each(open, function(row) return ", and " .. row.why end, tell)
  say_each(held, function(row)
    return (": watched on %d kind%s of data"):format(row.held, row.held == 1 and "" or "s")
  end, keep)
end

-- Those that the host's launches keep, which were read; what of them is the file's was watched.
local function of_host(rows, tell, keep)
  local hosts, files = {}, {}
  for _, row in ipairs(rows) do table.insert(row.of_file and files or hosts, row) end
  of_watched(files, tell, keep)
  say_each(hosts, function()
    return ": asked of the host, whose launches give different arrays"
  end, keep)
end

local function of_proved(problem, genome, keep)
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    if gene.proved then keep("by %s that its arrays are different memory: proved", gene.text) end
  end
end

local MOST_INSTRUCTIONS = 400 * 1000 * 1000 -- of warps in all further recordings

-- What met in the recordings besides the one that is checked, where a person gave no smaller one.
local function on_recordings(problem, farm, list)
  local recorded, specs = problem.definition.recorded, {}
  for _, use in ipairs(#recorded:specs "small" == 0 and recordeds.USES or {}) do
    for _, spec in ipairs(recorded:specs(use)) do
      if spec.recording ~= problem.checked_case.recording then specs[#specs + 1] = spec end
    end
  end
  for _, spec in ipairs(specs) do spec.checked_budget = MOST_INSTRUCTIONS // #specs end
  local found = #specs > 0 and farm:examine("", specs) or {}
  for i, spec in ipairs(specs) do
    local own = found[i] and found[i].verdicts and found[i].verdicts[1]
    list[#list + 1] = { data = spec.recording, meets = own and own.meets }
  end
end

--- What met in the kernel as it is on the data that it has run on under watch: on the small case;
--- of a recorded problem on its other recordings, of a table on other data.
---@param problem gilua.problem
---@param farm gilua.farm
---@param genome string
---@param data? OtherData
---@return { data: string, meets: table[]? }[]
function M.seen(problem, farm, genome, data)
  if problem.is_ptx or #brokenpromise.all(problem, genome) == 0 then return {} end
  local list = { { data = "the small case", meets = farm:check({ "" })[1].meets } }
  for _, row in ipairs(data and data.rows or {}) do
    list[#list + 1] = { data = row.data, meets = row.meets }
  end
  if problem.definition.recorded then on_recordings(problem, farm, list) end
  return list
end

--------------------------------------------------------------------------------------------------
-- Blocks and grids

-- The sides of a block that a genome sets; none where it sets none, as of a recording.
local function block_set(problem, genome)
  local _, detail = problem.grammar:apply(genome)
  local own, set = problem:values(), problem:values(detail and detail.params)
  local sides = {}
  for d, side in ipairs { "x", "y", "z" } do
    local name = "block_size_" .. side
    sides[d] = set[name] ~= own[name] and set[name] or false
  end
  return sides
end

-- The words of gilua.launch for the grid's limit along y and z, where a genome sets shorter blocks
-- along them: there are more of these.
local function limits_set(problem, genome)
  local words, set = {}, genome:find "block_size_" and block_set(problem, genome) or {}
  for d, side in ipairs { "x", "y", "z" } do
    local is_more = d > 1 and set[d] and set[d] < (problem:values()["block_size_" .. side] or 1)
    if is_more then words[#words + 1] = ("grid.%s<=%d"):format(side, launches.MOST_BLOCKS) end
  end
  return words
end

-- What transformations ask of a kernel's block, or of its grid: `words` of gilua.launch, with what
-- becomes of it, and `conditions`, what is asked, for people; nil where they ask nothing. Of the
-- grid also what a block's sides that are set ask.
local function asked_of(problem, genome, kernel, what)
  local words = what == "grid" and limits_set(problem, genome) or {}
  local own = table.move(words, 1, #words, 1, {})
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    for _, c in ipairs(gene.launch and launches.read(gene.launch) or {}) do
      if (c.of == what or c.of == "axes") and (c.kernel or kernel) == kernel then
        words[#words + 1] = c.word
        if c.of == what or what == "grid" then own[#own + 1] = c.word end
      end
    end
  end
  local _, conditions = launches.words_apart(table.concat(own, " "))
  if what == "block" and not conditions and genome:find "block_size_" then
    conditions = ("blocks of at most %d threads"):format(launches.MOST_THREADS)
  end
  return conditions and { words = table.concat(words, " "), conditions = conditions }
end

-- The sides of a text as its host's code usually has them, false where one is not known.
local function usual_sides(host, text)
  local list = text ~= "" and host:sides(text) or {}
  local is_whole = #list > 1 or list[1] and (host:value(list[1]) or launchedit.is_one_side(list[1]))
  local known = {}
  for d = 1, 3 do
    local value = list[d] and host:value(list[d]) or not list[d] and is_whole and 1
    known[d] = value and value > 0 and math.ceil(value) or false
  end
  return known
end

-- The texts of the sides of a launch's grid or block, false where one is given several values.
local function said_sides(host, said, body)
  local own = not said:find "[^%w_]" and fixed.sides(host, said, body)
  local is_dim3 = own and (own[1] or own[2] or own[3])
  if is_dim3 then return own end
  local list = said:find "[^%w_]" and host:sides(said) or {}
  local is_whole = #list > 1 or said ~= "" and launchedit.is_whole(body, said)
  for d = 1, 3 do list[d] = list[d] or d > 1 and is_whole and "1" or false end
  return list
end

-- The sides of a launch's grid or block, false where one may be another than it usually is: the z
-- of `n / 64`, `dim3(n, m)` and `dim3(n, m, 1)` is 1, whatever n is.
local function known_sides(host, way, field)
  local said, body, known = way.launch.said[field] or "", way.launch.body, {}
  if fixed.is(host, said, body) then return usual_sides(host, way[field]) end
  local list = said_sides(host, said, body)
  for d = 1, 3 do known[d] = math.tointeger(tonumber(list[d] or nil)) or false end
  return known
end

-- The block of a launch with the sides that a genome sets; nil where one is not known.
local function block_of(host, way, set)
  local block = known_sides(host, way, "block")
  for d = 1, 3 do
    block[d] = set[d] or block[d]
    if not block[d] then return nil end
  end
  return block
end

-- __launch_bounds__
local function of_bounds(host, ways, text, tell)
  local most = tonumber(text:match "__launch_bounds__%s*%(%s*(%d+)")
  for _, way in ipairs(most and ways or {}) do
    local block = block_of(host, way, {})
    local n = block and block[1] * block[2] * block[3]
    if not n then
      tell("%s, and how many threads a block of %s has is not known", text, way.launch.place)
    elseif n > most then
      tell("%s, but %s launches blocks of %d", text, way.launch.place, n)
    end
  end
end

-- How many threads a block has as `words` change it; nil where it cannot be changed so.
local function threads_then(block, words)
  local read, new = attempt(launches.changed, { grid = 1, block = block }, words)
  local n = read and new.block[1] * new.block[2] * new.block[3]
  return n and n <= launches.MOST_THREADS and n or nil
end

local function of_blocks(host, ways, asked, set, tell)
  for _, way in ipairs(ways) do
    local block, place = block_of(host, way, set), way.launch.place
    if not block then
      tell("%s, and how many threads a block of %s has is not known", asked.conditions, place)
    elseif not threads_then(block, asked.words) then
      tell("%s, but %s launches blocks of %s", asked.conditions, place, table.concat(block, " x "))
    end
  end
end

-- What becomes of a kernel's launch, words of gilua.launch; "" where nothing does.
local function launch_words(problem, genome)
  local _, detail = problem.grammar:apply(genome)
  return detail and detail.params and detail.params[launches.PARAMETER] or ""
end

-- Is an argument at most a number at every launch?
local function is_at_most(host, ways, i, most)
  for _, way in ipairs(ways) do
    local said = way.launch.told[i] or way.launch.args[i]
    local value = said and fixed.is(host, said, way.launch.body) and host:value(way.args[i])
    if not value or value > most then return false end
  end
  return #ways > 0
end

-- Shorter blocks have too few threads where each does its part of as many as an argument says, by
-- its place in the block: `if (threadIdx.x < bins)`.
local function of_guards(host, problem, ways, set, tell)
  local t <close> = csource.tokens(problem.source)
  local derived, own = scalaruse.derived(t), problem:values()
  for i, arg in ipairs(problem.definition.kernel_table.table.args) do
    local d = arg.value and scalaruse.of(t, arg.name, false, derived).guard
    local side = ("xyz"):sub(d or 4, d or 4)
    local length = d and set[d]
    local is_shorter = length and length < (own["block_size_" .. side] or 1)
    if is_shorter and not is_at_most(host, ways, i, length) then
      tell("that `%s` is at most %d, as a thread's place in its block is compared with it and "
        .. "blocks become %d long in %s", arg.name, length, length, side)
    end
  end
end

local SIDES = { x = 1, y = 2, z = 3 }
local TRIED = 64 -- lengths of a side that may be any
local LONGEST = { launches.MOST_BLOCKS + 1, launches.MOST_BLOCKS, launches.MOST_BLOCKS }
local LONGEST_BLOCK = 1024

-- The first grid that cannot be changed as `words` say, of all that a launch may have with the
-- sides of a block that a genome sets: as many blocks then as there are for its threads. nil of
-- none. A side that is not known is tried as 1, 2, 3 … and as the longest.
local function unfit_grid(grid, block, set, words, longest)
  local is_known = grid[1] and grid[2] and grid[3]
  for i = 1, is_known and 1 or TRIED + 1 do
    local one = {}
    for d = 1, 3 do
      one[d] = grid[d] or i <= TRIED and i or longest[d]
      local n = set[d] and one[d] * (block[d] or LONGEST_BLOCK)
      one[d] = n and (n + set[d] - 1) // set[d] or one[d]
    end
    if not attempt(launches.changed, { grid = one, block = 1 }, words) then return one end
  end
end

-- How long the sides of a launch's grid can be that are not known.
local function longest_of(host, t, way, grid)
  local longest = {}
  for d = 1, 3 do
    local most = not grid[d] and largestgrid.of(host, t, way, d)
    longest[d] = math.min(most or LONGEST[d], LONGEST[d])
  end
  return longest
end

local function of_grids(host, t, ways, asked, set, tell)
  for _, way in ipairs(ways) do
    local grid, block = known_sides(host, way, "grid"), known_sides(host, way, "block")
    local longest = longest_of(host, t, way, grid)
    local unfit, is_known = unfit_grid(grid, block, set, asked.words, longest), true
    for d = 1, 3 do is_known = is_known and grid[d] and (block[d] or not set[d]) end
    if unfit and is_known then
      tell("%s, but %s launches %s", asked.conditions, way.launch.place,
        table.concat(unfit, " x "))
    elseif unfit then
      tell("%s, and how many blocks %s launches is not known", asked.conditions,
        way.launch.place)
    end
  end
end

-- The sides along which a launch gets threads that it had not: as many blocks as are left are
-- rounded up, and nothing is asked of how many there were.
local function rounded_sides(words, set, own)
  local list, asked_sides = {}, {}
  for _, c in ipairs(launches.read(words)) do
    local d = c.of == "grid" and SIDES[c.side]
    if d and c.operation == "%" then asked_sides[d] = true end
    if d and c.operation == "/" then list[d] = not asked_sides[d] or nil end
  end
  for d, side in ipairs { "x", "y", "z" } do
    local had = own["block_size_" .. side] or 1
    list[d] = list[d] or set[d] and had % set[d] ~= 0 or nil
  end
  return list
end

-- Threads beyond the last item do nothing, where a launch is for all items and not for a part.
local function of_rest(host, problem, ways, words, set, tell)
  local rounded = rounded_sides(words, set, problem:values())
  for _, way in ipairs(next(rounded) and ways or {}) do
    for d in pairs(rounded) do
      local answer, bound = covered.is(problem, host, way, d)
      local place = way.launch.place
      if answer == nil then
        tell("that blocks beyond the last do nothing, and whether %s launches as many as `%s` asks "
          .. "for is not known", place, bound)
      elseif not answer then
        tell("that blocks beyond the last do nothing, but %s launches fewer than `%s` asks for",
          place, bound)
      end
    end
  end
end

--------------------------------------------------------------------------------------------------
-- Numbers

-- What transformations promise of all numbers and all work: the cases have some. How wrong an
-- answer may be, a person who wrote the problem has said himself.
local function of_genes(problem, genome, is_own, tell)
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    local is_kept = is_own and gene.promise == float.promise
    if gene.promise and not is_kept then tell("by %s that %s", gene.text, gene.promise) end
  end
end

--- How the mark ends of what a guessed tolerance lets pass; a certificate takes it away.
M.BY_TOLERANCE = "which the tolerance says that was guessed"

-- Approximate mathematics, by a tolerance that was guessed.
local function of_mathematics(problem, genome, tell)
  local texts, lines = texts_of(problem, genome, "math")
  for i, text in ipairs(texts) do
    if text ~= "" then
      tell("that approximate mathematics will do (line %d, `%s`), %s", lines[i],
        (text:gsub(" ", "` and `")), M.BY_TOLERANCE)
    end
  end
end

--------------------------------------------------------------------------------------------------
-- Lines that are there twice

-- Genes that change a line which a transformation has left beside a copy for most cases: of the two
-- the data may run but one, and then show nothing of the other.
local function of_copies(problem, genome, tell)
  local genes = problem.grammar:genes(genome) or {}
  for _, copied in ipairs(genes) do
    local first, last = table.unpack(copied.twice and copied.reach or {})
    for _, gene in ipairs(first and genes or {}) do
      local rule = gene.target
      if rule and rule.type ~= "pragma" and rule.line >= first and rule.line <= last then
        tell("by %s that line %d need not be the same in the two copies that %s makes of it",
          gene.text, rule.line, copied.text)
      end
    end
  end
end

--------------------------------------------------------------------------------------------------
-- Launches

-- The host's code; nil where it cannot be had, which is told of a promise.
local function asked(tell, promise, ...)
  local read, host = attempt(host_of, ...)
  if read then return host end
  if not ends.is_refusal(host) then error(host, 0) end
  tell("%s, and the file of its launches cannot be asked: %s", promise, tostring(host))
end

-- All ways to all launches of a kernel, by its own name and by those of pointers that it is
-- assigned to.
local function ways_to(host, kernel)
  local list = {}
  local function add(name)
    for _, launch in ipairs(host:every_launch(name)) do
      local ways = callers.ways(host, launch)
      table.move(ways, 1, #ways, #list + 1, list)
    end
  end
  add(kernel)
  for _, name in ipairs(settings.keys(host.launches)) do
    for _, origin in ipairs(name ~= kernel and host.origins[name] or {}) do
      if origin.text:find("%f[%w_]" .. kernel .. "%f[^%w_]") then add(name) break end
    end
  end
  return list
end

-- Those words that change or ask something of a grid's sides that are known; those that are not
-- known become 1.
local function of_known(grid, words)
  local list, is_turned = {}, words:find "axes" and not (grid[1] and grid[2])
  for _, c in ipairs(launches.read(words)) do
    local is_known = c.of == "axes" or c.of == "grid" and grid[SIDES[c.side]]
    if is_known and not (is_turned and c.side ~= "z") then list[#list + 1] = c.word end
  end
  for d = 1, 3 do grid[d] = grid[d] or 1 end
  return table.concat(list, " ")
end

--- Does the host's code show a launch of a kernel whose grid cannot have what is asked of it?
---@param host HostCode
---@param kernel string
---@param words string what becomes of a launch (gilua.launch)
---@return boolean
function M.breaks(host, kernel, words)
  for _, way in ipairs(ways_to(host, kernel)) do
    local grid = usual_sides(host, way.grid)
    local asked_words = of_known(grid, words)
    if not attempt(launches.changed, { grid = grid, block = 1 }, asked_words) then return true end
  end
  return false
end

-- Does a genome want another launch than the kernel has: other blocks, another grid?
local function changes_launch(problem, genome)
  if genome:find "block_size_" or genome:find "grid_" then return true end
  for _, gene in ipairs(problem.grammar:genes(genome) or {}) do
    if gene.launch then return true end
  end
  return false
end

-- What another name of the kernel launches is as it was, and is not read. A header's declaration
-- lets other files launch it: all of the program's were asked, where they can be read.
local function of_names(host, kernel, what, tell, keep)
  local files = host.program.files
  for _, other in ipairs(othernames.of(host, kernel)) do
    if other.prototype and files then
      keep("%s: asked of the host, all %d files below %s", what, #files, host.program.root)
    elseif other.prototype then
      tell("%s, and other files may launch %s, which %s declares", what, kernel, other.place)
    else
      tell("%s, and %s may launch %s by another name: `%s`", what, other.place, kernel, other.text)
    end
  end
end

-- The kernel that a line of a source is in, or before.
local function kernel_at(problem, line)
  local name
  for _, kernel in ipairs(slice.kernels(problem.source, "kernel.cu")) do
    if kernel.line <= line then name = kernel.name end
  end
  return name
end

-- The launches of a recording are those of one run: with other arguments there may be others.
local function of_recorded(problem, genome, tell)
  local t, made = problem.definition.recorded.table, problem.definition.made_from
  local function ask(promise, kernel, of, what)
    for _, path in ipairs(made.paths or { made.path }) do
      local host = asked(tell, promise, t, kernel, path)
      if host then of(host, ways_to(host, kernel), what, tell) end
    end
  end
  local texts, lines = texts_of(problem, genome, "launchbounds")
  for i, text in ipairs(texts) do ask(text, kernel_at(problem, lines[i]), of_bounds, text) end
  for _, kernel in ipairs(settings.keys(t.kernels)) do
    local block = asked_of(problem, genome, kernel, "block")
    if block then
      ask(block.conditions, kernel, function(host, ways) of_blocks(host, ways, block, {}, tell) end)
    end
    local grid = asked_of(problem, genome, kernel, "grid")
    if grid then
      ask(grid.conditions, kernel, function(host, ways) of_grids(host, t, ways, grid, {}, tell) end)
    end
  end
end

-- The sentences, each once.
local function teller()
  local list, seen = {}, {}
  return list, function(...)
    local text = string.format(...)
    if not seen[text] then list[#list + 1], seen[text] = text, true end
  end
end

--- What a winner promises and the host's code breaks, or may break for all that can be known of it;
--- and what it promises of numbers. Of a recording no array is asked, for it has their addresses.
--- Of a problem that a person wrote nothing of the launches, whose promises are his.
---@param problem gilua.problem
---@param genome string
---@param seen? { data: string, meets: table[]? }[] of M.seen; without it nothing is said of arrays
---  that no host was asked for
---@return string[] sentences
---@return string[] kept what it promises and need not be a person's to keep, with the reason
function M.of(problem, genome, seen)
  local t = problem.definition.kernel_table and problem.definition.kernel_table.table
  local is_made = t and t.made_from and not problem.definition.recorded
  local is_asked = problem.definition.recorded or is_made
  if problem.is_ptx then return {}, {} end
  local list, tell = teller()
  local kept, keep = teller()
  local bounds = is_made and texts_of(problem, genome, "launchbounds") or {}
  local arrays, needs
  if is_made then arrays, needs = apart(problem, genome) end
  local block = is_made and asked_of(problem, genome, t.kernel, "block")
  local grid = is_made and asked_of(problem, genome, t.kernel, "grid")
  local changed = is_made and changes_launch(problem, genome)
    and "that every launch is changed with it"
  local of_launches = arrays or bounds[1] or (block or grid or {}).conditions or changed
  local host = of_launches and asked(tell, of_launches, t, t.kernel)
  local ways = host and ways_to(host, t.kernel) or {}
  of_genes(problem, genome, not is_asked, tell)
  of_proved(problem, genome, keep)
  local rows = seen and watched(problem, genome, seen) or {}
  if not is_made then of_watched(rows, tell, keep) end
  if not is_asked then return list, kept end
  of_mathematics(problem, genome, tell)
  of_copies(problem, genome, tell)
  if problem.definition.recorded then
    if problem.definition.made_from then of_recorded(problem, genome, tell) end
    return list, kept
  end
  if not host then return list, kept end
  of_names(host, t.kernel, changed or of_launches, tell, keep)
  local told, set = #list, block_set(problem, genome)
  if arrays then of_arrays(host, t, ways, arrays, needs, tell) end
  if #list == told then of_host(rows, tell, keep) end
  for _, text in ipairs(bounds) do of_bounds(host, ways, text, tell) end
  if block then of_blocks(host, ways, block, set, tell) end
  of_guards(host, problem, ways, set, tell)
  of_rest(host, problem, ways, launch_words(problem, genome), set, tell)
  if grid then of_grids(host, t, ways, grid, set, tell) end
  return list, kept
end

--- The first of these alone, where nothing was watched.
---@param problem gilua.problem
---@param genome string
---@return string[] sentences
function M.open(problem, genome) return (M.of(problem, genome)) end

return M
