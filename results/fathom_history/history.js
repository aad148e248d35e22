
// Trends: a filter shows the rows with all words in their name, or only changed rows.
for (const filter of document.querySelectorAll(".filter")) {
  const [words, changed] = filter.querySelectorAll("input");
  const cards = Array.from(filter.parentNode.querySelectorAll(".grid > section"));
  const output = filter.querySelector("output");
  const texts = cards.map((card) => `${card.dataset.name} ${card.querySelector(".source").textContent}`.toLowerCase());
  filter.hidden = false;
  const show = () => {
    const wanted = words.value.toLowerCase().split(/\s+/);
    let shown = 0;
    cards.forEach((card, index) => {
      card.hidden = !wanted.every((word) => texts[index].includes(word)) || (changed.checked && !("changed" in card.dataset));
      shown += !card.hidden;
    });
    output.textContent = `${shown} of ${cards.length} rows`;
  };
  filter.addEventListener("input", show);
}

// The values of a run, chosen with the pointer or the arrow keys, are shown below its chart.
const unitOf = (us) => [[1e6, "s"], [1e3, "ms"]].find(([size]) => us >= size) ?? [1, "µs"];
function timeOf(us) {
  const [size, name] = unitOf(us);
  return `${Number((us / size).toPrecision(4))} ${name}`;
}
const held = (place) => JSON.parse(place.textContent);
function readOut(runs, values, run) {
  const [date, commit] = runs[run];
  const us = values.us[run];
  if (us === null) return `${date} · ${commit} · row is missing`;
  const spread = values.low && values.low[run] < values.high[run]
    ? ` (${timeOf(values.low[run])} to ${timeOf(values.high[run])})` : "";
  const types = Object.entries(values.types).filter(([, times]) => times[run] !== null)
    .map(([name, times]) => `${name} ${timeOf(times[run])}`);
  return [date, commit, timeOf(us) + spread, types.join(", ")].filter(Boolean).join(" · ");
}
for (const trends of document.querySelectorAll(".trends")) {
  const runs = held(trends.querySelector(".runs"));
  for (const card of trends.querySelectorAll(".grid > section")) {
    const svg = card.querySelector(".plot svg");
    const left = Number(svg.dataset.left), step = Number(svg.dataset.step);
    const output = card.querySelector(".readout");
    let values = null, cursor = null, at = runs.length - 1;
    const show = (run) => {
      at = Math.min(Math.max(run, 0), runs.length - 1);
      values ??= held(card.querySelector(".values"));
      if (!cursor) {
        cursor = document.createElementNS(svg.namespaceURI, "path");
        cursor.setAttribute("stroke", "currentColor");
        cursor.setAttribute("stroke-opacity", ".5");
        cursor.setAttribute("class", "cursor");
      }
      const x = left + (at + 0.5) * step;
      cursor.setAttribute("d", `M${x} 30V${svg.viewBox.baseVal.height - 20}`);
      svg.append(cursor);
      output.textContent = readOut(runs, values, at);
    };
    const hide = () => { cursor?.remove(); };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      show(Math.floor(((event.clientX - box.left) * svg.viewBox.baseVal.width / box.width - left) / step));
    });
    svg.addEventListener("pointerleave", hide);
    const plot = card.querySelector(".plot");
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!move) return;
      event.preventDefault();
      show(at + (cursor ? move : 0));
    });
  }
}
