-- browser: a headless Chromium that a test drives: it opens a page, clicks, types, asks the page's
-- own script, takes screenshots, prints. Spoken is the DevTools protocol over two pipes. Helper of
-- tests; where no Chromium is installed `open` returns nil and why.

local core = require "gilua.core"
local json = require "gilua.base.json"
local shell = require "gilua.base.shell"
local textfile = require "gilua.base.textfile"

local M = {}

local NAMES = { "chromium", "chromium-browser", "google-chrome" }

local function found()
  for dir in (os.getenv "PATH" or ""):gmatch "[^:]+" do
    for _, name in ipairs(NAMES) do
      local file = io.open(dir .. "/" .. name, "rb")
      if file then
        file:close()
        return dir .. "/" .. name
      end
    end
  end
end

---@class Browser
local Browser = {}
Browser.__index = Browser

--- Starts a browser, which `close` ends.
---@param dir string a folder of the test's own
---@return Browser? browser
---@return string? why there is none
function M.open(dir)
  local program = found()
  if not program then return nil, "no Chromium is installed (apt-get install chromium)" end
  local to, from = dir .. "/to", dir .. "/from"
  assert(os.execute(("mkfifo %s %s"):format(shell.quoted(to), shell.quoted(from))))
  assert(os.execute(("%s --headless --no-sandbox --disable-gpu --hide-scrollbars "
    .. "--disable-dev-shm-usage --user-data-dir=%s --remote-debugging-pipe 3<%s 4>%s "
    .. ">%s/said 2>&1 &"):format(program, shell.quoted(dir .. "/profile"), shell.quoted(to),
    shell.quoted(from), shell.quoted(dir))))
  local b = setmetatable({ out = assert(io.open(to, "wb")), into = assert(io.open(from, "rb")),
    n = 0, dir = dir }, Browser)
  local target = b:ask("Target.createTarget", { url = "about:blank" }).targetId
  b.session = b:ask("Target.attachToTarget", { targetId = target, flatten = true }).sessionId
  b:ask("Page.enable", {})
  b:ask("Runtime.enable", {})
  b:size(1000, 800)
  return b
end

-- The next message; what is no answer is an event.
local function message(b)
  local parts = {}
  for byte in function() return b.into:read(1) end do
    if byte == "\0" then return assert(json.decode(table.concat(parts))) end
    parts[#parts + 1] = byte
  end
  error("the browser has ended: " .. textfile.read(b.dir .. "/said", "its output"), 0)
end

--- Asks the browser, and waits for its answer.
function Browser:ask(method, params)
  self.n = self.n + 1
  local fields = { { "id", self.n }, { "method", method }, { "params", json.object {} } }
  local list = {}
  for key, value in pairs(params) do list[#list + 1] = { key, value } end
  fields[3][2] = json.object(list)
  if self.session then fields[4] = { "sessionId", self.session } end
  self.out:write(json.line(json.object(fields)), "\0")
  self.out:flush()
  while true do
    local said = message(self)
    if said.method == "Runtime.exceptionThrown" then
      local d = said.params.exceptionDetails
      self.thrown = (d.exception and d.exception.description or d.text)
    end
    if said.id == self.n then
      if said.error then error(method .. ": " .. said.error.message, 0) end
      return said.result
    end
  end
end

--- What an expression of the page's is.
function Browser:value(expression)
  local got = self:ask("Runtime.evaluate", { expression = expression, returnByValue = true,
    awaitPromise = true })
  if got.exceptionDetails then
    error(expression .. ": " .. (got.exceptionDetails.exception.description or "?"), 0)
  end
  return got.result.value
end

--- Waits until an expression of the page's is true; returns the seconds, nil where it never was.
function Browser:wait(expression, seconds)
  local began = core.system.seconds()
  while core.system.seconds() - began < (seconds or 30) do
    if self:value("!!(" .. expression .. ")") then return core.system.seconds() - began end
    core.system.sleep(0.02)
  end
end

--- Opens an address, and waits until the page is there.
function Browser:go(url)
  self:ask("Page.navigate", { url = "about:blank" })
  self:ask("Page.navigate", { url = url })
  assert(self:wait("document.readyState == 'complete' && location.href != 'about:blank'"), url)
end

--- Loads the page again.
function Browser:reload()
  self:value "window.before = true"
  self:ask("Page.reload", {})
  assert(self:wait("!window.before && document.readyState == 'complete'"), "it loads again")
end

--- The size of the window, and whether it is dark.
function Browser:size(width, height, dark)
  self:ask("Emulation.setDeviceMetricsOverride", { width = width, height = height,
    deviceScaleFactor = 1, mobile = width < 500 })
  self:ask("Emulation.setEmulatedMedia", { media = "", features = json.array { json.object {
    { "name", "prefers-color-scheme" }, { "value", dark and "dark" or "light" } } } })
end

--- Clicks at a place of the window.
function Browser:click(x, y)
  for _, type in ipairs { "mouseMoved", "mousePressed", "mouseReleased" } do
    self:ask("Input.dispatchMouseEvent", { type = type, x = x, y = y, button = "left",
      clickCount = 1 })
  end
end

--- Clicks in the middle of the element that a selector names.
function Browser:press(selector)
  local at = self:value(("new Promise(function (told) { var e = document.querySelector(%s); "
    .. "e.scrollIntoView({ block: 'center' }); requestAnimationFrame(function () { "
    .. "requestAnimationFrame(function () { var r = e.getBoundingClientRect(); "
    .. "told([r.left + r.width / 2, r.top + r.height / 2]); }); }); })"):format(
    json.line(selector)))
  self:click(at[1], at[2])
end

--- Types into the field that a selector names, in place of what is there.
function Browser:type(selector, text)
  self:value(("(function () { var e = document.querySelector(%s); e.focus(); e.value = ''; })()")
    :format(json.line(selector)))
  self:ask("Input.insertText", { text = text })
end

-- Writes bytes that the browser gives as text.
local function write(b, path, data)
  textfile.write(b.dir .. "/data", data)
  assert(os.execute(("base64 -d %s/data >%s"):format(shell.quoted(b.dir), shell.quoted(path))))
end

--- Writes a picture of the page, or of the element that a selector names.
function Browser:shot(path, selector)
  local clip
  if selector then
    local r = self:value(("(function () { var r = document.querySelector(%s)"
      .. ".getBoundingClientRect(); return [r.left + scrollX, r.top + scrollY, r.width, r.height]; "
      .. "})()"):format(json.line(selector)))
    clip = json.object { { "x", r[1] }, { "y", r[2] }, { "width", r[3] }, { "height", r[4] },
      { "scale", 1 } }
  end
  local got = self:ask("Page.captureScreenshot", { captureBeyondViewport = true, clip = clip })
  write(self, path, got.data)
end

--- Prints the page into a file.
function Browser:print(path)
  write(self, path, self:ask("Page.printToPDF", {}).data)
end

function Browser:close()
  pcall(self.ask, self, "Browser.close", {})
  self.out:close()
  self.into:close()
end

return M
