// The rows of the upload form: what each says of its file, and of what was chosen for it. What becomes
// of the files is told by `upload.js`.
"use strict";
globalThis.slRows = (form) => {
  const accepted = form.dataset.accept.split(","), largest = Number(form.dataset.largest);
  const blank = form.querySelector("[data-template]").innerHTML;
  const megabytes = (bytes) => (bytes < 1e5 ? `${Math.max(1, Math.round(bytes / 1e3))} KB` : `${(bytes / 1e6).toFixed(1)} MB`);
  const inRow = (entry, name) => entry.row.querySelector(`[data-${name}]`);
  const select = (entry) => entry.row.querySelector("select");

  // As `ingestion.rules.classify.guess_type`: the longest hint that stands in the file's name.
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
    if (!accepted.includes(ending)) return "Not a PDF or a scan. Save it as a PDF and add it again.";
    if (file.size === 0) return "The file is empty. Open it on your side, save it and add it again.";
    if (file.size > largest) return `The file is ${megabytes(file.size)}; the limit is ${megabytes(largest)}. Scan it in black and white.`;
    return "";
  }

  function drawn(file, key) {
    const holder = document.createElement("template");
    holder.innerHTML = blank.replaceAll("__n__", key);
    const entry = { row: holder.content.firstElementChild, key, name: file.name, size: file.size, file, loaded: 0 };
    inRow(entry, "filename").textContent = file.name;
    inRow(entry, "size").textContent = megabytes(file.size);
    for (const label of entry.row.querySelectorAll("[data-of]")) label.textContent = ` of ${file.name}`;
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

  function status(entry, text) { inRow(entry, "status").textContent = text; }

  function hint(entry) {
    const guess = entry.guess && [...select(entry).options].find((option) => option.value === entry.guess);
    let text = "";
    if (guess && select(entry).value === entry.guess) text = "Type recognised by what the file says.";
    else if (guess) text = `The file looks like: ${guess.textContent}. You are asked once more when you send it.`;
    else if (entry.looked && !entry.chosen) text = select(entry).value ? "Type taken from the file's name. Check it." : "We could not tell what it is: choose its type.";
    inRow(entry, "hint").textContent = text;
  }

  return { drawn, prefill, named, faultOf, fault, status, hint, showPerson, inRow, select, megabytes };
};
