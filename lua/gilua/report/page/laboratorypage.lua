-- laboratorypage: the third part of the laboratory's script: the reader's choices, and the source
-- of the data: the page itself, or `gilua watch`, a page of mutants at a time.

return [==[
// What a reader chooses -------------------------------------------------------------------------

var waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(function () {
    waiting = false;
    var missing = draw();
    chips();
    var seen = 0, all = 0, total = 0;
    runs.forEach(function (run) {
      seen += visible(run).length; all += run.n; total += run.head.all || run.n;
    });
    box.querySelector(".count").textContent = grouped(seen) + " of " + grouped(all)
      + " mutants pass the filters" + (missing == null ? "; none has these values"
      : missing ? "; " + grouped(missing) + " have no such values" : "") + "."
      + (total > all + runs.length ? " The run has " + grouped(total) + "." : "");
  });
}

// Keeps in the address what was chosen: a page that loads itself again shows it again.
function keep() {
  var words = new URLSearchParams();
  for (var name in state) if (state[name] !== "" && state[name] !== false) {
    words.set(name, state[name]);
  }
  history.replaceState(null, "", "#" + words);
}

function set(name, value) {
  state[name] = value;
  runs.forEach(function (run) { run.visible = null; });
  var input = box.querySelector("[name=" + name + "]");
  if (input && input.type == "checkbox") input.checked = value; else if (input) input.value = value;
  keep();
  redraw();
}

function remembered() {
  new URLSearchParams(location.hash.slice(1)).forEach(function (value, name) {
    if (name in state) state[name] = typeof state[name] == "boolean" ? value == "true" : value;
  });
  if (!AXES[state.x]) state.x = "generation";
  if (!AXES[state.y]) state.y = "gain";
}

// A chip for each thing that became of mutants: how many, and to leave them out.
function chips() {
  var counts = {}, place = box.querySelector(".chips"), off = state.off.split(",");
  runs.forEach(function (run) {
    run.outcomes.forEach(function (word) {
      counts[word] = (counts[word] || 0) + (run.passing.counts[word] || 0);
    });
  });
  place.replaceChildren.apply(place, Object.keys(counts).sort(function (a, b) {
    return counts[b] - counts[a] || (a < b ? -1 : 1);
  }).map(function (word) {
    var is_off = off.indexOf(word) >= 0, spot = el("i");
    spot.style.background = COLOURS[word] || OTHER;
    return el("button", { type: "button", "aria-pressed": String(!is_off), onclick: function () {
      set("off", (is_off ? off.filter(function (w) { return w != word; }) : off.concat(word))
        .filter(Boolean).join(","));
    } }, spot, plain(word) + " " + grouped(counts[word]));
  }));
}

// A choice; the list of its values is made again when it is opened.
function select(name, label, values) {
  var list = el("select", { name: name, onchange: function () { set(name, list.value); } });
  function fill() {
    var now = state[name];
    list.replaceChildren.apply(list, values().map(function (pair) {
      return el("option", { value: pair[0] }, pair[1]);
    }));
    list.value = now;
  }
  fill();
  list.addEventListener("pointerdown", fill);
  list.addEventListener("focus", fill);
  return el("label", {}, label + " ", list);
}

function input(name, label, type) {
  var field = el("input", { name: name, type: type, oninput: function () {
    set(name, type == "checkbox" ? field.checked : field.value);
  } });
  if (type == "checkbox") field.checked = state[name]; else field.value = state[name];
  return el("label", {}, label + " ", field);
}

function axes() {
  return Object.keys(AXES).filter(function (axis) {
    return axis == state.x || axis == state.y || WORDS[axis] || runs.some(function (run) {
      return run.column[axis == "time" ? "gain" : axis].some(function (v) { return v != null; });
    });
  }).map(function (axis) { return [axis, AXES[axis]]; });
}

function all(list) {
  return [["", "any"]].concat(Array.from(new Set([].concat.apply([], runs.map(function (run) {
    return run[list];
  })))).sort().map(function (word) { return [word, plain(word)]; }));
}

// Where the data come from ----------------------------------------------------------------------

// Draws what is there: the first page at once, then not more often than a reader sees.
function loaded(run, first) {
  if (first || !run.drawn || Date.now() - run.drawn > 300) { redraw(); run.drawn = Date.now(); }
  if (first && state.mutant) show();
}

// Asks a server for a run, a page of mutants after the other; while the run is on, for ever.
function load(run, after) {
  return asked(run, "mutants/" + after).then(function (page) {
    var first = run.n == 0;
    add(run, page);
    run.last = page.id.length ? page.id[page.id.length - 1] : after;
    run.head.all = page.all;
    loaded(run, first);
    if (page.after != null) return load(run, page.after);
    redraw();
    if (run == runs[0] && box.querySelector(".mutant").dataset.asked == state.mutant) {
      if (run.refresh) run.refresh();
    } else if (state.mutant) show();
    if (!run.head.ended) setTimeout(function () {
      load(run, run.last).catch(function () {});
    }, 5000);
  });
}

function served(base) {
  var run = newRun({}, base);
  runs.push(run);
  return asked(run, "head").then(function (head) {
    run.head = head;
    return load(run, 0);
  });
}

function unpacked(saved) {
  var run = newRun(saved.head, null);
  saved.pages.forEach(function (page) { add(run, page); });
  saved.stories.forEach(function (record) { run.records[record.id] = record; });
  runs.push(run);
  return run;
}

// Lays the run of another page, which was saved, over this one.
function overlay(text) {
  var other = new DOMParser().parseFromString(text, "text/html").getElementById("mutants");
  if (!other || other.textContent.trim() == "") throw "that page holds no mutants";
  runs.length = 1;
  loaded(unpacked(JSON.parse(other.textContent)), false);
  redraw();
  legend();
}

function legend() {
  box.querySelector(".runs").textContent = runs.length > 1 ? "Squares: " + (runs[0].head.name || "")
    + "; crosses: " + (runs[1].head.name || "") + "." : "";
}

function others() {
  var said = el("span", { "class": "runs" }), file = el("input", { type: "file",
    accept: ".html", onchange: function () {
      file.files[0].text().then(overlay).catch(function (why) { said.textContent = String(why); });
    } });
  var list = ((runs[0] || {}).head || {}).others || [], p = el("p", { "class": "over" });
  if (list.length) {
    var over = el("select", { name: "over", onchange: function () {
      runs.length = 1;
      (over.value ? served(runs[0].base + over.value) : Promise.resolve()).then(legend)
        .catch(function (why) { said.textContent = String(why); });
      redraw();
    } }, el("option", { value: "" }, "no other run"));
    list.forEach(function (one) { over.append(el("option", { value: one.base }, one.name)); });
    p.append(el("label", {}, "Lay over it ", over), " ");
  }
  p.append(el("label", {}, "Lay a saved report.html over it ", file), " ", said);
  return p;
}

function build() {
  canvas = el("canvas", { role: "img", "aria-label": "every mutant as a point", tabindex: "0" });
  var said = el("p", { "class": "said" }, "Point at a mutant: its figures appear here. Click it.");
  box.querySelector(".lab").replaceChildren(
    el("p", { "class": "ask" }, select("x", "across", axes), input("logx", "log", "checkbox"),
      select("y", "up", axes), input("logy", "log", "checkbox")),
    el("p", { "class": "ask" }, input("gene", "gene", "search"),
      select("kind", "kind of gene", function () { return all("kinds"); }),
      select("birth", "operator", function () { return all("births"); }),
      input("low", "registers from", "number"), input("high", "to", "number")),
    el("p", { "class": "chips" }), canvas, said, el("p", { "class": "count note" }),
    el("div", { "class": "others" }), el("div", { "class": "mutant" }));
  function at(event) {
    var place = canvas.getBoundingClientRect();
    return nearest(event.clientX - place.left, event.clientY - place.top);
  }
  canvas.addEventListener("mousemove", function (event) {
    var found = at(event);
    canvas.style.cursor = found ? "pointer" : "";
    if (found) said.textContent = sentence(found.run, found.i) + "\n"
      + (genesOf(found.run, found.i).join(" ").slice(0, 240) || "(the kernel as it is)");
  });
  canvas.addEventListener("click", function (event) {
    var found = at(event);
    if (!found) return;
    if (found.run == runs[0]) return choose(found.run.column.id[found.i]);
    said.textContent = found.run.head.name + ": " + sentence(found.run, found.i);
  });
  window.addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.addEventListener("beforeprint", function () { printing = true; draw(); });
  window.addEventListener("afterprint", function () { printing = false; draw(); });
}

var box = document.getElementById("laboratory");
if (box) {
  remembered();
  build();
  var data = document.getElementById("mutants").textContent.trim(), begun = null;
  if (data) loaded(unpacked(JSON.parse(data)), true);
  else if (box.dataset.base != null) {
    begun = served(box.dataset.base).catch(function (why) {
      box.querySelector(".count").textContent = String(why);
    });
  }
  Promise.resolve(begun).then(function () {
    box.querySelector(".others").replaceChildren(others());
    ["x", "y", "kind", "birth"].forEach(function (name) {
      box.querySelector("[name=" + name + "]").dispatchEvent(new Event("focus"));
    });
    box.dataset.ready = "yes";
  });
}
]==]
