-- slice: what a GPU needs of a file that was written for nvcc.
--
-- The result has the file's lines under their numbers, but blank where they are only for the host:
-- functions of the host, other kernels, and whatever else NVRTC does not take and the kernel does
-- not need. The kernel gets a name that can be asked for: extern "C", and a template's arguments as
-- a type and a constant of those names. Each such edit is kept, so that `gilua apply` can carry
-- changes back into the file.

local fail = require "gilua.base.fail"
local compiler = require "gilua.farm.compiler"
local core = require "gilua.core"
local code_of = require "gilua.host.code"
local csource = require "gilua.source.csource"
local headers = require "gilua.new.headers"
local lfs = require "lfs"
local members = require "gilua.host.members"

local M = { BEFORE = "before_kernel.h" } -- what stands before the file where another includes it

local OWN = "kernel.cu" -- what the problem's own source is called
local MOST_ROUNDS = 80 -- of compiling and leaving out
local MOST_SECONDS = 10 -- of a processor, for compiling the kernel: its mutants take as long
local KEPT = csource.set "if ifdef ifndef elif else endif define undef"
local COMPLAINT = "it does not compile for a GPU: "
local HOST_ONLY = "is considered a host" -- a function, in the compiler's words
local LASTING = { HOST_ONLY, '^identifier ".-" is undefined', "^qualified name is not allowed" }
-- Stand-ins that have names of std alone, of libcu++: parsing one takes longer than most kernels.
local LIBCUXX = csource.set "bit initializer_list limits tuple type_traits utility"
local MOST_LEADS = 3 -- headers of CUDA that include each other
local AS_DEVICE = "-default-device" -- a constexpr function is the GPU's too

---@class Slice
---@field source string
---@field edits table[] { line, was, now }
---@field left_out table[] { file, line, last_line, what, why }
---@field kernel string its name
---@field item table of g:outline()
---@field options string[] of the compiler, besides those given
---@field undefined { name: string, is_users: boolean }[] functions that are called and defined
---  nowhere
---@field copies string[] of headers and of what stands before the file, as written below the folder

-- Tokens with those of directives in their place, but for what stands in quotes.
local function each_word(t, f)
  for i = 1, #t do
    local kind = t:kind(i)
    if kind == "directive" then
      local inner <close> = t:inside(i)
      f(t:first(i), t:first(i)) -- the #
      each_word(inner, f)
    elseif kind ~= "string" and kind ~= "char" and kind ~= "bad" then
      f(t:first(i), t:last(i))
    end
  end
end

