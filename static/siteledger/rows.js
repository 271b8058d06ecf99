// The rows of the upload form: each shows one file, the document type selected for it, and messages about
// both. `upload.js` sends the files.
"use strict";
globalThis.slRows = (form) => {
  const accepted = form.dataset.accept.split(","), maxBytes = Number(form.dataset.maxBytes);
  const blank = form.querySelector("[data-template]").innerHTML;
  // Return the translated sentence in the form's attribute data-text-NAME, with its {placeholders} replaced.
  const text = (name, values = {}) => form.dataset[`text${name}`].replace(/\{(\w+)\}/g, (_, key) => values[key]);
  const formatSize = (bytes) => (bytes < 1e5 ? `${Math.max(1, Math.round(bytes / 1e3))} KB` : `${(bytes / 1e6).toFixed(1)} MB`);
  const inRow = (entry, name) => entry.row.querySelector(`[data-${name}]`);
  const select = (entry) => entry.row.querySelector("select");

  // As `ingestion.rules.classification.classify.suggest_type`: the longest hint that the file's name contains decides.
  function suggestType(name, options) {
    const words = ` ${name.toLowerCase().replace(/[^a-z0-9]+/g, " ")} `;
    let longest = "", type = "";
    for (const option of options) {
      for (const hint of (option.dataset.words || "").split("|")) {
        if (hint.length > longest.length && words.includes(` ${hint} `)) [longest, type] = [hint, option.value];
      }
    }
    return type;
  }

  // Return why a file cannot be uploaded; "" if it can.
  function checkFile(file) {
    const suffix = file.name.slice(file.name.lastIndexOf(".")).toLowerCase();
    if (!accepted.includes(suffix)) return text("WrongKind");
    if (file.size === 0) return text("EmptyFile");
    if (file.size > maxBytes) return text("TooLarge", { size: formatSize(file.size), limit: formatSize(maxBytes) });
    return "";
  }

  function createRow(file, key) {
    const holder = document.createElement("template");
    holder.innerHTML = blank.replaceAll("__n__", key);
    const entry = { row: holder.content.firstElementChild, key, name: file.name, size: file.size, file, loaded: 0, chosen: false };
    inRow(entry, "filename").textContent = file.name;
    inRow(entry, "size").textContent = formatSize(file.size);
    for (const label of entry.row.querySelectorAll("[data-file-label]")) label.textContent = label.textContent.replace("{name}", () => file.name);
    select(entry).value = suggestType(file.name, select(entry).options);
    return entry;
  }

  // Select the type and the person that the link to this page names.
  function prefillRow(entry) {
    const { type, person } = form.dataset;
    if (type) select(entry).value = type;
    entry.chosen = Boolean(type);
    if (person) entry.row.querySelector("input").value = person;
  }

  // After the upload, the inputs are named by the primary key of the file.
  function renameInputs(entry, key) {
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

  function showError(entry, message) {
    entry.error = message;
    inRow(entry, "error").textContent = message;
    for (const input of entry.row.querySelectorAll("select, input")) input.removeAttribute("aria-invalid");
    if (message) select(entry).setAttribute("aria-invalid", "true");
  }

  function showStatus(entry, sentence) { inRow(entry, "status").textContent = sentence; }

  // Show where the selected type comes from.
  function showHint(entry) {
    const detected = entry.detectedType && [...select(entry).options].find((option) => option.value === entry.detectedType);
    let sentence = "";
    if (detected && entry.contents && select(entry).value === entry.detectedType) sentence = ""; // its documents are listed
    else if (detected && select(entry).value === entry.detectedType) sentence = text("TypeDetected");
    else if (detected) sentence = text("TypeDiffers", { type: detected.textContent });
    else if (entry.detectionDone && !entry.chosen) sentence = text(select(entry).value ? "TypeFromName" : "TypeUnknown");
    inRow(entry, "hint").textContent = sentence;
  }

  // Show the documents that the file seems to hold; nothing if it seems to be one document.
  function showContents(entry) {
    const { summary, documents, advice } = entry.contents || {};
    const paragraph = (sentence) => Object.assign(document.createElement("p"), { textContent: sentence });
    const items = document.createElement("ul");
    items.append(...(documents || []).map((line) => Object.assign(document.createElement("li"), { textContent: line })));
    inRow(entry, "contents").replaceChildren(...(entry.contents ? [paragraph(summary), items, paragraph(advice)] : []));
  }

  return { text, createRow, prefillRow, renameInputs, checkFile, showError, showStatus, showHint, showContents, showPerson, inRow, select, formatSize };
};
