// Live progress: requests the fragment of this page and replaces the [data-live] parts whose content
// changed, and adds new items to [data-live-list]. The script stores no state of its own besides the entity tag.
"use strict";
(() => {
  const root = document.querySelector("[data-poll]");
  if (!root || root.querySelector("[data-done]")) return;
  const interval = Number(root.dataset.poll); // milliseconds between two requests
  const note = document.getElementById("poll-note");
  let etag = root.dataset.etag || "";
  let failures = 0, isUpdating = false;

  function showNote(text) {
    if (note.textContent !== text) note.textContent = text;
  }

  function replaceContent(node, fresh) {
    if (!fresh || node.innerHTML === fresh.innerHTML) return;
    // The element that had the focus gets it back, found by its id.
    const focused = node.contains(document.activeElement) ? document.activeElement.id : "";
    node.replaceChildren(...fresh.childNodes);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  // Insert items that are new, such as the documents of a file that was divided meanwhile.
  function addItems(list, fresh) {
    let previous = null;
    for (const item of fresh ? [...fresh.children] : []) {
      const known = document.getElementById(item.id);
      if (!known) list.insertBefore(document.importNode(item, true), previous ? previous.nextSibling : list.firstChild);
      previous = document.getElementById(item.id);
    }
  }

  function showFragment(html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const list of root.querySelectorAll("[data-live-list]")) addItems(list, page.getElementById(list.id));
    for (const node of root.querySelectorAll("[data-live]")) replaceContent(node, page.getElementById(node.id));
  }

  // Return "signed-out", "done", or "continue".
  async function requestFragment() {
    const answer = await fetch(location.pathname, {
      headers: { "X-Fragment": "1", ...(etag && { "If-None-Match": etag }) },
      cache: "no-store", redirect: "manual", signal: AbortSignal.timeout(15000),
    });
    if (answer.type === "opaqueredirect") return "signed-out";
    if (!answer.ok && answer.status !== 304) throw new Error(answer.statusText);
    if (answer.ok) {
      etag = answer.headers.get("ETag") || "";
      showFragment(await answer.text());
    }
    const clock = document.getElementById("poll-clock");
    if (clock) clock.textContent = new Date(answer.headers.get("Date") || Date.now()).toISOString().slice(11, 19);
    return root.querySelector("[data-done]") ? "done" : "continue";
  }

  const pause = root.querySelector("[data-pause]"); // WCAG 2.2.2: people can stop updates
  const isPaused = () => pause?.getAttribute("aria-pressed") === "true";

  async function update() {
    // A hidden tab continues when it becomes visible. Simultaneous events cause one request.
    if (isUpdating || document.hidden || isPaused()) return;
    isUpdating = true;
    try {
      const outcome = await requestFragment();
      failures = 0;
      showNote(outcome === "signed-out" ? note.dataset.textSignedOut : "");
      if (outcome !== "continue") return;
    } catch {
      failures += 1;
      showNote(note.dataset.textConnectionLost);
    } finally {
      isUpdating = false;
    }
    timer = setTimeout(update, Math.min(interval * 2 ** failures, 30000));
  }

  let timer = setTimeout(update, interval);
  function updateNow() {
    clearTimeout(timer);
    if (!document.hidden && !root.querySelector("[data-done]")) update();
  }
  if (pause) {
    pause.hidden = false;
    pause.addEventListener("click", () => {
      pause.setAttribute("aria-pressed", String(!isPaused()));
      for (const hint of root.querySelectorAll("[data-paused]")) hint.hidden = !isPaused();
      updateNow();
    });
  }
  document.addEventListener("visibilitychange", updateNow);
  addEventListener("online", updateNow);
})();
