-- gi.image: pictures as arrays and arrays as pictures.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

--- A name in the test's own folder, removed when `body` is done.
local function with_file(extension, body)
  local path = os.tmpname()
  os.remove(path)
  body(path .. extension)
  os.remove(path .. extension)
end

local function ramp(type, height, width)
  local a = gi.array(type, height, width)
  for i = 1, #a do a[i] = i - 1 end
  return a
end

tap.case("a picture that was written is read back, in both formats and depths", function()
  for _, extension in ipairs { ".pgm", ".png" } do
    for _, type in ipairs { "u8", "u16" } do
      with_file(extension, function(path)
        local a = ramp(type, 5, 7)
        tap.ok(gi.image.write(path, a), ("%s is written as %s"):format(type, extension))
        local b, maxval = gi.image.read(path)
        tap.is(b:dtype(), type, "and has its type")
        tap.is(table.concat({ b:shape() }, "x"), "5x7", "and its shape")
        tap.is(maxval, type == "u8" and 255 or 65535, "and its maxval")
        tap.is(table.concat(b:table(), " "), table.concat(a:table(), " "), "and its values")
      end)
    end
  end
end)

tap.case("a PGM may be text, and have a maxval of its own", function()
  with_file(".pgm", function(path)
    assert(gi.image.write(path, ramp("u8", 2, 3), { plain = true, maxval = 5 }))
    tap.is(tap.read(path), "P2\n3 2\n5\n0 1 2\n3 4 5\n", "as netpbm has it")
    local _, maxval = gi.image.read(path)
    tap.is(maxval, 5, "which is read")
  end)
end)

tap.case("what cannot be read or written is said", function()
  local a, message, code = gi.image.read "no/such/picture.png"
  tap.is(a, nil, "a missing file is no picture")
  tap.has(message, "no/such/picture.png", "is named")
  tap.is(code, "io", "with its code")
  with_file(".pgm", function(path)
    local f <close> = io.open(path, "wb")
    f:write("P5\n4000000 4000000\n255\nxyz")
    f:close()
    local _, why, what = gi.image.read(path)
    tap.has(why, "4000000 x 4000000 pixels need", "a claim without pixels is refused")
    tap.is(what, "format", "as damage")
  end)
  tap.is(select(3, gi.image.write("a.jpg", ramp("u8", 2, 2))), "usage", "another format")
  tap.raises(function() gi.image.write("a.pgm", ramp("u8", 2, 2), { maxvol = 3 }) end,
    "did you mean 'maxval'", "a misspelt option")
  tap.raises(function() gi.image.colour(gi.array("f32", 3)) end, "two dimensions", "a list")
end)

tap.case("a plane of numbers becomes a grey or a coloured picture", function()
  local plane = gi.array.from({ { -1, 0, 25 }, { 50, 75, 0 / 0 } }, "f32")
  local grey = gi.image.grey(plane, { low = 0, high = 50 })
  tap.is(table.concat(grey:table(), " "), "0 0 128 255 255 0", "grey, cut off at low and high")
  tap.is(table.concat(gi.image.grey(gi.array.from({ { 3, 3 } }, "i16")):table(), " "), "0 0",
    "a plane of one value")
  local colour = gi.image.colour(plane, { low = 0, high = 50 })
  tap.is(table.concat({ colour:shape() }, "x"), "2x3x3", "red, green and blue")
  tap.is(table.concat(colour:table(), " ", 1, 3), "0 0 0", "what is below low is black")
  tap.ok(colour:at(1, 2, 3) > colour:at(1, 2, 1), "low is blue")
  tap.ok(colour:at(2, 1, 1) > colour:at(2, 1, 3), "high is red")
  tap.is(table.concat(colour:table(), " ", 10, 12), table.concat(colour:table(), " ", 13, 15),
    "above high it stays so")
  tap.is(table.concat(colour:table(), " ", 16, 18), "0 0 0", "NaN is black")
  with_file(".png", function(path)
    tap.ok(gi.image.write(path, colour), "it can be written")
    tap.is(table.concat({ gi.image.read(path):shape() }, "x"), "2x3", "and is read as grey")
  end)
end)

tap.done()
