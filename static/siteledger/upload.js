// The upload form with several files at once. Each file is uploaded and saved as soon as it is selected.
// After a lost connection only the file in progress continues; received files are not uploaded again.
// The plain form works without this script: both use the same field names and responses.
"use strict";
(() => {
  const form = document.querySelector("[data-upload]");
  if (!form) return;
  const part = (name) => form.querySelector(`[data-${name}]`);
  const dropZone = part("drop"), list = part("list"), sendButton = part("send"), progress = part("sending"), pauseButton = part("pause");
  const picker = dropZone.querySelector("input"), announcement = part("announcement"), connectionError = part("connection-error");
  const site = document.getElementById("site"), problems = document.getElementById("problems");
  const sendLabel = sendButton.textContent, pauseLabel = pauseButton.textContent;
  const maxFiles = Number(form.dataset.maxFiles);
  const { text, createRow, prefillRow, renameInputs, checkFile, showError, showStatus, showHint, showContents, showPerson, inRow, select, formatSize } = slRows(form);
  const { SignedOut, post, computeDigest, listFiles, sendFile, abandonUpload } = slTransport(form, text);
  const title = document.title.replace(text("ErrorTitle", { title: "" }), "");
  const MAX_RETRY_DELAY = 30000; // milliseconds
  // One entry for each row: row, key, name, size, file until it was uploaded, then id, loaded, sha256.
  const entries = new Set();
  let nextKey = 0, uploading = null, isPaused = false, isSendRequested = false, stopUpload = null, endDelay = null, failures = 0;

  // Files can be selected before this script has loaded: in the plain form, or by a tool in the picker.
  const early = [...form.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files]);
  picker.value = "";
  for (const plain of form.querySelectorAll("[data-plain]")) plain.remove();
  part("enhanced").hidden = false;

  const waiting = () => [...entries].filter((entry) => entry.file && !entry.error);

  function bindRow(entry) {
    select(entry).addEventListener("change", () => { entry.chosen = true; showHint(entry); showPerson(entry); saveDescription(entry); });
    entry.row.querySelector("input").addEventListener("change", () => saveDescription(entry));
    inRow(entry, "remove").addEventListener("click", (event) => { event.preventDefault(); removeFile(entry); });
    entries.add(entry);
    showPerson(entry);
  }

  function addFile(file) {
    const entry = createRow(file, `c${nextKey++}`), isFirst = entries.size === 0;
    list.append(entry.row);
    if (isFirst) prefillRow(entry);
    bindRow(entry);
    showError(entry, checkFile(file));
    showStatus(entry, text(entry.error ? "NotUploaded" : "Waiting"));
  }

  function addFiles(selected) {
    const files = [...selected].slice(0, Math.max(0, maxFiles - entries.size)), excess = selected.length - files.length;
    files.forEach(addFile);
    updateProgress();
    const notAdded = excess > 0 ? text("TooMany", { n: excess, max: maxFiles }) : "";
    const added = files.length ? text("Added", { names: files.map((file) => file.name).join(", "), n: entries.size }) : "";
    announcement.textContent = [added, notAdded].filter(Boolean).join(" ");
    if (notAdded) connectionError.textContent = notAdded;
    uploadFiles();
  }

  function removeRow(entry) {
    entries.delete(entry);
    entry.row.remove();
    updateProgress();
  }

  function removeFile(entry) {
    if (entry.id) post(`${form.dataset.files}${entry.id}/remove/`, {}).catch(() => undefined);
    if (entry === uploading) stopUpload?.();
    if (entry.file) abandonUpload(entry.file);
    removeRow(entry);
    announcement.textContent = text("Removed", { name: entry.name, n: entries.size });
    dropZone.querySelector("button").focus();
  }

  function updateProgress() {
    sendButton.textContent = form.dataset.corrects || !entries.size ? sendLabel : text("SendPacket", { n: entries.size });
    progress.hidden = !waiting().length;
    const sum = (all, size) => all.reduce((total, entry) => total + size(entry), 0);
    const uploads = [...entries].filter((entry) => entry.loaded !== undefined && !entry.error);
    const total = sum(uploads, (entry) => entry.size), done = sum(uploads, (entry) => (entry.file ? entry.loaded : entry.size));
    progress.querySelector("progress").value = total ? done / total : 0;
    progress.querySelector("p").textContent = text(isPaused ? "Paused" : "Uploading", { done: formatSize(done), total: formatSize(total) });
  }

  function clearProblems() {
    problems.hidden = true;
    site.removeAttribute("aria-invalid");
    part("site-error").textContent = "";
    document.title = title;
    for (const entry of entries) showError(entry, entry.error || "");
  }

  // As on GOV.UK: the summary gets the focus, each line links to its field, and the field has the same message.
  function showProblems(found) {
    clearProblems();
    isSendRequested = false;
    problems.querySelector("ul").replaceChildren(...found.map(({ anchor, message }) => {
      const entry = [...entries].find((candidate) => candidate.row.contains(document.getElementById(anchor)));
      if (entry) {
        inRow(entry, "error").textContent = message;
        document.getElementById(anchor).setAttribute("aria-invalid", "true");
      } else if (anchor === "site") {
        site.setAttribute("aria-invalid", "true");
        part("site-error").textContent = message;
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

  function saveDescription(entry) {
    if (!entry.id) return;
    const fields = { type: entry.chosen ? select(entry).value : "", person: entry.row.querySelector("input").value };
    post(`${form.dataset.files}${entry.id}/`, fields).catch(() => undefined); // it is sent with the packet as well
  }

  async function uploadFile(entry) {
    entry.sha256 ??= await computeDigest(entry.file);
    // A file that the server has already is not sent again, even if only the response was lost.
    const inList = entry.sha256 && [...entries].find((other) => other.id && other.sha256 === entry.sha256);
    const known = inList || (failures && entry.sha256 && (await listFiles()).find((file) => file.sha256 === entry.sha256));
    const answer = known || (await sendFile(entry.file, (stop) => { stopUpload = stop; }, (loaded) => { entry.loaded = Math.min(loaded, entry.size); updateProgress(); }));
    if (answer.token) form.elements.token.value = answer.token;
    if (!answer.id) {
      showError(entry, answer.message);
      showStatus(entry, text("NotUploaded"));
      return;
    }
    const twin = [...entries].find((other) => other !== entry && String(other.id) === String(answer.id));
    if (twin) {
      removeRow(entry);
      announcement.textContent = text("SameFile", { name: entry.name, other: twin.name });
      showStatus(twin, text("ReceivedTwice", { name: entry.name }));
      return;
    }
    Object.assign(entry, { id: answer.id, file: null, detectedType: answer.detected_type, contents: answer.contents, detectionDone: answer.is_detection_done });
    renameInputs(entry, `k${answer.id}`);
    inRow(entry, "remove").value = answer.id;
    showStatus(entry, text("Received"));
    if (entry.chosen) saveDescription(entry);
    detectType(entry);
  }

  const detecting = text("DetectingType");
  let detections = Promise.resolve(); // one after the other, because each takes seconds on the server
  function detectType(entry) {
    if (!entry.detectionDone) {
      showStatus(entry, detecting);
      detections = detections.then(async () => {
        if (!entries.has(entry)) return;
        const answer = await post(`${form.dataset.files}${entry.id}/guess/`, {});
        if (answer.ok) Object.assign(entry, await answer.json().then((file) => ({ detectedType: file.detected_type, contents: file.contents, detectionDone: true })));
      }).catch(() => { entry.detectionDone = true; }).then(() => {
        if (inRow(entry, "status").textContent === detecting) showStatus(entry, text("Received"));
        showDetectedType(entry);
      });
    } else showDetectedType(entry);
  }

  function showDetectedType(entry) {
    if (entry.detectedType && !entry.chosen) select(entry).value = entry.detectedType;
    showPerson(entry);
    showHint(entry);
    if (entry.contents !== undefined) showContents(entry); // the server has written that of a saved file
  }

  function delay(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      endDelay = () => { clearTimeout(timer); resolve(); };
    });
  }

  // Return whether to retry. The delay before a retry ends early when the browser is online again.
  async function handleFailure(error, entry) {
    if (entry && (!entries.has(entry) || isPaused)) return true;
    if (entry) { entry.loaded = 0; showStatus(entry, text("Waiting")); }
    if (error instanceof SignedOut) {
      showProblems([{ anchor: "files", message: text("SignedOut") }]);
      return false;
    }
    failures += 1;
    connectionError.textContent = text("ConnectionLost");
    updateProgress();
    await delay(Math.min(1000 * 2 ** failures, MAX_RETRY_DELAY));
    return true;
  }

  async function uploadFiles() {
    if (uploading) return;
    for (let entry; !isPaused && (entry = waiting()[0]);) {
      uploading = entry;
      showStatus(entry, text("UploadingFile"));
      updateProgress();
      try {
        await uploadFile(entry);
        failures = 0;
        connectionError.textContent = "";
      } catch (error) {
        if (!(await handleFailure(error, entry))) break;
      }
    }
    uploading = null;
    updateProgress();
    if (isSendRequested && !isPaused && !waiting().length) sendPacket();
  }

  function packetFields() {
    const fields = { token: form.elements.token.value, site: site.value };
    for (const entry of entries) {
      if (!entry.id) continue;
      fields[`type-${entry.key}`] = select(entry).value;
      fields[`person-${entry.key}`] = entry.row.querySelector("input").value;
    }
    return fields;
  }

  async function sendPacket() {
    sendButton.disabled = true;
    announcement.textContent = text("Submitting");
    try {
      for (let isRetried = true; isRetried;) {
        try {
          const answer = await post(form.action, packetFields());
          const result = await answer.json().catch(() => ({ problems: [{ anchor: "files", message: text("NotSubmitted", { status: answer.status }) }] }));
          isSendRequested = false;
          failures = 0;
          connectionError.textContent = "";
          if (result.location) location.assign(result.location);
          else showProblems(result.problems);
          isRetried = false;
        } catch (error) { isRetried = await handleFailure(error); }
      }
    } finally { sendButton.disabled = false; }
  }

  function findProblems() {
    const found = [];
    if (!site.value) found.push({ anchor: "site", message: text("SiteMissing") });
    if (!entries.size) found.push({ anchor: "files", message: text("FilesMissing") });
    for (const entry of entries) if (entry.error) found.push({ anchor: `type-${entry.key}`, message: `${entry.name}: ${entry.error}` });
    return found;
  }

  async function showRequirements() {
    const address = new URL(location.href);
    address.search = "";
    address.searchParams.set("site", site.value);
    try {
      const answer = await fetch(address, { headers: { "X-Fragment": "1" }, redirect: "error" });
      if (answer.ok) document.getElementById("requirements").innerHTML = await answer.text();
    } catch { /* the form works without the panel */ }
  }

  for (const row of list.querySelectorAll("[data-row]")) {
    const { row: key, name, sha256, detectedType } = row.dataset;
    const entry = { row, key, id: key.slice(1), name, sha256, detectedType, detectionDone: "detectionDone" in row.dataset, size: 0, chosen: "chosen" in row.dataset };
    bindRow(entry);
    detectType(entry);
  }
  updateProgress();
  site.addEventListener("change", showRequirements);
  dropZone.querySelector("button").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => { addFiles(picker.files); picker.value = ""; });
  for (const name of ["dragenter", "dragover"]) dropZone.addEventListener(name, (event) => { event.preventDefault(); dropZone.dataset.over = ""; });
  for (const name of ["dragleave", "drop"]) dropZone.addEventListener(name, () => delete dropZone.dataset.over);
  dropZone.addEventListener("drop", (event) => { event.preventDefault(); addFiles(event.dataTransfer.files); });
  if (early.length) addFiles(early);
  addEventListener("online", () => endDelay?.());
  addEventListener("beforeunload", (event) => { if (waiting().length) event.preventDefault(); });
  pauseButton.addEventListener("click", () => {
    isPaused = !isPaused;
    pauseButton.textContent = isPaused ? text("Resume") : pauseLabel;
    if (isPaused) stopUpload?.();
    endDelay?.();
    updateProgress();
    if (!isPaused) uploadFiles();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const found = findProblems();
    if (found.length) return showProblems(found);
    clearProblems();
    isSendRequested = true;
    endDelay?.();
    if (waiting().length) announcement.textContent = text("SentWhenReceived");
    return uploadFiles();
  });
})();
