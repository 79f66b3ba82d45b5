// The page of a trace or a run, in a shadow root of its own: its style sheet and its identifiers are not the playground's.
import css from "page.css";

// A shadow root has neither :root nor body.
const sheet = new CSSStyleSheet();
sheet.replaceSync(css.replace(/:root\b/g, ":host").replace(/^(html|body|main) \{/gm, ".$1 {") + `
  .body { background: none; }
  .main { padding: 0; max-width: none; }
  h1 { font-size: 1.15rem; }
  .outcome { padding-inline: .55rem; }
  .stop.end { padding: .6rem .25rem; font-size: .78rem; }
  .lines > li { grid-template-columns: minmax(0, 14rem) minmax(0, 1fr); }
`);

/** way shows bodies of pages in an element. */
export function way(host) {
  const root = host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [sheet];
  let chosen = 0; // the place of the outcome that is shown, which stays as one types

  function choose(outcome, of) {
    const all = [...of.querySelectorAll(".outcome")];
    for (const one of all) one.classList.toggle("chosen", one === outcome);
    for (const link of of.querySelectorAll(".outcomes a")) {
      if (link.getAttribute("href") === "#" + outcome.id) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    }
    return all.indexOf(outcome);
  }

  function reveal(place) {
    for (let e = place; e; e = e.parentElement) {
      if (e.tagName === "DETAILS") e.open = true;
      if (e.classList.contains("outcome")) choose(e, e.closest(".way"));
    }
    place.scrollIntoView({ block: "center" });
    if (place.hasAttribute("tabindex")) place.focus({ preventScroll: true });
  }

  root.addEventListener("click", event => {
    const link = event.target.closest("a[href^='#']");
    if (!link) return;
    event.preventDefault();
    const place = root.getElementById(link.getAttribute("href").slice(1));
    if (!place) return;
    if (link.closest(".outcomes")) chosen = choose(place, place.closest(".way")); else reveal(place);
  });

  return {
    root,
    clear() { root.replaceChildren(); },
    /** show puts a body in, in which all that others wrote is escaped. Its style attributes are set one by one, as the policy wants it. */
    show(body) {
      const read = new DOMParser().parseFromString(body.replaceAll(" style=\"", " data-style=\""), "text/html");
      for (const script of read.querySelectorAll("script, style, link, iframe")) script.remove();
      const wrapper = document.createElement("div");
      wrapper.className = "js body main";
      wrapper.append(...read.body.childNodes);
      for (const styled of wrapper.querySelectorAll("[data-style]")) styled.style.cssText = styled.dataset.style;
      root.replaceChildren(wrapper);
      for (const one of root.querySelectorAll(".way")) {
        const outcomes = one.querySelectorAll(".outcome");
        if (outcomes.length) choose(outcomes[Math.min(chosen, outcomes.length - 1)], one);
      }
    },
  };
}
