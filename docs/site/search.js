// The search of the manual: sections whose title or text has every word typed, or a word that begins so.
(function () {
  "use strict";
  var form = document.getElementById("search");
  var input = form.querySelector("input"), list = form.querySelector("ol");
  var most = 20;

  // 0: not all words are there; more the nearer they are to the title.
  function score(row, words) {
    var title = (row[0] + " " + row[1]).toLowerCase(), text = " " + row[3], sum = 0;
    for (var i = 0; i < words.length; i++) {
      var at = title.indexOf(words[i]);
      if (at >= 0) sum += 10;
      else if (text.indexOf(" " + words[i] + " ") >= 0) sum += 3;
      else if (text.indexOf(" " + words[i]) >= 0) sum += 1;
      else return 0;
    }
    return sum;
  }

  function show() {
    var words = input.value.toLowerCase().split(/[^\w\u0080-\uffff-]+/).filter(Boolean);
    var found = words.length ? window.giluaIndex.map(function (row, i) {
      return { row: row, i: i, score: score(row, words) };
    }).filter(function (one) { return one.score > 0; }) : [];
    found.sort(function (a, b) { return b.score - a.score || a.i - b.i; });
    list.textContent = "";
    found.slice(0, most).forEach(function (one) {
      var item = document.createElement("li"), link = document.createElement("a");
      link.href = form.dataset.top + one.row[2];
      link.textContent = one.row[0] === one.row[1] ? one.row[0] : one.row[0] + ": " + one.row[1];
      item.appendChild(link);
      list.appendChild(item);
    });
    if (words.length && !found.length) {
      list.appendChild(document.createElement("li")).textContent = "nothing has all these words";
    }
  }

  input.addEventListener("input", show);
  form.addEventListener("submit", function (event) {
    event.preventDefault();
    var first = list.querySelector("a");
    if (first) window.location.href = first.href;
  });
})();
