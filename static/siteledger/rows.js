// The rows of the upload form: each shows one file, the document type chosen for it, and messages about
// both. `upload.js` sends the files.
"use strict";
globalThis.slRows = (form) => {
  const accepted = form.dataset.accept.split(","), largest = Number(form.dataset.largest);
  const blank = form.querySelector("[data-template]").innerHTML;
  // Return the translated sentence in the form's attribute data-text-NAME, with its {placeholders} replaced.
  const text = (name, values = {}) => form.dataset[`text${name}`].replace(/\{(\w+)\}/g, (_, key) => values[key]);
  const megabytes = (bytes) => (bytes < 1e5 ? `${Math.max(1, Math.round(bytes / 1e3))} KB` : `${(bytes / 1e6).toFixed(1)} MB`);
  const inRow = (entry, name) => entry.row.querySelector(`[data-${name}]`);
  const select = (entry) => entry.row.querySelector("select");

  // As `ingestion.rules.classification.classify.guess_type`: the longest hint that stands in the file's name.
  function byName(name, options) {
    const words = ` ${name.toLowerCase().replace(/[^a-z0-9]+/g, " ")} `;
    let best = "", type = "";
    for (const option of options) {
      for (const hint of (option.dataset.words || "").split("|")) {
        if (hint.length > best.length && words.includes(` ${hint} `)) [best, type] = [hint, option.value];
      }
    }
    return type;
  }

  function faultOf(file) {
    const ending = file.name.slice(file.name.lastIndexOf(".")).toLowerCase();
    if (!accepted.includes(ending)) return text("WrongKind");
    if (file.size === 0) return text("EmptyFile");
    if (file.size > largest) return text("TooLarge", { size: megabytes(file.size), limit: megabytes(largest) });
    return "";
  }

  function drawn(file, key) {
    const holder = document.createElement("template");
    holder.innerHTML = blank.replaceAll("__n__", key);
    const entry = { row: holder.content.firstElementChild, key, name: file.name, size: file.size, file, loaded: 0 };
    inRow(entry, "filename").textContent = file.name;
    inRow(entry, "size").textContent = megabytes(file.size);
    for (const label of entry.row.querySelectorAll("[data-file-label]")) label.textContent = label.textContent.replace("{name}", () => file.name);
    select(entry).value = byName(file.name, select(entry).options);
    entry.chosen = false;
    return entry;
  }

  // What the link to this page says of the document that is wanted.
  function prefill(entry) {
    const { type, person } = form.dataset;
    if (type) select(entry).value = type;
    entry.chosen = Boolean(type);
    if (person) entry.row.querySelector("input").value = person;
  }

  // Its inputs are named by the file once the server has it.
  function named(entry, key) {
    for (const node of [entry.row, ...entry.row.querySelectorAll("[id], [for], [name], [aria-describedby]")]) {
      for (const name of ["id", "for", "name", "aria-describedby"]) {
        if (node.hasAttribute(name)) node.setAttribute(name, node.getAttribute(name).replaceAll(`-${entry.key}`, `-${key}`));
      }
    }
    entry.key = entry.row.dataset.row = key;
  }

  function showPerson(entry) {
    inRow(entry, "person").hidden = !("perPerson" in (select(entry).selectedOptions[0]?.dataset || {}));
  }

  function fault(entry, message) {
    entry.fault = message;
    inRow(entry, "fault").textContent = message;
    for (const input of entry.row.querySelectorAll("select, input")) input.removeAttribute("aria-invalid");
    if (message) select(entry).setAttribute("aria-invalid", "true");
  }

  function status(entry, sentence) { inRow(entry, "status").textContent = sentence; }

  function hint(entry) {
    const guess = entry.guess && [...select(entry).options].find((option) => option.value === entry.guess);
    let sentence = "";
    if (guess && select(entry).value === entry.guess) sentence = text("TypeDetected");
    else if (guess) sentence = text("TypeDiffers", { type: guess.textContent });
    else if (entry.looked && !entry.chosen) sentence = text(select(entry).value ? "TypeFromName" : "TypeUnknown");
    inRow(entry, "hint").textContent = sentence;
  }

  return { text, drawn, prefill, named, faultOf, fault, status, hint, showPerson, inRow, select, megabytes };
};
