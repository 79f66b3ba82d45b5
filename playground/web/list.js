// Lists of buttons of which one has the focus: the arrows go from one to the next, so that Tab leaves the list.

/** listOf fills a list with buttons. Each item has a label (the parts of its text, by class) and what is done. */
export function listOf(list, items, note) {
  list.replaceChildren();
  items.forEach((item, i) => {
    const entry = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.tabIndex = i ? -1 : 0;
    for (const [tag, name, text] of item.parts) {
      const part = document.createElement(tag);
      if (name) part.className = name;
      part.textContent = text;
      button.append(part);
    }
    if (item.current) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => item.chosen());
    entry.append(button);
    list.append(entry);
  });
  if (note) {
    const entry = document.createElement("li");
    entry.className = "more";
    entry.textContent = note;
    list.append(entry);
  }
}

/** arrows lets the arrows move through a list, once for each list. */
export function arrows(list) {
  list.addEventListener("keydown", event => {
    const buttons = [...list.querySelectorAll("button")], at = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (at < 0 || to === undefined || !buttons[to]) return;
    event.preventDefault();
    for (const button of buttons) button.tabIndex = -1;
    buttons[to].tabIndex = 0;
    buttons[to].focus();
  });
}

/** packetList shows packets with what they are of. */
export function packetList(list, packets, { current, chosen, note }) {
  listOf(list, packets.map(p => ({
    parts: [["code", "", p.packet], ...(p.of ? [["span", "of", p.of]] : [])], current: p.packet === current, chosen: () => chosen(p.packet),
  })), note);
}
