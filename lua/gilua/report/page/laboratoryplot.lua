-- laboratoryplot: the first part of the laboratory's script: runs as columns of numbers, the filter
-- of their mutants, and the plot on a canvas. It uses no library: small ones (uPlot) draw lines
-- along one sorted axis, and a cloud of 100 000 clickable points would have to be added to them.

return [==[
var AXES = { gain: "times faster", time: "time, over the unmodified kernel's", error: "mean error",
  max_error: "largest error", wrong: "share of wrong answers", penalty: "penalty",
  registers: "registers", genes: "genes", fitness: "fitness", generation: "generation",
  id: "number", outcome: "what became of it", birth: "operator" };
var COLUMNS = ["id", "generation", "birth", "outcome", "gain", "error", "max_error", "wrong",
  "penalty", "registers", "genes", "fitness", "first", "second"];
var WORDS = { birth: "births", outcome: "outcomes" }; // columns whose numbers are places in a list
var COLOURS = { right: "#0072b2", wrong: "#d55e00", compile_error: "#8a8a8a", race: "#cc79a7",
  timeout: "#e69f00", loop_limit: "#e69f00", illegal_address: "#009e73" };
var OTHER = "#56b4e9";

// Makes an element; what is behind its attributes goes into it.
function el(name, attributes) {
  var made = document.createElement(name);
  for (var key in attributes || {}) {
    if (key.slice(0, 2) == "on") made.addEventListener(key.slice(2), attributes[key]);
    else if (attributes[key] != null) made.setAttribute(key, attributes[key]);
  }
  for (var i = 2; i < arguments.length; i++) {
    if (arguments[i] != null) made.append(arguments[i]);
  }
  return made;
}

function plain(word) { return word.replace(/_/g, " "); }
function grouped(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f"); }
function figure(x) {
  if (x == null || !isFinite(x)) return "–";
  if (x == Math.round(x) && Math.abs(x) < 1e7) return grouped(x);
  return Number(x.toPrecision(4)).toString();
}

var runs = []; // those that are drawn, the page's own first

// Runs ------------------------------------------------------------------------------------------

function newRun(head, base) {
  var run = { head: head, base: base, n: 0, column: {}, births: [], outcomes: [], words: [],
    kinds: [], start: [0], genome: [], at: new Map(), place: {}, records: {}, profiles: {} };
  COLUMNS.forEach(function (name) { run.column[name] = []; });
  ["births", "outcomes", "words"].forEach(function (list) { run.place[list] = new Map(); });
  return run;
}

// What a gene does, from its form.
function kindOf(gene) {
  if (/^<ptx:/.test(gene)) return "instruction of PTX";
  if (/^<llvm:/.test(gene)) return "instruction of LLVM";
  if (/^T:/.test(gene)) return "transformation";
  if (/^<lines_/.test(gene)) return "other lines";
  if (/^<[^>]*>\+/.test(gene)) return "insertion";
  if (/^<[^>]*><[^>]*>$/.test(gene)) return "replacement";
  return /^<[^>]*>$/.test(gene) ? "deletion" : "setting";
}

// Where the texts of a page's list stand in that of the run.
function places(run, list, texts) {
  return texts.map(function (text) {
    if (!run.place[list].has(text)) {
      run.place[list].set(text, run[list].length);
      run[list].push(text);
      if (list == "words") run.kinds.push(kindOf(text));
    }
    return run.place[list].get(text);
  });
}

// Adds a page of mutants.
function add(run, page) {
  var words = places(run, "words", page.words), g = 0;
  var map = { birth: places(run, "births", page.births),
    outcome: places(run, "outcomes", page.outcomes) };
  COLUMNS.forEach(function (name) {
    var to = run.column[name], from = page[name];
    for (var i = 0; i < from.length; i++) to.push(map[name] ? map[name][from[i]] : from[i]);
  });
  for (var i = 0; i < page.id.length; i++) {
    for (var k = 0; k < page.genes[i]; k++) run.genome.push(words[page.genome[g++]]);
    run.at.set(page.id[i], run.n++);
    run.start.push(run.genome.length);
  }
  run.visible = run.children = null;
}

function wordOf(run, name, i) { return run[WORDS[name]][run.column[name][i]]; }
function genesOf(run, i) {
  return run.genome.slice(run.start[i], run.start[i + 1]).map(function (w) {
    return run.words[w];
  });
}

// Which mutants --------------------------------------------------------------------------------

var state = { x: "generation", y: "gain", logx: false, logy: false, gene: "", birth: "", kind: "",
  low: "", high: "", off: "", mutant: "" };

// Says for each gene of a run whether it has a text, or is of a kind.
function marked(run, test) {
  var marks = new Uint8Array(run.words.length);
  for (var w = 0; w < marks.length; w++) marks[w] = test(run.words[w], run.kinds[w]) ? 1 : 0;
  return marks;
}

function wanted(run) {
  return state.gene.toLowerCase().split(/\s+/).filter(Boolean).map(function (text) {
    return marked(run, function (word) { return word.toLowerCase().includes(text); });
  }).concat(state.kind ? [marked(run, function (_, kind) { return kind == state.kind; })] : []);
}

function hasOneOf(run, i, marks) {
  for (var g = run.start[i]; g < run.start[i + 1]; g++) if (marks[run.genome[g]]) return true;
  return false;
}

// The mutants that pass all filters but that of what became of them; how many became what.
function filtered(run) {
  var genes = wanted(run), list = [], counts = {}, r = run.column.registers;
  var low = state.low === "" ? -Infinity : +state.low;
  var high = state.high === "" ? Infinity : +state.high;
  for (var i = 0; i < run.n; i++) {
    var passes = (low == -Infinity && high == Infinity) || (r[i] >= low && r[i] <= high
      && r[i] != null);
    passes = passes && (!state.birth || wordOf(run, "birth", i) == state.birth);
    for (var k = 0; passes && k < genes.length; k++) passes = hasOneOf(run, i, genes[k]);
    if (!passes) continue;
    var outcome = wordOf(run, "outcome", i);
    counts[outcome] = (counts[outcome] || 0) + 1;
    list.push(i);
  }
  return { list: list, counts: counts };
}

function visible(run) {
  if (!run.visible) {
    var off = state.off.split(",");
    run.passing = filtered(run);
    run.visible = run.passing.list.filter(function (i) {
      return off.indexOf(wordOf(run, "outcome", i)) < 0;
    });
  }
  return run.visible;
}

// The plot -------------------------------------------------------------------------------------

// A place of its own for each near the middle of its lane, the same whenever it is drawn.
function shaken(id) { return ((id * 0.754878) % 1 - 0.5) * 0.7; }

function valueOf(run, axis, i, lanes) {
  if (axis == "time") return run.column.gain[i] ? 1 / run.column.gain[i] : null;
  if (WORDS[axis]) return lanes.indexOf(wordOf(run, axis, i)) + shaken(run.column.id[i]);
  if (axis == "generation") return run.column.generation[i] + 0.8 * shaken(run.column.id[i]);
  return run.column[axis][i];
}

// The range and the marks of an axis over some values.
function scaleOf(least, most, log) {
  if (!(least <= most)) return null;
  if (least == most) { least -= Math.abs(least) * 0.1 || 1; most += Math.abs(most) * 0.1 || 1; }
  var f = log ? Math.log10 : function (x) { return x; };
  var from = f(least), to = f(most), pad = (to - from) * 0.03, marks = [];
  from -= pad; to += pad;
  if (log && to - from > 0.7) {
    var every = Math.ceil((to - from) / 8);
    for (var e = Math.floor(from); e <= to; e++) {
      (to - from < 2.5 ? [1, 2, 5] : e % every ? [] : [1]).forEach(function (m) {
        marks.push(m * Math.pow(10, e));
      });
    }
  } else {
    var low = log ? Math.pow(10, from) : from, high = log ? Math.pow(10, to) : to;
    var raw = (high - low) / 6, unit = Math.pow(10, Math.floor(Math.log10(raw)));
    var step = unit * [1, 2, 5, 10].find(function (m) { return m * unit >= raw; });
    for (var v = Math.ceil(low / step) * step; v <= high; v += step) {
      marks.push(Math.abs(v) < step / 1e6 ? 0 : Number(v.toPrecision(12)));
    }
  }
  marks = marks.filter(function (m) { return f(m) >= from && f(m) <= to; });
  return { marks: marks, part: function (x) { return (f(x) - from) / (to - from); } };
}

// The scale of one axis for all runs. On a logarithmic one 0 lies at the edge.
function axisOf(axis, log) {
  var lanes = [], least = Infinity, most = -Infinity, zero = false;
  runs.forEach(function (run) {
    if (WORDS[axis]) run[WORDS[axis]].forEach(function (word) {
      if (lanes.indexOf(word) < 0) lanes.push(word);
    });
  });
  if (lanes.length) {
    var made = scaleOf(-0.6, lanes.length - 0.4, false);
    made.marks = lanes.map(function (_, i) { return i; });
    made.lanes = lanes;
    return made;
  }
  runs.forEach(function (run) {
    visible(run).forEach(function (i) {
      var v = valueOf(run, axis, i, lanes);
      if (v == null || !isFinite(v)) return;
      if (log && v <= 0) { zero = true; return; }
      if (v < least) least = v;
      if (v > most) most = v;
    });
  });
  if (zero) { least = isFinite(least) ? least / 3 : 0.5; most = isFinite(most) ? most : 1; }
  var scale = scaleOf(least, most, log);
  if (scale && zero) {
    var part = scale.part;
    scale.part = function (x) { return x <= 0 ? 0 : part(x); };
    scale.marks = [0].concat(scale.marks.filter(function (m) { return part(m) > 0.08; }));
  }
  return scale;
}

var canvas, pen, colour = "#000", printing = false, area;

function drawFrame(x, y) {
  pen.font = "12px system-ui, sans-serif";
  pen.fillStyle = pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.globalAlpha = 0.25;
  pen.strokeRect(area.left + 0.5, area.top + 0.5, area.width, area.height);
  pen.globalAlpha = 1;
  pen.textAlign = "center";
  x.marks.forEach(function (m) {
    var at = area.left + x.part(m) * area.width;
    pen.fillRect(at, area.top + area.height, 1, 4);
    pen.fillText(x.lanes ? plain(x.lanes[m]) : figure(m), at, area.top + area.height + 17);
  });
  pen.fillText(AXES[state.x], area.left + area.width / 2, area.top + area.height + 34);
  pen.textAlign = "right";
  y.marks.forEach(function (m) {
    var at = area.top + (1 - y.part(m)) * area.height;
    pen.fillRect(area.left - 4, at, 4, 1);
    pen.fillText(y.lanes ? plain(y.lanes[m]) : figure(m), area.left - 7, at + 4);
  });
  pen.textAlign = "left";
  pen.fillText(AXES[state.y], 4, 13);
}

// Draws a mutant: of the first run a square, of another a cross.
function dot(first, x, y, size) {
  if (first) return pen.fillRect(x - size / 2, y - size / 2, size, size);
  pen.fillRect(x - size, y - 0.5, 2 * size, 1.2);
  pen.fillRect(x - 0.5, y - size, 1.2, 2 * size);
}

// Draws a run's points, those of one colour after the other; returns how many have no such values.
function drawRun(run, first, x, y) {
  var list = visible(run), size = list.length < 2000 ? 5 : list.length < 20000 ? 3.5 : 2.5;
  var px = run.px = new Float32Array(run.n).fill(NaN), py = run.py = new Float32Array(run.n);
  var missing = 0, of = run.outcomes.map(function () { return []; });
  list.forEach(function (i) {
    var a = valueOf(run, state.x, i, x.lanes), b = valueOf(run, state.y, i, y.lanes);
    if (a == null || b == null || !isFinite(a) || !isFinite(b)) { missing++; return; }
    px[i] = area.left + x.part(a) * area.width;
    py[i] = area.top + (1 - y.part(b)) * area.height;
    of[run.column.outcome[i]].push(i);
  });
  pen.globalAlpha = first ? 0.75 : 0.9;
  of.forEach(function (points, outcome) {
    pen.fillStyle = COLOURS[run.outcomes[outcome]] || OTHER;
    points.forEach(function (i) { dot(first, px[i], py[i], size); });
  });
  pen.globalAlpha = 1;
  return missing;
}

// Names the best of a run; returns the words.
function drawBest(run) {
  var i = run.at.get(run.head.best);
  if (i == null || !(run.px[i] >= 0)) return "";
  var gain = run.column.gain[i], right = run.px[i] > area.left + area.width / 2;
  var text = (run.head.ended ? "the winner" : "the best so far")
    + (runs.length > 1 ? " of " + run.head.name : "") + (gain ? ", " + gain.toFixed(3) + "×" : "");
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.arc(run.px[i], run.py[i], 7, 0, 7);
  pen.stroke();
  pen.font = "bold 12px system-ui, sans-serif";
  pen.textAlign = right ? "right" : "left";
  pen.fillText(text, run.px[i] + (right ? -11 : 11), Math.max(run.py[i] - 9, area.top + 12));
  return text + ", mutant " + run.head.best;
}

function drawChosen() {
  var i = runs[0].at.get(+state.mutant);
  if (i == null || !(runs[0].px[i] >= 0)) return;
  pen.strokeStyle = "#d4007a";
  pen.lineWidth = 2.5;
  pen.strokeRect(runs[0].px[i] - 8, runs[0].py[i] - 8, 16, 16);
}

// Draws all; returns how many mutants have no such values, or null where none has.
function draw() {
  var ratio = window.devicePixelRatio || 1, width = canvas.clientWidth || 600;
  var height = Math.round(Math.max(280, Math.min(460, width * 0.55))), lanes = WORDS[state.y];
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = height + "px";
  pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  colour = printing ? "#000" : getComputedStyle(document.body).color;
  area = { left: lanes ? 116 : 56, top: 22 };
  area.width = width - area.left - 12;
  area.height = height - area.top - 42;
  var x = axisOf(state.x, state.logx), y = axisOf(state.y, state.logy), missing = 0;
  if (!x || !y) {
    runs.forEach(function (run) { run.px = []; });
    return null;
  }
  drawFrame(x, y);
  runs.slice().reverse().forEach(function (run) {
    missing += drawRun(run, run == runs[0], x, y);
  });
  var names = runs.map(drawBest).filter(Boolean).join("; ");
  canvas.setAttribute("aria-label", "every mutant as a point" + (names && ": " + names));
  drawChosen();
  box.dataset.drawn = runs[0].n;
  return missing;
}

// The mutant nearest to a place on the canvas.
function nearest(x, y) {
  var found = null, best = 14 * 14;
  runs.forEach(function (run) {
    for (var i = 0; i < (run.px || []).length; i++) {
      var dx = run.px[i] - x, dy = run.py[i] - y, d = dx * dx + dy * dy;
      if (d < best) { best = d; found = { run: run, i: i }; }
    }
  });
  return found;
}
]==]
