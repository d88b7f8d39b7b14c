-- wholeprogram: a program that calls one function of a CUDA file (gilua.hostentry) with arrays from
-- files, built by nvcc and run on the virtual GPU with every check on, both in the box of workers.
-- Whatever the function launches, allocates and copies is its own, as in the program it is from.

local boxedprogram = require "gilua.farm.boxedprogram"
local core = require "gilua.core"
local elf = require "gilua.base.elf"
local entries = require "gilua.base.entries"
local headers = require "gilua.new.headers"
local lfs = require "lfs"
local printable = require "gilua.base.printable"
local programhost = require "gilua.farm.programhost"
local programrun = require "gilua.report.programrun"
local textfile = require "gilua.base.textfile"

local M = {}

local CHECKS = { races = true, ["global-races"] = true, uninit = true }
local BUILD_S, RUN_S = 300, 60
local DTYPES = { f32 = "gilua_f32", f64 = "gilua_f64" }
local INTEGERS = { i32 = "int", i64 = "int64_t", u8 = "uint8_t" } -- of tensors
local PYTORCH = core.home .. "/lua/gilua/include/pytorch" -- headers in its place

-- In the program arrays lie in files NAME.in; those that the function may write go to NAME.out.
-- As doubles: `float` is double in the file, and the files' floats are converted.
local HEAD = [[
%s#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>
typedef float gilua_f32;
typedef double gilua_f64;
%s#define main gilua_file_main
#include "%s"
#undef main
#undef float

static std::string gilua_folder;

static void gilua_end(const char *what, const char *why) {
    fprintf(stderr, "judge: %%s: %%s\n", what, why);
    exit(9);
}

static void gilua_check(const char *what, cudaError_t e) {
    if (e != cudaSuccess) gilua_end(what, cudaGetErrorString(e));
}

template <class Kept, class T> struct gilua_array {
    std::vector<T> values;
    T *at;
    bool host;
    std::string name;
    gilua_array(const char *n, bool h) : host(h), name(n) {
        FILE *f = fopen((gilua_folder + "/" + name + ".in").c_str(), "rb");
        if (!f) gilua_end(n, "no file");
        Kept one;
        while (fread(&one, sizeof one, 1, f) == 1) values.push_back((T)one);
        fclose(f);
        at = values.data();
        if (host) return;
        gilua_check(n, cudaMalloc((void **)&at, bytes()));
        gilua_check(n, cudaMemcpy(at, values.data(), bytes(), cudaMemcpyHostToDevice));
    }
    size_t bytes() const { return values.size() * sizeof(T); }
    void keep() {
        const char *n = name.c_str();
        if (!host) gilua_check(n, cudaMemcpy(values.data(), at, bytes(), cudaMemcpyDeviceToHost));
        FILE *f = fopen((gilua_folder + "/" + name + ".out").c_str(), "wb");
        if (!f) gilua_end(n, "cannot be written");
        for (T v : values) {
            Kept one = (Kept)v;
            fwrite(&one, sizeof one, 1, f);
        }
        fclose(f);
    }
};

%sstatic void gilua_run(char **gilua_argv) {
    for (int gilua_i = 1; gilua_i < 3; gilua_i++) { /* data before, if anything; its own */
        gilua_folder = gilua_argv[gilua_i];
        if (gilua_folder.empty()) continue;
]]

-- Tensors that a function returns go to files resultN.TYPE.SIZES.out; halves become floats.
local RESULTS = [[
static int gilua_results;
template <class T> static void gilua_result(T) {}
static void gilua_result(torch::Tensor t) {
    using K = c10::ScalarType;
    if (t.scalar_type() == K::Half || t.scalar_type() == K::BFloat16) t = t.to(K::Float);
    K k = t.scalar_type();
    std::vector<char> bytes = torch::raw(t);
    bool as_floats = %s && k == K::Double;
    std::string name = gilua_folder + "/result" + std::to_string(++gilua_results) +
        (k == K::Float || as_floats ? ".f32." : k == K::Double ? ".f64." : k == K::Int ? ".i32."
        : k == K::Long ? ".i64." : ".u8.");
    for (int64_t d = 0; d < t.dim(); d++) name += (d ? "x" : "") + std::to_string(t.size(d));
    FILE *f = fopen((name + ".out").c_str(), "wb");
    if (!f) gilua_end("a result", "cannot be written");
    for (int64_t i = 0; i < t.numel() && as_floats; i++) {
        gilua_f32 one = (gilua_f32)((gilua_f64 *)bytes.data())[i];
        fwrite(&one, sizeof one, 1, f);
    }
    if (!as_floats) fwrite(bytes.data(), 1, bytes.size(), f);
    fclose(f);
}
static void gilua_result(const std::vector<torch::Tensor> &all) {
    for (const torch::Tensor &t : all) gilua_result(t);
}
template <class... T> static void gilua_result(const std::tuple<T...> &all) {
    std::apply([](const auto &...t) { (gilua_result(t), ...); }, all);
}
static c10::IntArrayRef gilua_sizes(const char *text) {
    c10::IntArrayRef sizes;
    for (char *end; *text; text = *end ? end + 1 : end) sizes.push_back(strtoll(text, &end, 10));
    return sizes;
}
template <class F> static void gilua_call(F f) {
    gilua_results = 0;
    if constexpr (std::is_void_v<decltype(f())>) f();
    else gilua_result(f());
}
]]

local TAIL = [[
        gilua_check("the function", cudaDeviceSynchronize());
        gilua_check("the function", cudaGetLastError());
%s    }
}

int main(int, char **gilua_argv) {
    try {
        gilua_run(gilua_argv);
    } catch (const std::exception &e) {
        gilua_end("the function", e.what());
    }
    return 0;
}
]]

