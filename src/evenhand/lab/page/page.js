"use strict";
// Tables sort by the buttons in their headers; what is not known comes last, whichever the order.
for (const table of document.querySelectorAll("table.sortable")) {
  const headers = Array.from(table.tHead.rows[0].cells);
  headers.forEach((header, place) => {
    const button = header.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const numbers = header.dataset.numbers !== undefined;
      const before = header.getAttribute("aria-sort");
      const first = numbers && header.dataset.numbers === "down" ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = before === first ? other : first;
      for (const h of headers) if (h.hasAttribute("aria-sort")) h.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const key = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent.trim();
      const rows = Array.from(table.tBodies[0].rows);
      rows.sort((a, b) => {
        if (!numbers) return sign * key(a).localeCompare(key(b), undefined, { numeric: true });
        const [x, y] = [parseFloat(key(a)), parseFloat(key(b))];
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        return sign * (x - y);
      });
      table.tBodies[0].append(...rows);
    });
  });
}
// The points of a chart are one stop of the tab key; the arrow keys go from point to point.
for (const group of document.querySelectorAll(".points")) {
  const points = Array.from(group.children);
  const spot = (p) => { const box = p.querySelector(".target"); return Number(box.getAttribute("cx")); };
  points.sort((a, b) => spot(a) - spot(b));
  let current = points.find((p) => p.classList.contains("chosen")) ?? points[0];
  const settle = (p) => { current = p; for (const q of points) q.setAttribute("tabindex", q === p ? "0" : "-1"); };
  if (current) settle(current);
  group.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    settle(points[(points.indexOf(current) + step + points.length) % points.length]);
    current.focus();
  });
}
// Whatever is cut off at the side says so.
const boxes = Array.from(document.querySelectorAll(".scroll"));
const look = () => {
  for (const box of boxes) {
    const cut = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("cut", cut);
    if (box.previousElementSibling?.classList.contains("hint")) box.previousElementSibling.hidden = !cut;
  }
};
look();
addEventListener("resize", look);
for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", look);
