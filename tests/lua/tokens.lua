-- gi.grammar.tokens: the words of CUDA source, and of any other text.

package.path = "tests/lua/?.lua;lua/?.lua;" .. package.path
local tap = require "tap"
local gi = require "gilua"

local tokens = gi.grammar.tokens

local function words(text)
  local t, list = tokens(text), {}
  for i = 1, #t do list[i] = t[i] end
  return table.concat(list, " ")
end

local function kinds(text)
  local t, list = tokens(text), {}
  for i = 1, #t do list[i] = t:kind(i) end
  return table.concat(list, " ")
end

tap.case("words", function()
  tap.is(words "a+++b->c::d<<=1", "a ++ + b -> c :: d <<= 1", "the longest operator")
  tap.is(words "k<A<B>><<<g,b>>>(x)", "k < A < B >> <<< g , b >>> ( x )", "<<< and >>> are CUDA's")
  tap.is(words "1'000'000 0x1p-3 1e+5f .5 0xe+1", "1'000'000 0x1p-3 1e+5f .5 0xe + 1", "numbers")
  tap.is(words "thre\\\nadIdx \\\r\n x", "threadIdx x", "what a line's end parts is one")
  tap.is(kinds "x 1 \"s\" 'c' + u8\"s\" L'c'", "name number string char punct string char", "kinds")
  tap.is(words "\0\1\xff", "\0 \1 \xff", "bytes that are no text")
end)

tap.case("comments and literals", function()
  tap.is(words "a /* , ( \n */ b // ; \\\n )\nc", "a b c", "comments are no words")
  tap.is(words [["a\"b" '\'' c]], [["a\"b" '\'' c]], "quotes within")
  tap.is(words 'R"( " )" R"x( )" )x" a', 'R"( " )" R"x( )" )x" a', "raw strings")
  tap.is(kinds 'x "no end\ny', "name bad name", "a string that its line does not end")
  tap.is(kinds "x /* no end\n y", "name bad", "a comment without end is the rest")
  tap.is(kinds 'x R"( no end\n y', "name bad", "so is a raw string")
end)

tap.case("directives", function()
  local t = tokens "int a;\n # define N(x) \\\n  (x /* + \n */ + 1) // one\nint b; #not one\n"
  tap.is(t:kind(4), "directive", "a line that begins with #")
  tap.is(t:line(4), 2, "its line")
  local d = t:inside(4)
  tap.is(d:text(1, #d), "define N(x) (x + 1)", "its words, with those of the lines it goes on")
  tap.is(d:line(#d), 4, "on the file's lines")
  tap.is(d:first(1), 11, "at the file's bytes")
  tap.is(t[5] .. t:line(5) .. t[8], "int5#", "behind it; elsewhere a # is a # and its word")
  tap.raises(function() t:inside(1) end, "it is no directive", "of nothing else")
  local values = tokens "{ 1, -2.f, x }"
  tap.is(values:word(1) .. "", "7", "the first word behind numbers")
  tap.is(values:word(8), nil, "none is left")
end)

tap.case("places, brackets and search", function()
  local text = "f(a[1], { b });\n( ]"
  local t = tokens(text)
  tap.is(#t, 14, "how many")
  tap.is(text:sub(t:first(3), t:last(3)) .. t:line(13), "a2", "bytes and line")
  tap.is(t:match(2) .. " " .. t:match(11), "11 2", "a bracket's partner, both ways")
  tap.is(t:match(4) .. " " .. t:match(8), "6 10", "of each kind")
  tap.is(t:match(13) or t:match(14) or t:match(1), nil, "those that fit nothing have none")
  tap.is(tokens("( [ )"):match(1), 3, "what is never closed does not hinder what is around it")
  tap.is(t:find(1, "b") .. " " .. t:find(2, "(") .. " " .. t:find(3, "("), "9 2 13", "from where")
  tap.is(t:find(1, "1", "]") .. " " .. t:find(1, "]", ","), "5 6", "several, one after the other")
  tap.is(t:find(1, "c") or t:find(1, "(", "b") or t:find(99, "f"), nil, "not there")
  tap.is(t:find(-3, "f"), 1, "from before the first")
  tap.is(t[0] or t[15] or t:kind(15) or t:line(0) or t:match(99), nil, "no such token")
  tap.is(tokens("thre\\\nads"):find(1, "threads"), 1, "a name on two lines")
end)

tap.case("text between tokens", function()
  local t = tokens "f(a /* , */,\n   b)+  c"
  tap.is(t:text(1, #t), "f(a , b)+ c", "a blank where anything stands")
  tap.is(t:text(3), "a", "of one")
  tap.is(t:text(3, 2) .. t:text(8, 99) .. t:text(-1, 0), "c", "no more than there is")
end)

tap.case("whatever the text is, in time in proportion to it", function()
  if tap.sanitized "time is measured" then return end
  local begun = os.clock()
  for _, piece in ipairs { "(", '"', "/*", "([{", "'", 'R"x(', "#\\\"", "\\\n", "<", "1'", "{)",
      "\n#if (", "//" } do
    tokens(piece:rep(5000000 // #piece))
  end
  local each = (os.clock() - begun) / 13
  if not tap.ok(each < 1, "5 MB of one piece take less than a second") then tap.note(each) end
end)

tap.case("closing and misuse", function()
  local t <close> = tokens "a b"
  local again = tokens "x"
  getmetatable(again).__close(again)
  tap.is(#again, 0, "a closed one has no words")
  tap.raises(function() tokens(nil) end, "bad argument #1", "a text is needed")
  tap.raises(function() t:find(1) end, "bad argument", "and a word to look for")
end)

tap.done()
