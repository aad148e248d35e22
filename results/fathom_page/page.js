"use strict";

// Theme: the system's theme until the reader picks one.
const root = document.documentElement;
const themeButton = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
const nameTheme = () => { themeButton.textContent = isDark() ? "Light" : "Dark"; };
try {
  const kept = localStorage.getItem("fathom-theme");
  if (kept) root.dataset.theme = kept;
} catch { /* browsers may refuse storage for files */ }
themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try { localStorage.setItem("fathom-theme", root.dataset.theme); } catch { /* same reason */ }
  nameTheme();
});
system.addEventListener("change", nameTheme);
nameTheme();

// On a phone, the figures come first.
if (innerWidth < 640) document.getElementById("about").open = false;

// Enlarged figures.
const dialog = document.querySelector("dialog");
const stage = dialog.querySelector(".stage");
function enlarge(section) {
  dialog.querySelector("h2").textContent = section.querySelector("h2").textContent;
  stage.replaceChildren(section.querySelector(".plot svg").cloneNode(true));
  dialog.showModal();
}
for (const plot of document.querySelectorAll(".plot")) {
  const section = plot.closest("section");
  plot.addEventListener("click", () => enlarge(section));
  section.querySelector("button[data-enlarge]").addEventListener("click", () => enlarge(section));
  plot.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // otherwise Enter also presses the button of the dialog
    enlarge(section);
  });
}
dialog.addEventListener("close", () => stage.replaceChildren());

// Figures and tables that are wider than the page fade out at the right until they are scrolled to their end.
for (const box of document.querySelectorAll(".plot, .scroll")) {
  const mark = () => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  box.addEventListener("scroll", mark);
  new ResizeObserver(mark).observe(box);
}

// Downloads, made from the content of the page.
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
function svgOf(section) {
  const svg = section.querySelector(".plot svg").cloneNode(true);
  const { width, height } = svg.viewBox.baseVal;
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("color", "#1b1e23");
  const text = '<?xml version="1.0" encoding="utf-8"?>\n' + new XMLSerializer().serializeToString(svg);
  return { width, height, blob: new Blob([text], { type: "image/svg+xml" }) };
}
async function pngOf(section) {
  const { width, height, blob } = svgOf(section);
  const image = new Image();
  image.src = URL.createObjectURL(blob);
  await image.decode();
  const scale = 1600 / width;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#ffffff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
function csvOf(section) {
  const text = JSON.parse(section.querySelector("script.csv").textContent);
  return new Blob([text], { type: "text/csv" });
}
const makers = { svg: async (section) => svgOf(section).blob, png: pngOf, csv: async (section) => csvOf(section) };
for (const button of document.querySelectorAll("button[data-save]")) {
  const section = button.closest("section");
  const kind = button.dataset.save;
  button.addEventListener("click", async () => save(await makers[kind](section), `${section.id}.${kind}`));
}

// Tables: a click on a heading sorts (numbers: largest first); a search shows the rows with all words.
const numberOf = (cell) => (cell === "" ? NaN : Number(cell.replace(/[\u202f>]/g, "")));
function sort(heading) {
  const column = heading.cellIndex;
  const body = heading.closest("table").tBodies[0];
  const isNumber = heading.classList.contains("n");
  const up = heading.ariaSort ? heading.ariaSort === "descending" : !isNumber;
  for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
  heading.ariaSort = up ? "ascending" : "descending";
  const sign = up ? 1 : -1;
  const rows = Array.from(body.rows, (row) => {
    const text = row.cells[column].textContent;
    return { row, key: isNumber ? numberOf(text) : text };
  });
  rows.sort(({ key: a }, { key: b }) => {
    if (!isNumber) return sign * a.localeCompare(b, "en", { numeric: true });
    return Number.isNaN(a) - Number.isNaN(b) || sign * (a - b) || 0; // missing values stay last
  });
  body.append(...rows.map(({ row }) => row));
}
for (const heading of document.querySelectorAll("th")) {
  heading.firstElementChild.addEventListener("click", () => sort(heading));
}
for (const box of document.querySelectorAll(".search input")) {
  const section = box.closest("section");
  const rows = Array.from(section.querySelector("tbody").rows);
  const texts = rows.map((row) => Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase());
  const output = box.closest(".search").querySelector("output");
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/);
    let shown = 0;
    rows.forEach((row, index) => {
      row.hidden = !words.every((word) => texts[index].includes(word));
      shown += !row.hidden;
    });
    section.querySelector("details").open = true;
    output.textContent = `${shown} of ${rows.length} rows`;
  });
}
