// Boundaries between documents that are moved by dragging or with the arrow keys. The select fields of the pages
// hold the division, so the form works without this script.
"use strict";
(() => {
  const list = document.querySelector("[data-cut]");
  if (!list) return;
  const cards = Array.from(list.children);
  const status = document.querySelector("[data-moved]");
  const useOf = (card) => card.querySelector("select[name^=use-]");
  const typeOf = (card) => card.querySelector("select[name^=type-]");
  const MAX_ATTEMPTS = 5, RETRY_MS = 3000;
  let dragged = null; // the card whose beginning is dragged

  function update() {
    let number = 0;
    for (const card of cards) {
      const use = useOf(card).value, begins = use === "begins";
      if (begins) number += 1;
      card.classList.toggle("sl-cut-begins", begins);
      card.classList.toggle("sl-cut-excluded", !begins && use !== "continues");
      card.querySelector("[data-number]").textContent = begins ? list.dataset.textDocument.replace("{number}", number) : "";
      for (const field of card.querySelectorAll("[data-shown-for]")) field.hidden = field.dataset.shownFor !== use;
      card.querySelector("[data-handle]").hidden = !begins;
    }
  }

  // Move the beginning of a document to another page, but not past the beginning of another document.
  function move(from, to) {
    const [low, high] = from < to ? [from + 1, to] : [to, from - 1];
    if (to < 0 || to >= cards.length || from === to) return false;
    if (cards.slice(low, high + 1).some((card) => useOf(card).value === "begins")) return false;
    const isFirst = !cards.slice(0, from).some((card) => useOf(card).value === "begins");
    if (isFirst && to > from) return false; // the pages before it would belong to no document
    useOf(cards[to]).value = "begins";
    typeOf(cards[to]).value = typeOf(cards[from]).value;
    useOf(cards[from]).value = "continues";
    typeOf(cards[from]).value = "";
    for (const card of cards.slice(low, high)) useOf(card).value = "continues";
    update();
    status.textContent = list.dataset.textMoved.replace("{page}", cards[to].dataset.page);
    cards[to].querySelector("[data-handle]").focus();
    return true;
  }

  // Pages are rendered when they are first viewed, a few at a time. One that was not served is requested again.
  for (const image of list.querySelectorAll("img")) {
    let attempts = 0;
    image.addEventListener("error", () => {
      attempts += 1;
      if (attempts <= MAX_ATTEMPTS) setTimeout(() => { image.src = `${image.src.split("?")[0]}?attempt=${attempts}`; }, RETRY_MS);
    });
  }

  for (const [index, card] of cards.entries()) {
    // Not a button element, because browsers do not start a drag on one.
    const handle = Object.assign(document.createElement("span"), { className: "sl-cut-handle", draggable: true, tabIndex: 0, textContent: "\u2194" });
    handle.dataset.handle = "";
    handle.setAttribute("role", "button");
    handle.setAttribute("aria-label", list.dataset.textMove);
    handle.title = list.dataset.textMove;
    card.querySelector("fieldset").prepend(handle);
    handle.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step && move(index, index + step)) event.preventDefault();
    });
    handle.addEventListener("dragstart", (event) => {
      dragged = index;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", card.dataset.page);
    });
    handle.addEventListener("dragend", () => {
      dragged = null;
      for (const each of cards) each.classList.remove("sl-cut-target");
    });
    card.addEventListener("dragover", (event) => {
      if (dragged === null) return;
      event.preventDefault();
      card.classList.add("sl-cut-target");
    });
    card.addEventListener("dragleave", () => card.classList.remove("sl-cut-target"));
    card.addEventListener("drop", (event) => {
      if (dragged === null) return;
      event.preventDefault();
      move(dragged, index);
    });
  }
  list.addEventListener("change", update);
  update();
})();
