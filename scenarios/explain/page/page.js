(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("js");

  // Colours.
  function stored(value) {
    try {
      if (value === undefined) return localStorage.getItem("chainwalk-theme") || "";
      localStorage.setItem("chainwalk-theme", value);
    } catch (e) { /* a page of a file may have no storage */ }
    return "";
  }
  var themes = document.querySelectorAll("#themes button");
  function theme(name) {
    if (name) root.dataset.theme = name; else delete root.dataset.theme;
    themes.forEach(function (b) { b.setAttribute("aria-pressed", String(b.dataset.theme === name)); });
  }
  themes.forEach(function (b) {
    b.addEventListener("click", function () { theme(b.dataset.theme); stored(b.dataset.theme); });
  });
  theme(stored());

  // Outcomes: of each way one is shown.
  function choose(outcome) {
    var way = outcome.closest(".way");
    way.querySelectorAll(".outcome").forEach(function (o) { o.classList.toggle("chosen", o === outcome); });
    way.querySelectorAll(".outcomes a").forEach(function (a) {
      if (a.hash === "#" + outcome.id) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current");
    });
  }
  document.querySelectorAll(".way").forEach(function (way) {
    var first = way.querySelector(".outcome");
    if (first) choose(first);
  });
  document.addEventListener("click", function (event) {
    var a = event.target.closest(".outcomes a");
    if (!a) return;
    event.preventDefault();
    choose(document.getElementById(a.hash.slice(1)));
    history.replaceState(null, "", a.hash);
  });

  // The list of scenarios: those that a text and a verdict choose.
  var filter = document.getElementById("filter");
  if (filter) {
    var scenarios = [].slice.call(document.querySelectorAll(".scenarios > .scenario"));
    var texts = scenarios.map(function (s) {
      var names = [].map.call(s.querySelectorAll(".name, .file, .check > h3"), function (e) { return e.textContent; });
      return names.join("\n").toLowerCase();
    });
    var verdict = "";
    var apply = function () {
      var text = filter.elements.text.value.trim().toLowerCase(), shown = 0;
      scenarios.forEach(function (s, i) {
        s.hidden = verdict !== "" && s.dataset.verdict !== verdict || texts[i].indexOf(text) < 0;
        if (!s.hidden) shown++;
      });
      filter.querySelector("output").textContent = shown + " of " + scenarios.length;
    };
    filter.addEventListener("input", apply);
    filter.addEventListener("submit", function (event) { event.preventDefault(); });
    filter.querySelectorAll("button").forEach(function (b) {
      b.addEventListener("click", function () {
        verdict = b.dataset.verdict;
        filter.querySelectorAll("button").forEach(function (o) { o.setAttribute("aria-pressed", String(o === b)); });
        apply();
      });
    });
    apply();
  }

  // A place in the page: what hides it is opened.
  function reveal() {
    var place = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place) return;
    for (var e = place; e; e = e.parentElement) {
      if (e.tagName === "DETAILS") e.open = true;
      if (e.classList.contains("outcome")) choose(e);
      if (e.hidden) e.hidden = false;
    }
    place.scrollIntoView({ block: "center" });
    if (place.tabIndex < 0 && place.hasAttribute("tabindex")) place.focus({ preventScroll: true });
  }
  window.addEventListener("hashchange", reveal);
  reveal();
})();
