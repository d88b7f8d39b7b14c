-- gilua.new.around: folders of headers that nobody named; and how a file of the user's is read.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local around = require "gilua.new.around"
local headers = require "gilua.new.headers"
local scratch = require "scratch"
local tap = require "tap"
local textureguess = require "gilua.new.textureguess"

-- A project of two folders, with a makefile in the first: what is found for a text, below it.
local function found(text, makefile)
  local top = headers.absolute(tap.folder())
  for _, name in ipairs { "own", "other", ".hidden", "own/sub", "other/deep" } do
    tap.ok(require("lfs").mkdir(top .. "/" .. name), name)
  end
  for _, path in ipairs { "other/x.h", "other/x.txt", ".hidden/x.h", "own/sub/y.h",
                          "other/deep/z.h" } do
    scratch.write(top .. "/" .. path, "#define X 1\n")
  end
  scratch.write(top .. "/own/Makefile", makefile)
  local list = around.of(text, { top .. "/own" }, top .. "/nowhere")
  for i, folder in ipairs(list) do list[i] = folder:sub(#top + 2) end
  return table.concat(list, " ")
end

tap.case("what the makefile beside a file names with -I", function()
  tap.is(found('#include "x.h"\n', "CFLAGS := -O3 -I../other\n"), "other", "beside its folder")
  tap.is(found('#include <x.h>\n', "all:\n\tnvcc -I ../other/ -Isub x.cu\n"), "other", "a space")
  tap.is(found('#include "y.h"\n#include "x.h"\n', "F=-I../other -I./sub"), "own/sub other", "two")
  tap.is(found('#include "z.h"\n', "F = -I../other/deep"), "other/deep", "below that")
end)

tap.case("no other file is looked for", function()
  tap.is(found('#include "x.h"\n', "F = -O3\n"), "", "where it names none")
  tap.is(found('#include "x.txt"\n', "F = -I../other"), "", "what is no header")
  tap.is(found('#include "x.h"\n', "F = -I../.hidden"), "", "hidden folders")
  tap.is(found('#include "x.h"\n', "F = -I../own/../other -I../../x -I/tmp"), "", "far away")
  tap.is(found('#include "../other/x.h"\n', "F = -I../other"), "", "a name that leads away")
end)

tap.case("a header in the folder above", function()
  local top = headers.absolute(tap.folder())
  require("lfs").mkdir(top .. "/own")
  scratch.write(top .. "/x.h", "#define X 1\n")
  scratch.write(top .. "/x.txt", "#define X 1\n")
  local function of(text) return around.of(text, { top .. "/own" }, top .. "/nowhere")[1] end
  tap.is(of '#include "../x.h"\n', nil, "whose it is nothing says")
  scratch.write(top .. "/Makefile", "all:\n")
  tap.is(of '#include "../x.h"\n', top, "a project's")
  tap.is(of '#include "../x.txt"\n', nil, "what is no header")
  tap.is(of '#include "../../own/x.h"\n', nil, "nor further away")
end)

-- The macros that a makefile gives own/k.cu.
local function macros(makefile)
  local top = headers.absolute(tap.folder())
  scratch.write(top .. "/Makefile", makefile)
  local list = around.macros(top .. "/k.cu")
  for i, macro in ipairs(list) do list[i] = macro.name .. ":" .. macro.text end
  return table.concat(list, " ")
end

tap.case("macros of the makefile beside a file", function()
  tap.is(macros "CFLAGS := -O3 -DN=3 \\\n  -DFAST -D T=double # -DNOT\n",
    "N:N=3 FAST:FAST T:T=double", "in a variable, over two lines")
  tap.is(macros "B = 2\nA = $(B)8\nF = -DN=${A} -DM=$(none)\nall:\n\tnvcc -DK=1 k.cu\n",
    "N:N=28 K:K=1", "by other variables, and in a recipe that names the file")
  tap.is(macros "F =\nifeq ($(DEBUG),yes)\n  F += -DDEBUG\nendif\nF += -DN=1 -DN=2\n", "N:N=1",
    "not under a condition, and the first of two")
  tap.is(macros 'F = -DN="os.exit()" -DM=a;b -DK=`id` x-DL\nother:\n\tnvcc -DM=3 other.cu\n', "",
    "plain words alone, of this file")
  local bomb = "A = " .. ("$(B)"):rep(60) .. "\nB = " .. ("$(A)"):rep(60) .. "\nF = -D$(A)\n"
  tap.is(macros(bomb), "", "variables of each other end")
end)

tap.case("a byte order mark becomes blanks", function()
  local path = tap.folder() .. "/marked.cu"
  scratch.write(path, "\xEF\xBB\xBF#define A 1\n")
  tap.is(headers.read(path, "the kernel"), "   #define A 1\n", "as many")
end)

tap.case("texture objects by both their names", function()
  local function is(text) return textureguess.is_texture { text = text } end
  tap.ok(is "cudaTextureObject_t tex", "the runtime's")
  tap.ok(is "const CUtexObject tex", "the driver's")
  tap.ok(not is "CUtexObjects t", "no other")
  tap.ok(not textureguess.is_texture { text = "CUtexObject *t", pointer = true }, "no array")
end)

tap.done()