-- What a file includes from outside, which is not to be read with `float` as double.
local function outside(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do
    if line:find "^%s*#%s*include%s*<" then list[#list + 1] = line end
  end
  return table.concat(list, "\n") .. "\n"
end

local function kept_type(p)
  return DTYPES[p.type] or p.tensor and INTEGERS[p.type] or p.c_type
end

-- The sizes of a tensor are the program's next argument.
local function given_tensor(i, own, number)
  return ("torch::from_blob(gilua_a%d.at, gilua_sizes(gilua_argv[%d]), c10::TypeOf<%s>::type)")
    :format(i, number, own)
end

-- The text of the program.
local function text_of(entry, text, as_doubles)
  local lines, given, kept, number = {}, {}, {}, 2
  for i, p in ipairs(entry.params) do
    local own = as_doubles and p.type == "f32" and "double" or kept_type(p)
    if p.pointer then
      lines[#lines + 1] = ("        gilua_array<%s, %s> gilua_a%d(\"%s\", %s);"):format(
        kept_type(p), own, i, p.name, tostring(p.host))
      number = number + (p.tensor and 1 or 0)
      given[i] = p.tensor and given_tensor(i, own, number) or ("gilua_a%d.at"):format(i)
      if not p.const then kept[#kept + 1] = ("        gilua_a%d.keep();\n"):format(i) end
    else
      number = number + 1
      local read = p.type:find "^f" and "atof" or "atoll"
      given[i] = ("(%s)%s(gilua_argv[%d])"):format(own, read, number)
    end
  end
  local call = ("%s(%s)"):format(entry.name, table.concat(given, ", "))
  lines[#lines + 1] = "        " .. (entry.has_tensors
    and ("gilua_call([&] { return %s; });"):format(call) or call .. ";")
  return HEAD:format(as_doubles and outside(text) or "",
    as_doubles and "#define float double\n" or "", headers.absolute(entry.path),
    entry.has_tensors and RESULTS:format(tostring(as_doubles or false)) or "")
    .. table.concat(lines, "\n") .. "\n" .. TAIL:format(table.concat(kept))
end

---@class WholeProgram
---@field entry HostEntry
---@field path string
---@field scratch string
---@field elf table of gilua.base.elf

-- The first error that nvcc names, else its last words.
local function first_error(ran)
  for line in ran.text:gmatch "[^\r\n]+" do
    if line:find("error", 1, true) then return printable.text(line) end
  end
  local last = boxedprogram.last_line(ran.text)
  return last ~= "" and last or ran.why
end

--- Builds one.
---@param entry HostEntry
---@param text string of the file
---@param scratch string a folder of its own
---@param o { include?: string[], define?: string[], as_doubles?: boolean }
---@return WholeProgram? program
---@return string? why it is not built
function M.build(entry, text, scratch, o)
  local open = boxedprogram.missing()
  if open then return nil, open end
  lfs.mkdir(scratch)
  local source, path = scratch .. "/program.cu", scratch .. "/program"
  textfile.write(source, text_of(entry, text, o.as_doubles))
  local words = { "nvcc", "-w", "-O2", "-std=c++17", "-o", path, source }
  for word in programhost.NVCC_FLAGS:gmatch "%S+" do words[#words + 1] = word end
  if entry.has_tensors then words[#words + 1] = "-I" .. PYTORCH end
  for _, folder in ipairs(o.include or {}) do
    words[#words + 1] = "-I" .. headers.absolute(folder)
  end
  for _, define in ipairs(o.define or {}) do words[#words + 1] = "-D" .. define end
  local ran = boxedprogram.run(words, { scratch = scratch, folder = scratch, limit_s = BUILD_S })
  if ran.why then return nil, "nvcc does not build it: " .. first_error(ran) end
  core.system.run { argv = { "chmod", "+x", path } } -- which the linker may not, in the box
  return { entry = entry, path = path, scratch = scratch, elf = elf.read(path) }
end

local function empty(folder)
  lfs.mkdir(folder)
  for name in entries(folder) do
    if name ~= "." and name ~= ".." then os.remove(folder .. "/" .. name) end
  end
end

-- A folder with the arrays that a function is given.
local function written(program, name, arrays)
  local folder = program.scratch .. "/" .. name
  empty(folder)
  for _, p in ipairs(program.entry.params) do
    if p.pointer then textfile.write(folder .. "/" .. p.name .. ".in", arrays[p.name]:bytes()) end
  end
  return folder
end

-- The first thing that a run did wrong, by the virtual GPU or by its own words.
local function fault_of(all, ran)
  for _, f in ipairs(all.findings) do
    if not programrun.is_warning(f) then return f.text:match "^[^\n]*" end
  end
  if all.refusal or all.missing then return all.refusal or all.missing end
  if not ran.why then return nil end
  local own = boxedprogram.last_line(ran.text)
  return own ~= "" and (own:gsub("^judge: ", "")) or ran.why
end

-- The tensors that a function returned: answers, whose names have their sizes.
local function take_results(folder, found)
  for name in entries(folder) do
    local number, type, sizes = name:match "^result(%d+)%.(%w+)%.([%dx]*)%.out$"
    if number then
      found.answers[("result %s of %s"):format(number, sizes)] = core.array.frombytes(
        textfile.read(folder .. "/" .. name, "answers", 1 << 32), type)
    end
  end
end

---@class WholeRun
---@field why? string what went wrong
---@field late? boolean
---@field answers? table<string, userdata> arrays, by the old function's names
---@field ns? number of its kernels, by the virtual GPU
---@field bytes? number that its kernels move
---@field launches? integer

--- Runs one on arrays and numbers.
---@param program WholeProgram
---@param case table { arrays, numbers } by the parameters' places or names
---@param before? table { arrays } that it is called with first
---@return WholeRun
function M.run(program, case, before)
  local folder = written(program, "data", case.arrays)
  local first = before and written(program, "before", before.arrays) or ""
  local words, reports = { program.path, first, folder }, program.scratch .. "/reports"
  empty(reports)
  for _, p in ipairs(program.entry.params) do
    if p.tensor then words[#words + 1] = table.concat(case.shapes[p.name], "x") end
    if not p.pointer then words[#words + 1] = tostring(case.numbers[p.name]) end
  end
  programhost.write_config(reports, { checks = CHECKS }, programhost.model())
  local ran = boxedprogram.run(words, { scratch = program.scratch, folder = program.scratch,
    env = programhost.environment(reports, program.elf), limit_s = RUN_S })
  if ran.late then return { why = ran.why, late = true } end
  local all = programrun.read(reports)
  local why = fault_of(all, ran)
  if why then return { why = why } end
  local found = { answers = {} }
  for _, p in ipairs(program.entry.params) do
    if p.pointer and not p.const then
      found.answers[p.name] = core.array.frombytes(
        textfile.read(folder .. "/" .. p.name .. ".out", "answers", 1 << 32), p.type)
    end
  end
  take_results(folder, found)
  found.ns, found.bytes, found.launches = 0, 0, 0
  for _, k in ipairs(all.kernels) do
    found.ns, found.bytes = found.ns + k.ns, found.bytes + k.global_bytes
    found.launches = found.launches + k.launches
  end
  return found
end

return M
