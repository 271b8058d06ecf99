// Places to redact, which are drawn, moved and resized on the pictures of the pages, with a mouse, a finger or the
// keyboard. The text fields of the pages hold the places, so the form works without this script.
"use strict";
(() => {
  const list = document.querySelector("[data-redact]");
  if (!list) return;
  const status = document.querySelector("[data-announced]");
  const MIN_SIDE = 4; // points
  const STEP = 2, NEW_WIDTH = 0.3, NEW_HEIGHT = 0.02; // points; shares of the page
  const MAX_ATTEMPTS = 5, RETRY_MS = 3000;

  function setUp(card) {
    const page = card.dataset.page, width = Number(card.dataset.width), height = Number(card.dataset.height);
    const paper = card.querySelector("[data-paper]"), field = card.querySelector("[data-places]");
    const shownList = card.querySelector("[data-list]");
    let places = [], elements = [], buttons = [];
    const fill = (text, number) => text.replace("{number}", number).replace("{page}", page);
    const limit = (value, low, high) => Math.min(Math.max(value, low), high);

    function read() {
      places = field.value.split("\n").map((line) => line.trim().split(/[\s,]+/).map(Number))
        .filter((sides) => sides.length === 4 && sides.every(Number.isFinite) && sides[0] < sides[2] && sides[1] < sides[3]);
    }

    function write() {
      field.value = places.map((sides) => sides.map((side) => side.toFixed(1)).join(" ")).join("\n");
    }

    function position(index) {
      const [left, top, right, bottom] = places[index], { style } = elements[index];
      style.left = `${100 * left / width}%`;
      style.top = `${100 * top / height}%`;
      style.width = `${100 * (right - left) / width}%`;
      style.height = `${100 * (bottom - top) / height}%`;
    }

    // A place on the picture is moved with a mouse or a finger, and its button below the page with the keyboard.
    function draw() {
      for (const element of elements) element.remove();
      shownList.replaceChildren();
      elements = places.map((_, index) => {
        const box = Object.assign(document.createElement("div"), { className: "sl-redact-box" });
        box.dataset.number = index + 1;
        box.setAttribute("aria-hidden", "true");
        box.append(Object.assign(document.createElement("span"), { className: "sl-redact-handle" }));
        paper.append(box);
        box.addEventListener("pointerdown", (event) => drag(event, index));
        return box;
      });
      buttons = places.map((_, index) => {
        const item = document.createElement("li"), name = fill(list.dataset.textPlace, index + 1);
        const button = makeButton(name, `${name}. ${list.dataset.textKeys}`);
        const remove = makeButton("\u00d7", fill(list.dataset.textRemove, index + 1));
        button.title = list.dataset.textKeys;
        button.addEventListener("keydown", (event) => press(event, index));
        remove.addEventListener("click", () => removePlace(index));
        for (const each of [button, remove]) {
          each.addEventListener("focus", () => elements[index]?.classList.add("sl-redact-active"));
          each.addEventListener("blur", () => elements[index]?.classList.remove("sl-redact-active"));
        }
        item.append(button, remove);
        shownList.append(item);
        return button;
      });
      elements.forEach((_, index) => position(index));
    }

    function makeButton(textContent, label) {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "sl-button sl-compact", textContent });
      button.setAttribute("aria-label", label);
      return button;
    }

    function change(index, sides) {
      places[index] = sides;
      position(index);
      write();
    }

    function move(index, across, down) {
      const [left, top, right, bottom] = places[index];
      const x = limit(across, -left, width - right), y = limit(down, -top, height - bottom);
      change(index, [left + x, top + y, right + x, bottom + y]);
    }

    function resize(index, across, down) {
      const [left, top, right, bottom] = places[index];
      change(index, [left, top, limit(right + across, left + MIN_SIDE, width), limit(bottom + down, top + MIN_SIDE, height)]);
    }

    function removePlace(index) {
      places.splice(index, 1);
      write();
      draw();
      status.textContent = fill(list.dataset.textRemoved, index + 1);
      (buttons[Math.min(index, buttons.length - 1)] || card.querySelector("[data-add]")).focus();
    }

    function add(sides) {
      places.push(sides);
      write();
      draw();
      status.textContent = fill(list.dataset.textAdded, places.length);
      return places.length - 1;
    }

    function press(event, index) {
      const step = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key];
      if (step) (event.shiftKey ? resize : move)(index, ...step);
      else if (event.key === "Delete" || event.key === "Backspace") removePlace(index);
      else return;
      event.preventDefault();
    }

    // The distance that the pointer moved, in points.
    function follow(event, element, onMove, onEnd) {
      const scale = width / paper.clientWidth;
      let [x, y] = [event.clientX, event.clientY];
      const moved = (next) => {
        onMove((next.clientX - x) * scale, (next.clientY - y) * scale);
        [x, y] = [next.clientX, next.clientY];
      };
      const ended = () => {
        element.removeEventListener("pointermove", moved);
        element.removeEventListener("pointerup", ended);
        element.removeEventListener("pointercancel", ended);
        if (onEnd) onEnd();
      };
      element.setPointerCapture(event.pointerId);
      element.addEventListener("pointermove", moved);
      element.addEventListener("pointerup", ended);
      element.addEventListener("pointercancel", ended);
    }

    function drag(event, index) {
      if (event.button) return;
      event.preventDefault();
      event.stopPropagation();
      buttons[index].focus({ preventScroll: true });
      const isHandle = event.target.classList.contains("sl-redact-handle");
      follow(event, elements[index], (across, down) => (isHandle ? resize : move)(index, across, down));
    }

    // A finger scrolls the page, so only a mouse or a pen draws. The button adds a place for a finger.
    paper.addEventListener("pointerdown", (event) => {
      if (event.button || event.pointerType === "touch") return;
      event.preventDefault();
      const bounds = paper.getBoundingClientRect();
      const left = (event.clientX - bounds.left) / bounds.width * width, top = (event.clientY - bounds.top) / bounds.height * height;
      let right = left, bottom = top, index = -1;
      follow(event, paper, (across, down) => {
        right = limit(right + across, 0, width);
        bottom = limit(bottom + down, 0, height);
        const sides = [Math.min(left, right), Math.min(top, bottom), Math.max(left, right), Math.max(top, bottom)];
        if (sides[2] - sides[0] < MIN_SIDE || sides[3] - sides[1] < MIN_SIDE) return;
        if (index < 0) index = add(sides);
        else change(index, sides);
      }, () => { if (index >= 0) buttons[index].focus({ preventScroll: true }); });
    });

    card.querySelector("[data-add]").addEventListener("click", () => {
      const bounds = paper.getBoundingClientRect();
      // In the middle of what is visible of the page.
      const visible = (Math.max(bounds.top, 0) + Math.min(bounds.bottom, window.innerHeight)) / 2;
      const middle = limit((visible - bounds.top) / bounds.height, 0.1, 0.9);
      const [left, top] = [width * (1 - NEW_WIDTH) / 2, height * (middle - NEW_HEIGHT / 2)];
      const index = add([left, top, left + width * NEW_WIDTH, top + height * NEW_HEIGHT]);
      buttons[index].focus({ preventScroll: true });
    });
    field.addEventListener("change", () => { read(); draw(); });

    // Pages are rendered when they are first viewed, a few at a time. One that was not served is requested again.
    const image = paper.querySelector("img");
    let attempts = 0;
    image.addEventListener("error", () => {
      attempts += 1;
      if (attempts <= MAX_ATTEMPTS) setTimeout(() => { image.src = `${image.src.split("&attempt")[0]}&attempt=${attempts}`; }, RETRY_MS);
    });
    for (const hidden of card.querySelectorAll("[data-tools], [data-list]")) hidden.hidden = false;
    card.querySelector("[data-lines]").open = field.getAttribute("aria-invalid") === "true";
    read();
    draw();
  }

  for (const card of list.children) setUp(card);
})();