--- The text with comments and what stands in quotes blank, byte for byte.
---@param text string
---@return string
function M.code_of(text)
  local t <close>, parts, at = csource.tokens(text), {}, 1
  local function blank_to(last)
    parts[#parts + 1] = text:sub(at, last):gsub("%S", " ")
    at = last + 1
  end
  each_word(t, function(first, last)
    blank_to(first - 1)
    parts[#parts + 1] = text:sub(first, last)
    at = last + 1
  end)
  blank_to(#text)
  return table.concat(parts)
end

local function line_at(text, byte)
  local _, n = text:sub(1, byte - 1):gsub("\n", "")
  return n + 1
end

--------------------------------------------------------------------------------------------------
-- The kernel's head

-- What stands in place of `template <typename T, int N>`: the arguments under the same names.
local function bindings(item, arguments, kernel)
  local list = {}
  for i, p in ipairs(item.template) do
    local value = arguments[i]
    if not value then
      fail("kernel %s is a template and its parameter '%s' is unknown: "
        .. "give --template with %d arguments, such as --template float,256", kernel, p.name,
        #item.template)
    end
    list[i] = p.is_type and ("using %s = %s;"):format(p.name, value)
      or ("constexpr %s = %s;"):format(p.declared, value)
  end
  return table.concat(list, " ") .. " "
end

-- Have two of the kernels a template's parameter of one name? Then each has a namespace of its own.
local function share_names(items)
  local seen = {}
  for _, item in ipairs(items) do
    for _, p in ipairs(item.template or {}) do
      if seen[p.name] then return true end
      seen[p.name] = true
    end
  end
  return false
end

-- The token that ends `template <…>`: the first behind its last parameter; 0 where there is none.
local function template_end(t, item)
  local last, i = item.template and item.template[#item.template], 1
  if not last then return 0 end
  while t:last(i) <= last.last - item.first + 1 do i = i + 1 end
  return i
end

-- { first, last, now } of the kernel's head; nil where it is extern "C" already.
local function head_edit(text, item, arguments, outer, space)
  local t <close> = csource.tokens(text:sub(item.first, item.head))
  if outer or t[1] == "extern" and t[2] == '"C"' then return nil end
  local behind, now = template_end(t, item), 'extern "C" '
  if behind > 0 then now = space .. bindings(item, arguments, item.name) .. 'extern "C"' end
  local static = t:find(behind + 1, "static")
  if static then -- it may stand behind __global__
    local words = { (now:gsub("%s+$", "")) }
    for i = behind + 1, static - 1 do words[#words + 1] = t[i] end
    behind, now = static, table.concat(words, " ")
  end
  local last = item.first + (t:last(behind) or 0) - 1
  local _, lines = text:sub(item.first, last):gsub("\n", "")
  return { first = item.first, last = last, now = now .. ("\n"):rep(lines) }
end

--------------------------------------------------------------------------------------------------
-- Leaving out

--- A file of the user's: the one with the kernel, or a copy of a header.
---@class SliceFile
---@field name string below the problem's folder
---@field text string
---@field values? table of a header's copy: the values of its long arrays (gilua.csource)
---@field includes table<string, Header> as spelled; one with a copy is included as that
---@field items? table[] of g:outline(), once it is blamed, with param_texts; parameters of
---  templates with is_type, declared and default
---@field gone table set of items that are left out
---@field edits? table[] of the kernels' heads

-- Is a template's parameter of a concept of C++20, `Number T` or `std::integral T`?
local function is_concept(t, whole)
  if t[1] == "std" then return headers.of_std[t[3] or ""] == "cuda/std/concepts" end
  return whole:find("%f[%w_]concept%s+" .. (t[1] or ""):gsub("%W", "%%%0") .. "%f[^%w_]") ~= nil
end

-- Of a template's parameter: does it stand for a type, how is it declared, and its default.
local function read_parameter(p, text, whole)
  local t <close> = csource.tokens(text)
  local equals = t:find(1, "=")
  p.is_type = t[1] == "typename" or t[1] == "class" or is_concept(t, whole)
  p.declared = t:text(1, (equals or #t + 1) - 1)
  p.default = equals and t:text(equals + 1, #t) or nil
end

local function items_of(text, name, kernel)
  local g, why = core.grammar.parse(name, { text = text, kernel = kernel })
  if not g then fail("%s", why) end
  local items = g:outline()
  for _, item in ipairs(items) do
    for _, p in ipairs(item.template or {}) do
      read_parameter(p, text:sub(p.first, p.last), text)
    end
    item.param_texts = {}
    for i, p in ipairs(item.params or {}) do item.param_texts[i] = text:sub(p.first, p.last) end
  end
  return items
end

local function new_file(name, text, includes)
  return { name = name, text = text, includes = includes, gone = {} }
end

local function leave_out(self, file, item, why)
  file.gone[item] = true
  local what = item.name or file.text:sub(item.first, item.last):match("^[^\n]*")
  table.insert(self.left_out, { file = file.name, line = item.line, last_line = item.last_line,
    what = what, why = why })
end

-- { first, last, now } of the #include lines of a file that name a header by other words than its
-- copy's.
local function redirections(file)
  local list, t <close> = {}, csource.tokens(file.text)
  for i in csource.directives(t) do
    local spelled = csource.included(t[i])
    local header = spelled and file.includes[spelled]
    if header and header.copy and header.copy.name ~= spelled then
      local from = t:first(i) + t[i]:find(spelled, 1, true) - 2
      list[#list + 1] = { first = from, last = from + #spelled + 1,
        now = ('"%s"'):format(header.copy.name) }
    end
  end
  return list
end

-- The directives of what is left out that the rest needs: macros, and conditions that begin or end
-- elsewhere.
local function needed_directives(t)
  local list, opened = {}, {}
  for i, word in csource.directives(t) do
    if word == "endif" and #opened > 0 then -- a whole condition goes, with what is in it
      local from = table.remove(opened)
      for k = #list, from, -1 do list[k] = nil end
    elseif KEPT[word] then
      list[#list + 1] = i
      if word:find "^if" then opened[#opened + 1] = #list end
    end
  end
  return list
end

-- What is left out: its lines without words.
local function blank(text)
  local t <close>, parts, at = csource.tokens(text), {}, 1
  for _, i in ipairs(needed_directives(t)) do
    parts[#parts + 1] = csource.newlines(text:sub(at, t:first(i) - 1))
    parts[#parts + 1] = t[i]
    at = t:last(i) + 1
  end
  return table.concat(parts) .. csource.newlines(text:sub(at))
end

-- What a file is cut to, and the edits in it.
local function result_of(file)
  local changes, parts, at, edits = redirections(file), {}, 1, {}
  for item in pairs(file.gone) do
    changes[#changes + 1] = { first = item.first, last = item.last, gone = true,
      now = blank(file.text:sub(item.first, item.last)) }
  end
  for _, edit in ipairs(file.edits or {}) do changes[#changes + 1] = edit end
  table.sort(changes, function(a, b) return a.first < b.first end)
  for _, c in ipairs(changes) do
    if c.first >= at then -- else it is in what is left out
      parts[#parts + 1] = file.text:sub(at, c.first - 1) .. c.now
      at = c.last + 1
      edits[#edits + 1] = not c.gone and { line = line_at(file.text, c.first),
        was = file.text:sub(c.first, c.last), now = c.now } or nil
    end
  end
  return table.concat(parts) .. file.text:sub(at), edits
end

-- The bytes of a line, without its newline.
local function line_bytes(text, line)
  local first = 1
  for _ = 2, line do first = (text:find("\n", first, true) or #text) + 1 end
  return first, (text:find("\n", first, true) or #text + 1) - 1
end

-- What a line belongs to: an item that is still there, or an #include of its own.
local function item_at(file, line)
  for _, item in ipairs(file.items or {}) do
    if item.line <= line and line <= item.last_line and not file.gone[item] then return item end
  end
  local first, last = line_bytes(file.text, line)
  for item in pairs(file.gone) do
    if item.first == first then return nil end
  end
  if not csource.included(file.text:sub(first, last):match "^%s*(.*)$") then return nil end
  return { first = first, last = last, line = line, last_line = line }
end

local function is_ours(path)
  return path:sub(1, #core.home) == core.home
    and path:find("/lua/gilua/include/", #core.home + 1, true) ~= nil
end

-- Where a header's copy goes: as it lies below a folder that is searched, unless that is taken.
local function copy_name(self, header)
  local own = headers.below(header.path, self.folders)
  local name, n, taken = own, 1, { [OWN] = true }
  for _, file in ipairs(self.files) do taken[file.name] = true end
  while taken[name] do
    n = n + 1
    name = own:gsub("[^/]+$", ("%d_%%0"):format(n))
  end
  return name
end

-- The copy of a header. What includes it is copied too, that it includes the copy, and what it
-- includes from its own folder, that it is found.
local function copy_of(self, header)
  if header.copy then return header.copy end
  header.copy = new_file(copy_name(self, header), header.text, header.includes)
  header.copy.values = header.values
  self.files[#self.files + 1] = header.copy
  for _, other in ipairs(self.headers) do
    for _, included in pairs(other.includes) do
      if included == header then copy_of(self, other) end
    end
  end
  for spelled in pairs(header.beside) do
    if header.includes[spelled] then copy_of(self, header.includes[spelled]) end
  end
  return header.copy
end

-- The user's file that a message of the compiler names.
local function file_at(self, path)
  local absolute = headers.absolute(path)
  if path == self.name then return self.files[1] end
  for _, file in ipairs(self.files) do
    if absolute == headers.absolute(self.folder .. "/" .. file.name) then return file end
  end
  for _, header in ipairs(self.headers) do
    if absolute == header.path then return copy_of(self, header) end
  end
  return nil
end

local spelled_in = {} -- a header of CUDA, which stays as it is: what it includes

local function included_by(path)
  local list = spelled_in[path]
  if not list then
    local is_file = lfs.attributes(path, "mode") == "file"
    list = is_file and csource.includes(headers.read(path, "a header of CUDA")) or {}
    spelled_in[path] = list
  end
  return list
end

-- Does a header of CUDA include another, itself or by others of its folder?
local function leads_to(path, other, most)
  if path == other then return true end
  local folder = path:match "^(.*)/"
  for _, spelled in ipairs(most > 0 and included_by(path) or {}) do
    if leads_to(folder .. "/" .. spelled, other, most - 1) then return true end
  end
  return false
end

-- Where the user includes what a header of CUDA belongs to: that header, else one of its folder
-- (thrust/…) or one that includes it, the last: file and line.
local function cause_in(file, path)
  local exact, near, folder = nil, nil, path:match "^(.*)/"
  local t <close> = csource.tokens(file.text)
  for i in csource.directives(t) do
    local spelled = csource.included(t[i])
    local line = spelled and not file.includes[spelled] and t:line(i)
    if line and (not file.gone or item_at(file, line)) then -- a header that has no copy is whole
      local top = spelled:match "^([^/]+)/"
      if path:sub(-#spelled - 1) == "/" .. spelled then exact = line
      elseif top and path:find("/" .. top .. "/", 1, true)
        or leads_to(folder .. "/" .. spelled, path, MOST_LEADS) then near = line end
    end
  end
  return exact or near
end

local function cause_of(self, path)
  for _, header in ipairs(self.headers) do
    if cause_in(header, path) then copy_of(self, header) end
  end
  for i = #self.files, 1, -1 do
    local line = cause_in(self.files[i], path)
    if line then return self.files[i], line end
  end
end

--- The errors of a compiler's log, in its order; what it begins with where it has none.
---@param log string
---@param name string of the file that this is then said of
---@return { path: string, line: integer, text: string }[]
function M.errors_in(log, name)
  local list = {}
  for text in log:gmatch "[^\n]+" do -- each by itself: a line of the source may be any length
    local path, line, words = text:match "^(.-)%((%d+)%): [%a ]*error: (.*)"
    list[#list + 1] = path and { path = path, line = tonumber(line), text = words } or nil
  end
  if #list > 0 then return list end
  return { { path = name, line = 0, text = log:match("^%s*(.-)\n") or log } }
end

-- Where an error is: its file, if that is one of the user's or included by one, and the line there.
local function place(self, e)
  if e.line == 0 then return end
  e.file, e.at = file_at(self, e.path), e.line
  if not e.file then e.file, e.at = cause_of(self, e.path) end
end

-- A header in a folder above those that the compiler may read: where it is.
local function above(self, left)
  local spelled = left.what:match '#%s*include%s*"(%.%./[^"]+)"'
  for _, folder in ipairs(spelled and self.folders or {}) do
    local path = headers.absolute(folder .. "/" .. spelled)
    if lfs.attributes(path, "mode") == "file" then
      return ("; it is in a folder that nobody named: add --include %s"):format(
        headers.absolute(folder .. "/" .. spelled:match "^[./]+"))
    end
  end
  return ""
end

-- A template whose parameter is called, as `f(i)`, is launched with a lambda as a rule, whose type
-- has no name.
local function lambda_hint(self, e)
  if e.text:find("annotation on lambda", 1, true) then
    return "; a lambda in a kernel is the GPU's without it: take __device__ away, in a copy of "
      .. "the file"
  end
  if not (self.is_template and e.text:find("function type", 1, true)) then return "" end
  return "; a template's parameter that is called stands for a lambda or a function object: give "
    .. "--template with a struct of the file that has operator(), or a kernel without the template"
end

local function refuse(self, e)
  local lost = {}
  for _, l in ipairs(self.left_out) do
    if l.why:find("texture is not a template", 1, true) then
      fail("kernel %s reads the texture of line %d in %s, a reference. CUDA 12 has removed these, "
        .. "and nvcc takes the file no more either: make it a cudaTextureObject_t", self.kernel,
        l.line, l.file)
    end
    if l.why:sub(1, #COMPLAINT) == COMPLAINT then
      lost[#lost + 1] = ("\n  (left out before: %s:%d, %s; %s%s)"):format(l.file, l.line, l.what,
        l.why, above(self, l))
    end
  end
  fail("kernel %s does not compile for a GPU alone: %s:%d: %s%s%s", self.kernel,
    e.path, e.line, e.text, lambda_hint(self, e), table.concat(lost))
end

local function write_headers(self)
  for i = 2, #self.files do
    local path = self.folder .. "/" .. self.files[i].name
    local folder = path:match("^(.*)/")
    local made, why = require("gilua").report.make_folder(folder)
    if not made then fail("cannot make %s: %s", folder, why) end
    local text = csource.with_values(result_of(self.files[i]), self.files[i].values)
    require("gilua").report.write(path, text)
  end
end

-- Where an error lies: a prototype of the kernel is C++'s, and the kernel extern "C".
local function prototype_of(self, e)
  local line, path = e.text:match "^linkage specification .*%(declared at line (%d+) ?o?f? ?(.*)%)"
  if not line then return e.file, e.at end
  return path == "" and e.file or file_at(self, path), tonumber(line)
end

-- Is it a function that the compiler may compute, which nvcc lets the GPU call?
local function is_constexpr(file, item)
  if item.kind ~= "host" then return false end
  local t <close> = csource.tokens(file.text:sub(item.first, item.head))
  return t:find(1, "constexpr") ~= nil
end

-- What of a class is at a line, a function of its or a member; the class itself where that is its
-- head, or gone.
local function part_of(file, item, line)
  if item.kind ~= "type" then return item end
  local code = code_of.of(file.text:sub(item.first, item.last))
  local t, one = code.t, members.statement_at(code, line - item.line + 1)
  if not one then return item end
  local part = { first = item.first + t:first(one.first) - 1,
    last = item.first + t:last(one.last) - 1,
    line = item.line + t:line(one.first) - 1, last_line = item.line + t:line(one.last) - 1 }
  for other in pairs(file.gone) do
    if other.first == part.first then return item end
  end
  return part
end

-- Why #includes failed, by these and what the compiler is given: large headers fail slowly, and
-- would again for each kernel of a file.
local FAILED = {}

-- The key of an #include in FAILED; nil for what is none.
local function include_key(self, file, item)
  local line = file.text:sub(item.first, item.last):match "^%s*(#%s*include[^\n]*)"
  return line and table.concat(self.given, " ") .. table.concat(self.options, " ") .. line
end

-- Leaves out an #include that fails, and with it those of its file that have failed before.
local function leave_out_include(self, file, item, key, why)
  FAILED[key] = why
  leave_out(self, file, item, why)
  local t <close> = csource.tokens(file.text)
  for i in csource.directives(t) do
    local other = csource.included(t[i]) and item_at(file, t:line(i))
    local had = other and FAILED[include_key(self, file, other) or ""]
    if had then leave_out(self, file, other, had) end
  end
end

-- Leaves out what an error is in; false where it cannot be. Of a header, when it is first blamed,
-- all that is for the host goes.
local function give_way(self, e)
  local file, line = prototype_of(self, e)
  if file and not file.items then
    file.items = items_of(file.text, file.name)
    for _, item in ipairs(file.items) do
      if item.kind == "host" and not is_constexpr(file, item) then
        leave_out(self, file, item, "for the host")
      end
    end
    if next(file.gone) then return true end
  end
  local item = file and item_at(file, line)
  if not item or item.open and file == self.files[1] then return false end
  local host = e.text:find(HOST_ONLY, 1, true)
  if host and is_constexpr(file, item) and not self.as_device then
    self.as_device, self.options[#self.options + 1] = true, AS_DEVICE
    return true
  end
  item = part_of(file, item, line)
  local why, key = host and "for the host" or COMPLAINT .. e.text, include_key(self, file, item)
  if key then leave_out_include(self, file, item, key, why)
  else leave_out(self, file, item, why) end
  return true
end

-- Members by name in an initialiser, `{ .x = 1 }`, are of C++20; nvcc takes them, as GNU's C++, in
-- older ones, too.
local function has_designators(e)
  if not e.file then return false end
  local line = "," .. e.file.text:sub(line_bytes(e.file.text, e.at))
  return line:find "[{,]%s*%.%s*[%a_]" ~= nil
end

-- Options of the compiler that an error asks for: headers that the file's own would have brought,
-- were they the host's; words of a language that is older than the compiler's, or younger.
local function remedy(e)
  local words = e.text
  local member = words:match '^namespace "std" has no member "([%w_]+)"'
  local of_std = headers.of_std[member or ""]
  if of_std then
    return { "--pre-include=" .. of_std, "--pre-include=gilua_std.h",
      of_std == "cuda/std/concepts" and "--std=c++20" or nil }
  end
  local missing = member or words:match '^identifier "([%w_]+)" is undefined'
  if missing == "concept" then return { "--std=c++20" } end
  local own = headers.of_host[missing or ""]
  if own then return { "--pre-include=" .. own } end
  if words:find('"register" storage class', 1, true) then return { "--std=c++14" } end
  if words == "expected an expression" and has_designators(e) then return { "--std=c++20" } end
  if words:find "^#error directive" then return { "-D__linux__=1" } end -- as nvcc has it here
end

-- Adds the options that an error asks for; false where it asks for none, or has them.
local function add_options(self, e)
  local list, had = remedy(e) or {}, {}
  for _, option in ipairs(self.options) do had[option] = true end
  local any = false
  for _, option in ipairs(list) do
    if not had[option] then
      self.options[#self.options + 1], any = option, true
    end
  end
  return any
end

-- The last name in a symbol of C++; nil where it is one of C.
local function plain_name(symbol)
  local name, at = nil, symbol:match "^_ZN?K?()"
  local length = at and symbol:match("^%d+", at)
  while length do
    at = at + #length
    name = symbol:sub(at, at + tonumber(length) - 1)
    at = at + tonumber(length)
    length = symbol:sub(3, 3) == "N" and symbol:match("^%d+", at)
  end
  return name
end

-- The functions that compiled code calls and that are defined nowhere in it. One of C may be the
-- GPU's own: malloc, vprintf.
local function undefined_in(ptx)
  local list = {}
  for line in ptx:gmatch "%.extern %.func([^;]+);" do
    local symbol = line:gsub("^%s*%b()", ""):match "[%a_$][%w_$]*"
    local name = symbol and plain_name(symbol)
    list[#list + 1] = symbol and { name = name or symbol, is_users = name ~= nil }
  end
  return list
end

-- Is a line in what is left out already?
local function is_gone(file, line)
  for item in pairs(file.gone) do
    if item.line <= line and line <= item.last_line then return true end
  end
  return false
end

-- Is an error sure to stay, whatever is done about those before it?
local function is_lasting(e)
  for _, words in ipairs(LASTING) do
    if e.text:find(words) then return not remedy(e) end
  end
  return false
end

-- Leaves out what the first error is in, or does what it asks for; and what others are in that
-- would only come next, one a round.
local function yield(self, errors)
  local first, as_device = errors[1], self.as_device
  place(self, first)
  if add_options(self, first) then return end
  if not give_way(self, first) then refuse(self, first) end
  for i = 2, is_lasting(first) and #errors or 1 do
    local e = errors[i]
    if self.as_device ~= as_device then return end -- that may mend the rest
    if e.path == first.path and e.line ~= first.line and is_lasting(e) then
      place(self, e)
      if e.file and not is_gone(e.file, e.at) then give_way(self, e) end
    end
  end
end

-- Does a text say std, or a header of the user's that it may include?
local function says_std(text, includes, seen)
  if text:find "%f[%w_]std%f[^%w_]" then return true end
  for spelled, header in pairs(includes) do
    if not seen[header] and text:find(spelled, 1, true) then
      seen[header] = true
      if says_std(header.text, header.includes, seen) then return true end
    end
  end
  return false
end

-- Leaves out the headers that bring libcu++, where what is left of the file has no use for them.
local function drop_std(self)
  local file = self.files[1]
  local t <close> = csource.tokens(file.text)
  for i in csource.directives(t) do
    local item = LIBCUXX[csource.included(t[i]) or ""] and item_at(file, t:line(i))
    if item then
      if says_std(result_of(file), file.includes, {}) then return end
      leave_out(self, file, item, "nothing that is left needs it")
    end
  end
end

-- Compiles, and leaves out what fails and is not the kernel's, until nothing fails.
local function settle(self, options)
  for _ = 1, MOST_ROUNDS do
    local all = table.move(options, 1, #options, 2, { "-I" .. self.folder })
    table.move(self.options, 1, #self.options, #all + 1, all)
    drop_std(self)
    write_headers(self)
    local source, edits = result_of(self.files[1])
    local code, message, kind, log = compiler.compile(csource.without_values(source),
      { target = "compute_90", options = all, name = self.name },
      math.min(MOST_SECONDS, compiler.limit_s))
    if kind == "timeout" then
      fail("%s; each change of kernel %s would take as long to try", message, self.kernel)
    end
    if code then return source, edits, undefined_in(code) end
    if kind ~= "compile" then fail("%s", message) end
    yield(self, M.errors_in(log, self.name))
  end
  fail("%s: more than %d things in it do not compile for a GPU", self.name, MOST_ROUNDS)
end

-- An extern "C" { } around the kernel: its own words then need none.
local function in_extern_c(text, item)
  local t <close> = csource.tokens(text)
  local i = t:find(1, "extern", '"C"', "{")
  while i and t:first(i) < item.first do
    local close = t:match(i + 2)
    if close and t:first(close) > item.first then return true end
    i = t:find(i + 1, "extern", '"C"', "{")
  end
  return false
end

-- Is it a kernel's explicit specialisation, `template <> … k<float>(…)`? It goes with its template.
local function is_special(text, item)
  return text:sub(item.first, item.head):find ">%s*%($" ~= nil
end

--- The kernels of a file, in order.
---@param text string
---@param name string of the file, for messages
---@return table[] items of g:outline()
function M.kernels(text, name)
  local list = {}
  for _, item in ipairs(items_of(text, name)) do
    if item.kind == "kernel" and not is_special(text, item) then list[#list + 1] = item end
  end
  return list
end

--- Does a file define a function of the GPU?
---@param text string
---@param name string of the file, for messages
---@param wanted string
---@return boolean
function M.defines(text, name, wanted)
  for _, item in ipairs(items_of(text, name)) do
    if item.kind == "device" and item.name == wanted then return true end
  end
  return false
end

-- Is it a prototype of a kernel that is wanted, and static or a template? The compiler takes it
-- beside an extern "C", and then calls the kernel by a name of C++, or cannot tell which is meant.
local function is_odd_prototype(self, file, item)
  if item.kind ~= "other" then return false end
  local t <close> = csource.tokens(file.text:sub(item.first, item.last))
  if not t:find(1, "__global__") then return false end
  if not t:find(1, "static") and t[1] ~= "template" then return false end
  for name in self.kernel:gmatch "[^,]+" do
    if t:find(1, name, "(") then return true end
  end
  return false
end

-- Leaves out functions of the host and other kernels; those that are wanted are returned, of
-- several of one name the first.
local function leave_out_others(self, file)
  local chosen, found = {}, {}
  for _, item in ipairs(file.items) do
    local is_it = ("," .. self.kernel .. ","):find("," .. (item.name or "") .. ",", 1, true)
      and (not self.line or item.line == self.line)
    if item.kind == "kernel" and is_it then
      if not found[item.name] then chosen[#chosen + 1] = item end
      found[item.name] = true
    elseif item.kind == "kernel" then leave_out(self, file, item, "another kernel")
    elseif is_odd_prototype(self, file, item) then leave_out(self, file, item, "a prototype")
    elseif item.kind == "host" and not is_constexpr(file, item) then
      leave_out(self, file, item, "for the host")
    end
  end
  for name in self.kernel:gmatch "[^,]+" do
    if not found[name] then fail("%s has no kernel '%s'", self.path, name) end
  end
  return chosen
end

-- The user's folders that the compiler looks for headers in.
local function folders_of(options)
  local list = {}
  for _, option in ipairs(options) do
    local folder = option:match "^%-I(.+)$"
    if folder and not is_ours(folder .. "/") then list[#list + 1] = folder end
  end
  return list
end

-- What stands before the file is a header that the problem folder has in any case.
local function add_before(self, text)
  local list, includes = headers.of(text, self.folders, self.headers)
  table.move(list, 1, #list, #self.headers + 1, self.headers)
  self.files[2] = new_file(M.BEFORE, text, includes)
end

---@param text string the file
---@param name string of the file, for messages
---@param kernel string several with commas between
---@param o { folder: string, line?: integer, template?: string[], options?: string[],
---  before?: string, templates?: table<string, string[]> } where copies of headers go that hold
---  code for the host; the kernel's line, where several have its name; arguments of its template;
---  options of NVRTC; what another file has before it includes this one; of several kernels those
---  of their templates, by name
---@return Slice
function M.cut(text, name, kernel, o)
  local base, options = name:match("([^/]+)$"), o.options or {}
  local folders = folders_of(options)
  local list, includes = headers.of(text, folders)
  local file = new_file(base, text, includes)
  file.items = items_of(text, base, kernel)
  local self = { name = base, path = name, kernel = kernel, line = o.line, options = {},
    files = { file }, left_out = {}, folder = o.folder, folders = folders, headers = list,
    given = options }
  if o.before then add_before(self, o.before) end
  for _, header in ipairs(self.headers) do
    if headers.below(header.path, folders) == OWN then copy_of(self, header) end
  end
  local chosen = leave_out_others(self, file)
  file.edits = {}
  local is_apart = share_names(chosen)
  for _, item in ipairs(chosen) do
    local template = o.templates and o.templates[item.name] or o.template or {}
    local has_names = item.template and #item.template > 0
    self.is_template = self.is_template or has_names
    local space = is_apart and has_names and item.name .. "_arguments" or nil
    table.insert(file.edits, head_edit(text, item, template, in_extern_c(text, item),
      space and ("namespace %s { "):format(space) or ""))
    table.insert(file.edits, space and { first = item.last + 1, last = item.last,
      now = (" } /* namespace %s */"):format(space) })
  end
  local source, edits, undefined = settle(self, options)
  table.sort(self.left_out, function(a, b) return a.line < b.line end)
  local copies = {}
  for i = 2, #self.files do copies[i - 1] = self.files[i].name end
  return { source = source, edits = edits, left_out = self.left_out, kernel = kernel,
    item = chosen[1], options = self.options, undefined = undefined, copies = copies }
end

return M
