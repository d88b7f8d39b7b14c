-- laboratorymutant: the second part of the laboratory's script: the selected mutant: its figures,
-- errors, relatives and genes in words, its source beside its parent's and the original's, and
-- buttons if there is a server.

return [==[
// A mutant's story ------------------------------------------------------------------------------

function asked(run, path) {
  return fetch(run.base + path, { cache: "no-store" }).then(function (answer) {
    return answer.ok ? answer.json() : answer.text().then(function (why) { throw why; });
  });
}

// What is known of a mutant beside its numbers: from the page, or from the server; null: nothing.
function storyOf(run, id) {
  if (id == null) return Promise.resolve(null);
  if (run.records[id]) return Promise.resolve(run.records[id]);
  if (run.base == null) return Promise.resolve(null);
  return asked(run, "mutant/" + id).then(function (record) {
    return (run.records[id] = record);
  });
}

function childrenOf(run) {
  if (!run.children) {
    run.children = new Map();
    ["first", "second"].forEach(function (side) {
      run.column[side].forEach(function (parent, i) {
        if (parent == null || side == "second" && run.column.first[i] == parent) return;
        if (!run.children.has(parent)) run.children.set(parent, []);
        run.children.get(parent).push(i);
      });
    });
  }
  return run.children;
}

function descendantsOf(run, id) {
  var children = childrenOf(run), seen = new Set(), todo = [id];
  while (todo.length) {
    (children.get(todo.pop()) || []).forEach(function (i) {
      var child = run.column.id[i];
      if (!seen.has(child)) { seen.add(child); todo.push(child); }
    });
  }
  return seen.size;
}

function sentence(run, i) {
  var gain = run.column.gain[i], c = run.column;
  return c.id[i] + ", generation " + c.generation[i] + ", " + wordOf(run, "birth", i) + ": "
    + plain(wordOf(run, "outcome", i)) + (gain ? ", " + gain.toFixed(3) + "×" : "")
    + (c.error[i] != null ? ", mean error " + figure(c.error[i]) : "");
}

function choose(id) {
  state.mutant = String(id);
  keep();
  redraw();
  show();
}

// A link to a mutant, with its gain.
function link(run, i) {
  var gain = run.column.gain[i], id = run.column.id[i];
  return el("a", { href: "#mutant=" + id, title: sentence(run, i), onclick: function (event) {
    event.preventDefault();
    choose(id);
  } }, id + (gain ? " (" + gain.toFixed(2) + "×)" : " (" + plain(wordOf(run, "outcome", i)) + ")"));
}

function links(run, list, most) {
  var span = el("span");
  list.slice(0, most).forEach(function (i, k) { span.append(k ? ", " : "", link(run, i)); });
  if (list.length > most) span.append(" and " + grouped(list.length - most) + " more");
  return span;
}

function family(run, i) {
  var id = run.column.id[i], first = run.at.get(run.column.first[i]);
  var second = run.at.get(run.column.second[i]), children = childrenOf(run).get(id) || [];
  var parents = [first, second].filter(function (p, k) {
    return p != null && (k == 0 || p != first);
  });
  var all = descendantsOf(run, id), p = el("p", { "class": "family" });
  if (parents.length) p.append("Parents: ", links(run, parents, 2), ". ");
  p.append(children.length ? "Children: " : "No children here.");
  if (children.length) p.append(links(run, children, 12), ". " + grouped(all)
    + (all == 1 ? " descendant in all." : " descendants in all."));
  return p;
}

// The sentences about wrong answers.
function wrongness(record) {
  var f = record.figures || {}, p = el("p", { "class": "wrongness" });
  if (record.message) p.append(el("code", {}, record.message), " ");
  if (f.off > 0) p.append(figure(100 * f.off) + " % of its " + grouped(f.n || 0)
    + " answers are outside the tolerance; the largest error is " + figure(f.max_error) + ". ");
  if (f.unset > 0) p.append(figure(100 * f.unset) + " % of the answers were never written. ");
  if (record.small) p.append("That is of the small case: it was measured no further. ");
  return p.childNodes.length ? p : null;
}

function fact(name, value) { return el("span", {}, el("b", {}, name), " " + value); }

function facts(run, i, record) {
  var f = (record || {}).figures || {}, c = run.column, box = el("p", { "class": "facts" });
  [["times faster", c.gain[i]], ["registers", c.registers[i]], ["ticks", f.ticks],
    ["microseconds", f.ns && f.ns / 1000], ["mean error", c.error[i]],
    ["largest error", c.max_error[i]], ["shared bytes", f.shared_bytes], ["fitness", c.fitness[i]],
    ["samples", record && record.samples_ns && record.samples_ns.length]].forEach(function (pair) {
    if (pair[1] != null) box.append(fact(pair[0], figure(pair[1])), " ");
  });
  if (record && record.case) box.append(fact("case", record.case));
  return box;
}

// Source beside source --------------------------------------------------------------------------

// What a version has for each line of the original: text that stands before it, and in its place.
function laidOut(source, changes) {
  var before = [], own = source.slice();
  (changes || []).forEach(function (piece) {
    var at = piece[0] - 1, old = piece[1], text = piece[2];
    for (var k = 0; k < old; k++) own[at + k] = k < text.length ? text[k] : null;
    if (text.length > old) before[at + old] = text.slice(old);
  });
  return { before: before, own: own };
}

// Rows of lines beside each other; `changed` where one is not the original's.
function rowsOf(source, versions) {
  var rows = [], laid = versions.map(function (v) { return laidOut(source, v); });
  for (var i = 0; i <= source.length; i++) {
    var most = Math.max.apply(null, laid.map(function (l) { return (l.before[i] || []).length; }));
    for (var k = 0; k < most; k++) {
      rows.push({ line: null, changed: true, text: laid.map(function (l) {
        var text = (l.before[i] || [])[k];
        return text == null ? null : text;
      }) });
    }
    if (i == source.length) break;
    var text = laid.map(function (l) { return l.own[i]; });
    rows.push({ line: i + 1, text: text, changed: text.some(function (t) {
      return t !== source[i];
    }) });
  }
  var own = 0;
  rows.forEach(function (row) { row.own = row.text[0] == null ? null : ++own; });
  return rows;
}

// Shows all rows, or those near a change and those that take a share of the instructions.
function near(rows, whole) {
  if (whole) return rows;
  return rows.filter(function (_, i) {
    for (var k = Math.max(0, i - 3); k <= Math.min(rows.length - 1, i + 3); k++) {
      if (rows[k].changed || rows[k].share > 0.01) return true;
    }
    return false;
  });
}

function sourceTable(run, titles, versions, id, whole) {
  var source = run.head.source, profile = run.profiles[id], last = null;
  var head = el("tr", {}, el("th", {}, "line"));
  if (profile) head.append(el("th", { "class": "part" }, "% of instructions"));
  titles.forEach(function (title) { head.append(el("th", {}, title)); });
  var body = el("tbody");
  var rows = rowsOf(source, versions);
  rows.forEach(function (row) { row.share = profile && row.own && profile[row.own] || 0; });
  near(rows, whole).forEach(function (row) {
    if (last != null && row.line && row.line > last + 1) {
      body.append(el("tr", { "class": "gap" }, el("td", {}, "⋯")));
    }
    last = row.line || last;
    var tr = el("tr", {}, el("td", { "class": "r" }, row.line == null ? "" : String(row.line)));
    if (profile) {
      tr.append(el("td", { "class": "r" }, row.share ? (100 * row.share).toFixed(1) : ""));
      if (row.share) {
        tr.lastChild.style.background = "rgba(213,94,0," + Math.min(0.8, row.share * 3) + ")";
      }
    }
    row.text.forEach(function (text) {
      var original = row.line == null ? null : source[row.line - 1];
      var kind = text == null ? "none" : text === original ? "" : "add";
      tr.append(el("td", { "class": kind }, text == null ? "" : text));
    });
    body.append(tr);
  });
  return el("div", { "class": "wide sources" }, el("table", {}, el("thead", {}, head), body));
}

function sources(run, i, record, parent) {
  if (!run.head.source || !record || !record.changes) {
    return el("p", { "class": "note" }, record && record.unfit ? "Its source is not known: "
      + record.unfit : run.base == null ? "This page keeps the source of the foremost mutants; "
      + "gilua show RUN " + run.column.id[i] + " tells of this one, and so does gilua watch RUN."
      : "Its source is not known.");
  }
  var titles = ["mutant " + run.column.id[i]], versions = [record.changes];
  if (parent && parent.changes) {
    titles.push("its parent, " + parent.id);
    versions.push(parent.changes);
  }
  titles.push(run.head.file + " as it is");
  versions.push([]);
  var place = el("div"), all = el("input", { type: "checkbox" });
  function fill() { place.replaceChildren(sourceTable(run, titles, versions, record.id,
    all.checked)); }
  all.addEventListener("change", fill);
  run.refill = fill;
  fill();
  return el("div", {}, el("label", {}, all, " all lines"), place);
}

// Buttons ---------------------------------------------------------------------------------------

// Follows a command that the server runs, and shows what it prints.
function follow(run, job, place, done) {
  asked(run, "job/" + job).then(function (now) {
    place.querySelector("pre").textContent = now.output;
    if (now.status == null) return setTimeout(follow, 1000, run, job, place, done);
    place.querySelector("b").textContent = now.status == 0 ? "Done." : "Ended with status "
      + now.status + ".";
    if (done) done(now);
  }).catch(function (why) { place.querySelector("b").textContent = String(why); });
}

// Makes a button that shows the command, and starts it when it is pressed once more.
function action(run, title, path, place, done) {
  return el("button", { type: "button", onclick: function () {
    asked(run, "do/" + path).then(function (told) {
      var go = el("button", { type: "button", onclick: function () {
        go.remove();
        place.append(el("b", {}, "Under way …"), el("pre"));
        fetch(run.base + "do/" + path, { method: "POST" }).then(function (answer) {
          return answer.ok ? answer.json() : answer.text().then(function (why) { throw why; });
        }).then(function (begun) { follow(run, begun.job, place, done); })
          .catch(function (why) { place.querySelector("b").textContent = String(why); });
      } }, "Run it");
      place.replaceChildren(el("p", {}, "This runs the problem's code on the server's machine: ",
        el("code", {}, told.command), " "), go);
    }).catch(function (why) { place.replaceChildren(String(why)); });
  } }, title);
}

function buttons(run, id, record, place) {
  if (!run.head.acts) return null;
  var isWrong = record && record.figures && record.figures.off > 0;
  return el("p", { "class": "buttons" },
    isWrong ? action(run, "Where it is wrong", "where/" + id, place) : null, " ",
    action(run, "Verify", "verify/" + id, place), " ",
    action(run, "Go on from this one", "evolve/" + id, place), " ",
    action(run, "Profile by line", "profile/" + id, place, function (now) {
      run.profiles[id] = now.lines || {};
      if (run.refill) run.refill();
    }));
}

function genesList(run, i, record, place) {
  var list = el("dl"), texts = (record || {}).genes || [];
  genesOf(run, i).forEach(function (gene, k) {
    var words = texts.find(function (one) { return one.gene == gene; });
    list.append(el("dt", {}, el("code", {}, gene), " ", el("button", { type: "button",
      title: "show the mutants that have this gene", onclick: function () {
        set("gene", gene);
      } }, "who has it"), run.head.acts ? " " : null, run.head.acts ? action(run, "knock it out",
      "knock/" + run.column.id[i] + "/" + (k + 1), place) : null));
    if (words) {
      var told = el("dd");
      words.text.split("`").forEach(function (part, n) {
        told.append(n % 2 ? el("code", {}, part) : part);
      });
      list.append(told);
    }
  });
  return list;
}

// Shows the mutant that was chosen.
function show() {
  var run = runs[0], i = run.at.get(+state.mutant), panel = box.querySelector(".mutant");
  if (i == null) return panel.replaceChildren();
  if (run.base != null) document.body.dataset.busy = "yes"; // new mutants come without a reload
  var id = run.column.id[i], parent = run.column.first[i];
  panel.dataset.asked = id;
  Promise.all([storyOf(run, id), storyOf(run, parent).catch(function () { return null; })])
    .catch(function (why) {
      return [{ unfit: String(why) }, null];
    }).then(function (both) {
      if (String(id) != state.mutant) return;
      var record = both[0], place = el("div", { "class": "job" });
      var kin = family(run, i);
      run.refresh = function () { // more mutants have come, and may be its children
        if (kin.isConnected) kin.replaceWith(kin = family(run, i));
      };
      panel.replaceChildren(el("h3", {}, "Mutant " + sentence(run, i)),
        facts(run, i, record), (record && wrongness(record)) || "", kin,
        buttons(run, id, record, place) || "", place, genesList(run, i, record, place),
        sources(run, i, record, both[1]));
      panel.dataset.shown = id;
    });
}

]==]
