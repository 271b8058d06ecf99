// The upload form with several files at once. Each file is uploaded and saved as soon as it is selected.
// After a lost connection only the file in progress continues; received files are not uploaded again.
// The plain form works without this script: both use the same field names and responses.
"use strict";
(() => {
  const form = document.querySelector("[data-upload]");
  if (!form) return;
  const part = (name) => form.querySelector(`[data-${name}]`);
  const drop = part("drop"), list = part("list"), send = part("send"), sending = part("sending"), pause = part("pause");
  const picker = drop.querySelector("input"), said = part("said"), lost = part("lost"), site = document.getElementById("site");
  const problems = document.getElementById("problems"), sendText = send.textContent, pauseText = pause.textContent;
  const most = Number(form.dataset.most);
  const { text, drawn, prefill, named, faultOf, fault, status, hint, showPerson, inRow, select, megabytes } = slRows(form);
  const { SignedOut, post, digest, come, sendFile, abandon } = slTransport(form, text);
  const title = document.title.replace(text("ErrorTitle", { title: "" }), "");
  const LONGEST_WAIT = 30000; // milliseconds between two tries
  const entries = new Set(); // a row each: row, name, size, file until it was sent, id since, loaded, sha256
  let next = 0, working = false, paused = false, wanted = false, stop = null, wake = null, failures = 0;

  // Files can be chosen before this script has loaded: in the plain form, or by a tool in the picker.
  const early = [...form.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files]);
  picker.value = "";
  for (const plain of form.querySelectorAll("[data-plain]")) plain.remove();
  part("enhanced").hidden = false;

  const waiting = () => [...entries].filter((entry) => entry.file && !entry.fault);

  function bind(entry) {
    select(entry).addEventListener("change", () => { entry.chosen = true; hint(entry); showPerson(entry); note(entry); });
    entry.row.querySelector("input").addEventListener("change", () => note(entry));
    inRow(entry, "remove").addEventListener("click", (event) => { event.preventDefault(); remove(entry); });
    entries.add(entry);
    showPerson(entry);
  }

  function add(file) {
    const entry = drawn(file, `c${next++}`), isFirst = entries.size === 0;
    list.append(entry.row);
    if (isFirst) prefill(entry);
    bind(entry);
    fault(entry, faultOf(file));
    status(entry, text(entry.fault ? "NotUploaded" : "Waiting"));
  }

  function gone(entry) {
    entries.delete(entry);
    entry.row.remove();
    renew();
  }

  function remove(entry) {
    if (entry.id) post(`${form.dataset.files}${entry.id}/remove/`, {}).catch(() => undefined);
    if (entry === working) stop?.();
    if (entry.file) abandon(entry.file);
    gone(entry);
    said.textContent = text("Removed", { name: entry.name, n: entries.size });
    drop.querySelector("button").focus();
  }

  function renew() {
    const open = waiting();
    send.textContent = form.dataset.corrects || !entries.size ? sendText : text("SendPacket", { n: entries.size });
    sending.hidden = !open.length;
    const sum = (all, of) => all.reduce((total, entry) => total + of(entry), 0);
    const batch = [...entries].filter((entry) => entry.loaded !== undefined && !entry.fault);
    const total = sum(batch, (entry) => entry.size), done = sum(batch, (entry) => (entry.file ? entry.loaded : entry.size));
    sending.querySelector("progress").value = total ? done / total : 0;
    sending.querySelector("p").textContent = text(paused ? "Paused" : "Uploading", { done: megabytes(done), total: megabytes(total) });
  }

  function clear() {
    problems.hidden = true;
    site.removeAttribute("aria-invalid");
    part("site-fault").textContent = "";
    document.title = title;
    for (const entry of entries) fault(entry, entry.fault || "");
  }

  // As on GOV.UK: the summary has the focus, each line leads to its field, the field says the same.
  function tell(faults) {
    clear();
    wanted = false;
    problems.querySelector("ul").replaceChildren(...faults.map(({ anchor, message }) => {
      const entry = [...entries].find((each) => each.row.contains(document.getElementById(anchor)));
      if (entry) {
        inRow(entry, "fault").textContent = message;
        document.getElementById(anchor).setAttribute("aria-invalid", "true");
      } else if (anchor === "site") {
        site.setAttribute("aria-invalid", "true");
        part("site-fault").textContent = message;
      }
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = `#${document.getElementById(anchor) ? anchor : "files"}`;
      link.textContent = message;
      item.append(link);
      return item;
    }));
    document.title = text("ErrorTitle", { title });
    problems.hidden = false;
    problems.focus();
  }

  function note(entry) {
    if (!entry.id) return;
    const fields = { type: entry.chosen ? select(entry).value : "", person: entry.row.querySelector("input").value };
    post(`${form.dataset.files}${entry.id}/`, fields).catch(() => undefined); // it is sent with the packet as well
  }

  async function bring(entry) {
    entry.sha256 ??= await digest(entry.file);
    // What is here already, or came although its answer was lost, is not sent again.
    const here = entry.sha256 && [...entries].find((other) => other.id && other.sha256 === entry.sha256);
    const known = here || (failures && entry.sha256 && (await come()).find((each) => each.sha256 === entry.sha256));
    const answer = known || (await sendFile(entry.file, (abort) => { stop = abort; }, (loaded) => { entry.loaded = Math.min(loaded, entry.size); renew(); }));
    if (answer.token) form.elements.token.value = answer.token;
    if (!answer.id) {
      fault(entry, answer.message);
      status(entry, text("NotUploaded"));
      return;
    }
    const twin = [...entries].find((other) => other !== entry && String(other.id) === String(answer.id));
    if (twin) {
      gone(entry);
      said.textContent = text("SameFile", { name: entry.name, other: twin.name });
      status(twin, text("ReceivedTwice", { name: entry.name }));
      return;
    }
    Object.assign(entry, { id: answer.id, file: null, guess: answer.guess, looked: answer.looked });
    named(entry, `k${answer.id}`);
    inRow(entry, "remove").value = answer.id;
    status(entry, text("Received"));
    if (entry.chosen) note(entry);
    look(entry);
  }

  const detecting = text("DetectingType");
  let looking = Promise.resolve(); // one after the other: each costs the server seconds
  function look(entry) {
    if (!entry.looked) {
      status(entry, detecting);
      looking = looking.then(async () => {
        if (!entries.has(entry)) return;
        const answer = await post(`${form.dataset.files}${entry.id}/guess/`, {});
        if (answer.ok) Object.assign(entry, await answer.json().then(({ guess }) => ({ guess, looked: true })));
      }).catch(() => { entry.looked = true; }).then(() => {
        if (inRow(entry, "status").textContent === detecting) status(entry, text("Received"));
        recognised(entry);
      });
    } else recognised(entry);
  }

  function recognised(entry) {
    if (entry.guess && !entry.chosen) select(entry).value = entry.guess;
    showPerson(entry);
    hint(entry);
  }

  function rest(seconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, seconds);
      wake = () => { clearTimeout(timer); resolve(); };
    });
  }

  // Answers whether to go on. Whatever was lost is tried again, sooner when the browser is back on the net.
  async function failed(error, entry) {
    if (entry && (!entries.has(entry) || paused)) return true;
    if (entry) { entry.loaded = 0; status(entry, text("Waiting")); }
    if (error instanceof SignedOut) {
      tell([{ anchor: "files", message: text("SignedOut") }]);
      return false;
    }
    failures += 1;
    lost.textContent = text("ConnectionLost");
    renew();
    await rest(Math.min(1000 * 2 ** failures, LONGEST_WAIT));
    return true;
  }

  async function work() {
    if (working) return;
    for (let entry; !paused && (entry = waiting()[0]);) {
      working = entry;
      status(entry, text("UploadingFile"));
      renew();
      try {
        await bring(entry);
        failures = 0;
        lost.textContent = "";
      } catch (error) {
        if (!(await failed(error, entry))) break;
      }
    }
    working = false;
    renew();
    if (wanted && !paused && !waiting().length) hand();
  }

  function fields() {
    const all = { token: form.elements.token.value, site: site.value };
    for (const entry of entries) {
      if (!entry.id) continue;
      all[`type-${entry.key}`] = select(entry).value;
      all[`person-${entry.key}`] = entry.row.querySelector("input").value;
    }
    return all;
  }

  async function hand() {
    send.disabled = true;
    said.textContent = text("Submitting");
    try {
      for (let on = true; on;) {
        try {
          const answer = await post(form.action, fields());
          const told = await answer.json().catch(() => ({ problems: [{ anchor: "files", message: text("NotSubmitted", { status: answer.status }) }] }));
          wanted = false;
          failures = 0;
          lost.textContent = "";
          if (told.location) location.assign(told.location);
          else tell(told.problems);
          on = false;
        } catch (error) { on = await failed(error); }
      }
    } finally { send.disabled = false; }
  }

  function beforeSending() {
    const faults = [];
    if (!site.value) faults.push({ anchor: "site", message: text("SiteMissing") });
    if (!entries.size) faults.push({ anchor: "files", message: text("FilesMissing") });
    for (const entry of entries) if (entry.fault) faults.push({ anchor: `type-${entry.key}`, message: `${entry.name}: ${entry.fault}` });
    return faults;
  }

  function take(chosen) {
    const taken = [...chosen].slice(0, Math.max(0, most - entries.size)), over = chosen.length - taken.length;
    taken.forEach(add);
    renew();
    const left = over > 0 ? text("TooMany", { n: over, most }) : "";
    const added = taken.length ? text("Added", { names: taken.map((file) => file.name).join(", "), n: entries.size }) : "";
    said.textContent = [added, left].filter(Boolean).join(" ");
    if (left) lost.textContent = left;
    work();
  }

  async function showNeeds() {
    const address = new URL(location.href);
    address.search = "";
    address.searchParams.set("site", site.value);
    try {
      const answer = await fetch(address, { headers: { "X-Fragment": "1" }, redirect: "error" });
      if (answer.ok) document.getElementById("needs").innerHTML = await answer.text();
    } catch { /* the panel is a help, not a need */ }
  }

  for (const node of list.querySelectorAll("[data-row]")) {
    const { row: key, name, sha256, guess } = node.dataset, looked = "looked" in node.dataset;
    const entry = { row: node, key, id: key.slice(1), name, sha256, guess, looked, size: 0, chosen: "chosen" in node.dataset };
    bind(entry);
    look(entry);
  }
  renew();
  site.addEventListener("change", showNeeds);
  drop.querySelector("button").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => { take(picker.files); picker.value = ""; });
  for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.dataset.over = ""; });
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => delete drop.dataset.over);
  drop.addEventListener("drop", (event) => { event.preventDefault(); take(event.dataTransfer.files); });
  if (early.length) take(early);
  addEventListener("online", () => wake?.());
  addEventListener("beforeunload", (event) => { if (waiting().length) event.preventDefault(); });
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? text("Resume") : pauseText;
    if (paused) stop?.();
    wake?.();
    renew();
    if (!paused) work();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const faults = beforeSending();
    if (faults.length) return tell(faults);
    clear();
    wanted = true;
    wake?.();
    if (waiting().length) said.textContent = text("SentWhenReceived");
    return work();
  });
})();
