-- The reader of C++ (gi.grammar.source) against clang: what clang finds declared, used and called
-- in a file, the reader finds at the same line and column, with the same type, or says that it does
-- not understand the statement. Includes are left out; tests/oracle/prelude.h stands for CUDA's.
-- clang sees one branch of an #if and drops what it cannot resolve, so that the reader may find
-- more. Other files: ORACLE=FOLDER.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local gi = require "gilua"
local lfs = require "lfs"
local scratch = require "scratch"
local tap = require "tap"

local CLANG = "clang -x cuda -std=c++17 --cuda-device-only -nocudainc -nocudalib -nostdinc -w "
  .. "-ferror-limit=0 -fno-spell-checking -fno-color-diagnostics -fsyntax-only "
  .. "-include tests/oracle/prelude.h "
  .. "-Xclang -ast-dump "

-- ---- what clang says ------------------------------------------------------------------------

-- Places of a dump are written as what differs from the one before.
local function places()
  local at = { file = "", line = 0 }
  return function(text)
    local file, line, column = text:match "^(.-):(%d+):(%d+)$"
    if file then
      at.line = tonumber(line)
      if file ~= "line" then at.file = file end
    else
      column = text:match "^col:(%d+)$"
    end
    return column and { file = at.file, line = at.line, column = tonumber(column) } or nil
  end
end

local DECLARES = { VarDecl = true, ParmVarDecl = true, BindingDecl = true }
local CALLS = { CallExpr = true, CUDAKernelCallExpr = true, CXXMemberCallExpr = true }
local LAUNCHES = { cudaConfigureCall = true, __cudaPushCallConfiguration = true }
local FLAGS = { used = true, referenced = true, invalid = true, constexpr = true }

-- The last word before the type in quotes, and the type; nil where there is no name.
local function named(rest)
  local words, type = rest:match "^([^']*)'([^']*)'"
  local name
  for word in (words or ""):gmatch "%S+" do name = not FLAGS[word] and word or name end
  return name, type
end

-- The first of several: a template's text comes before its instances.
local function add(list, place, value, path)
  local key = place and place.file == path and place.line .. ":" .. place.column
  if key and (value == nil or list[key] == nil) then list[key] = value end
end

-- { declared, used, called }, each "line:column" -> name or type.
local function by_clang(path)
  local pipe <close> = assert(io.popen(CLANG .. path .. " 2>/dev/null"))
  local found, place = { declared = {}, used = {}, called = {} }, places()
  for line in pipe:lines() do
    local kind, rest = line:match "^[^%a]*(%u%w+) 0x%x+ (.*)$"
    local range, behind = (rest or ""):match "<(.-)>%f[%s\0] ?(.*)$"
    local begins
    for part in (range or ""):gmatch "[^,%s]+" do
      local p = place(part)
      begins = begins or p
    end
    if DECLARES[kind] and range then
      local at, more = behind:match "^(%S+) (.*)$"
      local own = at and place(at)
      local name, type = named(more or "")
      if name and not (more or ""):find "^implicit" then
        local unresolved = more:find "%f[%w]invalid%f[%W]" ~= nil -- of a type that it does not know
        add(found.declared, own, { name = name, type = type, unresolved = unresolved }, path)
      end
    elseif range then
      local own = behind:match "^%S+:%d+" and place(behind:match "^%S+")
      local name = kind == "DeclRefExpr" and behind:match " 0x%x+ '([%w_]+)'"
      if name and not own and not LAUNCHES[name] then add(found.used, begins, name, path) end
      if CALLS[kind] then add(found.called, begins, true, path) end
      if LAUNCHES[name] then add(found.called, begins, nil, path) end -- what `<<<` stands for
    end
  end
  return found
end

-- ---- what the reader says -------------------------------------------------------------------

