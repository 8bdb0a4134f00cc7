"use strict";
const filter = document.querySelector(".filter");
const boxes = [...filter.querySelectorAll("[type=checkbox]")];
const search = filter.querySelector("[type=search]");
const output = filter.querySelector("output");
const rows = [...document.querySelectorAll("tr[data-verdict]")];
const tables = [...document.querySelectorAll(".scroll:has(.checks)")];
const texts = rows.map((row) => row.textContent.toLowerCase());

function apply() {
  const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
  const words = search.value.toLowerCase().split(/\s+/);
  let shown = 0;
  rows.forEach((row, index) => {
    row.hidden = !verdicts.has(row.dataset.verdict) || !words.every((word) => texts[index].includes(word));
    shown += row.hidden ? 0 : 1;
  });
  tables.forEach((table) => (table.hidden = !table.querySelector("tr[data-verdict]:not([hidden])")));
  output.value = `${shown} of ${rows.length} shown`;
}

filter.addEventListener("input", apply);
filter.addEventListener("submit", (event) => event.preventDefault());
filter.hidden = false;
apply();
