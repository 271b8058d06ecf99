// The upload form with files dropped or chosen at once, and a bar while they are sent. It stands on
// a plain form that works without it; field names and the server's answer are the same for both.
"use strict";
(() => {
  const form = document.querySelector("[data-upload]");
  if (!form) return;
  const part = (name) => form.querySelector(`[data-${name}]`);
  const drop = part("drop"), list = part("list"), send = part("send"), sending = part("sending");
  const picker = drop.querySelector("input"), said = part("said"), problems = document.getElementById("problems");
  const accepted = form.dataset.accept.split(","), most = Number(form.dataset.most), largest = Number(form.dataset.largest);
  const files = new Map(); // number of a row -> its File
  let next = 0, request = null;

  part("plain").remove();
  part("enhanced").hidden = false;

  const megabytes = (bytes) => (bytes < 1e5 ? `${Math.max(1, Math.round(bytes / 1e3))} KB` : `${(bytes / 1e6).toFixed(1)} MB`);
  const plural = (n) => `${n} document${n === 1 ? "" : "s"}`;

  // As `ingestion.rules.classify.guess_type`: the longest hint that stands in the file's name.
  function guess(name, select) {
    const words = ` ${name.toLowerCase().replace(/[^a-z0-9]+/g, " ")} `;
    let best = "", type = "";
    for (const option of select.options) {
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

  function mark(row, field, message) {
    const box = row.querySelector("[data-fault]");
    const input = row.querySelector(`[id^="${field}-"]`);
    box.textContent = message;
    input?.setAttribute("aria-invalid", "true");
    input?.setAttribute("aria-describedby", box.id);
  }

  function clear() {
    problems.hidden = true;
    for (const input of form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
    for (const box of form.querySelectorAll("[data-fault]")) box.textContent = "";
    document.title = document.title.replace(/^Error: /, "");
    for (const [number, file] of files) {
      const fault = faultOf(file);
      if (fault) mark(document.getElementById(`row-${number}`), "type", fault);
    }
  }

  // As on GOV.UK: the summary has the focus, each line leads to its field, the field says the same.
  function tell(faults) {
    clear();
    problems.querySelector("ul").replaceChildren(...faults.map(({ anchor, message }) => {
      const row = document.getElementById(anchor)?.closest("[data-row]");
      if (row) mark(row, anchor.startsWith("person") ? "person" : "type", message);
      else if (anchor === "site") { document.getElementById("site").setAttribute("aria-invalid", "true"); part("site-fault").textContent = message; }
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = `#${document.getElementById(anchor) ? anchor : "files"}`;
      link.textContent = message;
      item.append(link);
      return item;
    }));
    document.title = `Error: ${document.title}`;
    problems.hidden = false;
    problems.focus();
  }

  function renew() {
    send.textContent = files.size ? `Upload ${plural(files.size)}` : "Upload packet";
  }

  function add(file) {
    const number = next++;
    const holder = document.createElement("template");
    holder.innerHTML = part("template").innerHTML.replaceAll("__n__", number);
    const row = holder.content.firstElementChild;
    const select = row.querySelector("select"), person = row.querySelector("[data-person]");
    row.querySelector("[data-name]").textContent = file.name;
    row.querySelector("[data-size]").textContent = megabytes(file.size);
    for (const label of row.querySelectorAll("[data-of]")) label.textContent = ` of ${file.name}`;
    const showPerson = () => { person.hidden = !("perPerson" in (select.selectedOptions[0]?.dataset || {})); };
    select.addEventListener("change", showPerson);
    row.querySelector("[data-remove]").addEventListener("click", () => {
      files.delete(number);
      row.remove();
      renew();
      said.textContent = `${file.name} removed. ${plural(files.size)} in the list.`;
      drop.querySelector("button").focus();
    });
    list.append(row);
    files.set(number, file);
    select.value = (files.size === 1 && form.dataset.type) || guess(file.name, select);
    if (files.size === 1 && form.dataset.person) person.querySelector("input").value = form.dataset.person;
    showPerson();
    const fault = faultOf(file);
    if (fault) mark(row, "type", fault);
  }

  function take(chosen) {
    const room = most - files.size;
    const taken = [...chosen].slice(0, room);
    taken.forEach(add);
    renew();
    const over = chosen.length - taken.length;
    said.textContent = `${taken.map((file) => file.name).join(", ")} added. ${plural(files.size)} in the list.`
      + (over > 0 ? ` ${over} left out: a packet holds ${most} files.` : "");
  }

  function beforeSending() {
    const faults = [];
    if (!document.getElementById("site").value) faults.push({ anchor: "site", message: "Choose the site this packet is for" });
    if (!files.size) faults.push({ anchor: "files", message: "Add at least one document" });
    for (const [number, file] of files) {
      const fault = faultOf(file);
      if (fault) faults.push({ anchor: `type-${number}`, message: `${file.name}: ${fault}` });
    }
    return faults;
  }

  function body() {
    const data = new FormData();
    for (const name of ["csrfmiddlewaretoken", "token", "site"]) data.append(name, form.elements[name].value);
    for (const [number, file] of files) {
      data.append(`type-${number}`, document.getElementById(`type-${number}`).value);
      data.append(`person-${number}`, document.getElementById(`person-${number}`).value);
      data.append(`file-${number}`, file);
    }
    return data;
  }

  function busy(on) {
    sending.hidden = !on;
    send.disabled = picker.disabled = on;
    if (on) sending.querySelector("progress").value = 0;
  }

  function answered() {
    busy(false);
    let answer = {};
    try { answer = JSON.parse(request.responseText); } catch { /* not ours: told below */ }
    if (answer.location) location.assign(answer.location);
    else if (answer.problems) tell(answer.problems);
    else if (new URL(request.responseURL).pathname.startsWith("/login")) tell([{ anchor: "files", message: "You were signed out. Sign in again in another tab, then reload this page and add the files again." }]);
    else tell([{ anchor: "files", message: `The server did not take the packet (${request.status}). Your files are still listed: try again.` }]);
  }

  function upload() {
    request = new XMLHttpRequest(); // fetch cannot tell how much has been sent
    const bar = sending.querySelector("progress"), words = sending.querySelector("p");
    request.upload.addEventListener("progress", (event) => {
      if (!event.lengthComputable) return;
      bar.value = event.loaded / event.total;
      words.textContent = event.loaded < event.total ? `Uploading ${megabytes(event.loaded)} of ${megabytes(event.total)}` : "Putting the packet on record";
    });
    request.addEventListener("load", answered);
    request.addEventListener("error", () => { busy(false); tell([{ anchor: "files", message: "The connection was lost. Your files are still listed: send them again, nothing is taken in twice." }]); });
    request.addEventListener("abort", () => { busy(false); said.textContent = "Upload cancelled. Your files are still listed."; send.focus(); });
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    busy(true);
    request.send(body());
  }

  async function showNeeds() {
    const address = new URL(location.href), panel = document.getElementById("needs");
    address.search = "";
    address.searchParams.set("site", document.getElementById("site").value);
    try {
      const answer = await fetch(address, { headers: { "X-Fragment": "1" }, redirect: "error" });
      if (answer.ok) panel.innerHTML = await answer.text();
    } catch { /* the panel is a help, not a need */ }
  }

  document.getElementById("site").addEventListener("change", showNeeds);
  drop.querySelector("button").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => { take(picker.files); picker.value = ""; });
  for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.dataset.over = ""; });
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => delete drop.dataset.over);
  drop.addEventListener("drop", (event) => { event.preventDefault(); take(event.dataTransfer.files); });
  part("cancel").addEventListener("click", () => request?.abort());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const faults = beforeSending();
    if (faults.length) tell(faults);
    else { clear(); upload(); }
  });
})();
