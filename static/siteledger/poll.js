// Live progress: asks this page's own address for its fragment and replaces the [data-live] parts
// whose content changed. The rows of the database are the truth; nothing is kept here.
"use strict";
(() => {
  const root = document.querySelector("[data-poll]");
  if (!root || root.querySelector("[data-done]")) return;
  const base = Number(root.dataset.poll); // milliseconds between two questions
  const note = document.getElementById("poll-note");
  let etag = root.dataset.etag || "";
  let failures = 0, asking = false;

  function say(text) {
    if (note.textContent !== text) note.textContent = text;
  }

  function exchange(node, fresh) {
    if (!fresh || node.innerHTML === fresh.innerHTML) return;
    // The reader's place is kept: what had the focus gets it back under the same id.
    const focused = node.contains(document.activeElement) ? document.activeElement.id : "";
    node.replaceChildren(...fresh.childNodes);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  function show(html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const node of root.querySelectorAll("[data-live]")) exchange(node, page.getElementById(node.id));
  }

  async function ask() {
    const answer = await fetch(location.pathname, {
      headers: { "X-Fragment": "1", ...(etag && { "If-None-Match": etag }) },
      cache: "no-store", redirect: "manual", signal: AbortSignal.timeout(15000),
    });
    if (answer.type === "opaqueredirect") return "out";
    if (!answer.ok && answer.status !== 304) throw new Error(answer.statusText);
    if (answer.ok) {
      etag = answer.headers.get("ETag") || "";
      show(await answer.text());
    }
    const clock = document.getElementById("poll-clock");
    if (clock) clock.textContent = new Date(answer.headers.get("Date") || Date.now()).toISOString().slice(11, 19);
    return root.querySelector("[data-done]") ? "done" : "on";
  }

  const pause = root.querySelector("[data-pause]"); // WCAG 2.2.2: what moves can be stopped
  const isPaused = () => pause?.getAttribute("aria-pressed") === "true";

  async function turn() {
    // A hidden tab goes on when it is seen again; two events at once are one question.
    if (asking || document.hidden || isPaused()) return;
    asking = true;
    try {
      const outcome = await ask();
      failures = 0;
      say(outcome === "out" ? note.dataset.textSignedOut : "");
      if (outcome !== "on") return;
    } catch {
      failures += 1;
      say(note.dataset.textConnectionLost);
    } finally {
      asking = false;
    }
    timer = setTimeout(turn, Math.min(base * 2 ** failures, 30000));
  }

  let timer = setTimeout(turn, base);
  function again() {
    clearTimeout(timer);
    if (!document.hidden && !root.querySelector("[data-done]")) turn();
  }
  if (pause) {
    pause.hidden = false;
    pause.addEventListener("click", () => {
      pause.setAttribute("aria-pressed", String(!isPaused()));
      for (const hint of root.querySelectorAll("[data-paused]")) hint.hidden = !isPaused();
      again();
    });
  }
  document.addEventListener("visibilitychange", again);
  addEventListener("online", again);
})();