local function by_reader(text)
  local s, t = gi.grammar.source(text), gi.grammar.tokens(text)
  local found = { declared = {}, used = {}, called = {}, macros = {}, unknown = {} }
  local starts = { 1 }
  for at in text:gmatch "\n()" do starts[#starts + 1] = at end
  local function key(i) return t:line(i) .. ":" .. t:first(i) - starts[t:line(i)] + 1 end
  for _, m in ipairs(s:find "$x") do
    if m.kind == "name" or m.kind == "number" and m.last > m.first then -- a sizeof
      for i = m.first, m.last do -- clang has a name where its first qualifier stands
        found.used[key(i)] = (found.used[key(i)] or "") .. " " .. t:text(i, m.last) .. " "
      end
    elseif m.kind == "call" or m.kind == "launch" then
      found.called[key(m.first)] = true
    end
  end
  for _, u in ipairs(s:unknown()) do
    for i = u.first, u.last do found.unknown[key(i)] = true end
  end
  for i = 1, #t do
    local lines = t:kind(i) == "directive" and select(2, t[i]:gsub("\n", ""))
    for line = t:line(i), t:line(i) + (lines or -1) do found.macros[line] = true end
  end
  for _, fn in ipairs(s:functions()) do
    for i = fn.head, fn.why and fn.open or 0 do found.unknown[key(i)] = true end
    -- clang takes one of an unknown type for a variable
    found.declared[key(fn.head - 1)] = { name = fn.name, type = "auto" }
  end
  for _, d in ipairs(s:declarations()) do found.declared[key(d.token)] = d end
  return found
end

-- ---- the comparison -------------------------------------------------------------------------

local SAME = { unsigned = "unsigned int", ["long long int"] = "long long", ["long int"] = "long",
  ["unsigned long int"] = "unsigned long" }

-- A type in one form: its words, then a star for each * and [ ].
local function plain(type)
  type = type:gsub("%b[]", "[")
  local stars = select(2, type:gsub("[*%[]", ""))
  local base = type:gsub("%[", ""):gsub("%([*&]%)", ""):gsub("[*&]", " ")
  for _, word in ipairs { "const", "volatile", "__restrict", "struct", "typename" } do
    base = base:gsub("%f[%w_]" .. word .. "%f[^%w_]", " ")
  end
  base = base:gsub("%s*([<>,:])%s*", "%1"):gsub("[%w_]+::", ""):gsub("%s+", " "):match "^ ?(.-) ?$"
  return (SAME[base] or base) .. ("*"):rep(stars)
end

local function own_type(d) return plain(d.type .. ("*"):rep(d.pointer + #d.extents)) end

-- What stands in the text of a macro is clang's where the macro is used; and what the reader says
-- it does not understand it need not have.
local function excused(own, key)
  return own.macros[tonumber(key:match "^%d+")] or own.unknown[key]
end

local function missing(clang, own, part, list)
  for _, key in ipairs(gi.settings.keys(clang[part])) do
    local theirs, ours = clang[part][key], own[part][key]
    local same = theirs == true and ours
      or theirs ~= true and ours and ours:find("%f[%w_]" .. theirs .. "%f[^%w_]")
    if not excused(own, key) and not same and not own.declared[key] then
      list[#list + 1] = ("%s: %s %s"):format(key, part, tostring(theirs))
    end
  end
end

-- What clang has and the reader lacks, as lines; how much was compared.
local function differences(path)
  local f <close> = assert(io.open(path))
  local text = (f:read "a"):gsub("#[ \t]*include[^\n]*", "")
  local copy = tap.folder() .. "/copy.cu"
  scratch.write(copy, text)
  local clang, own, list, n = by_clang(copy), by_reader(text), {}, 0
  for _, key in ipairs(gi.settings.keys(clang.declared)) do
    local theirs, ours = clang.declared[key], own.declared[key]
    n = n + 1
    if excused(own, key) and not ours then
      n = n - 1
    elseif theirs.unresolved then
      n = n - 1
    elseif not ours or ours.name ~= theirs.name then
      list[#list + 1] = ("%s: declares %s"):format(key, theirs.name)
    elseif not ours.why and not ours.type:find "auto" and not ours.type:find "decltype"
      and not text:find("#%s*define%s+" .. ours.type .. "%f[^%w_]")
      and own_type(ours) ~= plain(theirs.type) then
      list[#list + 1] = ("%s: %s is %s, not %s"):format(key, theirs.name, plain(theirs.type),
        own_type(ours))
    end
  end
  missing(clang, own, "used", list)
  missing(clang, own, "called", list)
  for _ in pairs(clang.used) do n = n + 1 end
  return list, n
end

local list = {}
local function collect(path)
  if lfs.attributes(path, "mode") ~= "directory" then
    if path:find "%.cuh?$" then list[#list + 1] = path end
    return
  end
  for name in lfs.dir(path) do
    if not name:find "^%." then collect(path .. "/" .. name) end
  end
end

local more = os.getenv "ORACLE"
if not os.execute "command -v clang >/dev/null" then
  tap.skip "clang is not installed"
else
  for _, path in ipairs(more and { more } or { "kernels", "tests/own" }) do collect(path) end
  table.sort(list)
  local all = 0
  for _, path in ipairs(list) do
    tap.case(path, function()
      local found, n = differences(path)
      all = all + n
      tap.is(table.concat(found, "\n"), "", n .. " declarations and uses are clang's")
    end)
  end
  tap.ok(more or all > 3000, all .. " in all")
end

tap.done()
