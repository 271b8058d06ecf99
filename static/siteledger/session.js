// Warns before a session ends. After it has ended, the person can sign in again in another tab, and
// the text that they entered stays on the page. The server knows how much time is left. This script
// only stores when to request it next, so that work in another tab counts as well.
"use strict";
(() => {
  const dialog = document.getElementById("session");
  if (!dialog) return;
  const address = dialog.dataset.session, warning = Number(dialog.dataset.warning);
  const left = dialog.querySelectorAll("[data-left]"), note = dialog.querySelector("[data-note]");
  let timer = 0, ticking = 0, ends = 0, isOver = false, isWarnedOfMaximum = false;

  // A request with X-Fragment is not an activity of the person. A POST request without it is.
  async function requestSession(isActivity) {
    const token = dialog.querySelector("[name=csrfmiddlewaretoken]").value;
    const headers = isActivity ? { "X-CSRFToken": token, Accept: "application/json" } : { "X-Fragment": "1" };
    const answer = await fetch(address, {
      method: isActivity ? "POST" : "GET", headers, cache: "no-store", signal: AbortSignal.timeout(15000),
    });
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  }

  function show(part) {
    for (const each of dialog.querySelectorAll("[data-part]")) each.hidden = each.dataset.part !== part;
    dialog.setAttribute("aria-labelledby", `session-${part}`);
    if (!dialog.open) dialog.showModal();
  }

  function tick() {
    const seconds = Math.max(0, Math.round((ends - Date.now()) / 1000));
    const minutes = Math.floor(seconds / 60), rest = String(seconds % 60).padStart(2, "0");
    for (const each of left) each.textContent = `${minutes}:${rest}`;
  }

  // The forms of this page continue with the CSRF token of the new session.
  function setToken(token) {
    for (const field of document.querySelectorAll("[name=csrfmiddlewaretoken]")) field.value = token;
  }

  function checkAfter(seconds) {
    clearTimeout(timer);
    timer = setTimeout(check, Math.max(1, seconds) * 1000);
  }

  function continueSession(answer) {
    clearInterval(ticking);
    if (isOver) setToken(answer.csrf);
    isOver = false;
    note.textContent = "";
    if (dialog.open) dialog.close();
    checkAfter(answer.seconds - warning);
  }

  function warn(seconds) {
    ends = Date.now() + seconds * 1000;
    tick();
    clearInterval(ticking);
    ticking = setInterval(tick, 1000);
    checkAfter(seconds);
  }

  function endSession(answer) {
    clearInterval(ticking);
    clearTimeout(timer);
    isOver = true;
    // Another person signed in, who must not see or send the entered text.
    if (answer.person) return location.reload();
    show("over");
  }

  function handleAnswer(answer) {
    if (answer.person !== dialog.dataset.person) return endSession(answer);
    if (answer.seconds > warning + 1) return continueSession(answer);
    warn(answer.seconds);
    // The maximum length of a session cannot be extended: this is shown once and can be closed.
    if (answer.whole > warning + 1) show("warning");
    else if (!isWarnedOfMaximum) show("last");
    isWarnedOfMaximum ||= answer.whole <= warning + 1;
  }

  async function check() {
    try {
      handleAnswer(await requestSession(false));
    } catch {
      checkAfter(10); // without a connection, the next request is sent after 10 seconds
    }
  }

  async function staySignedIn() {
    try {
      handleAnswer(await requestSession(true));
    } catch {
      note.textContent = note.dataset.textConnectionLost;
    }
  }

  dialog.querySelector("[data-stay]").addEventListener("click", staySignedIn);
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  // Escape does the same as the button. After the end of the session, the dialog cannot be closed.
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    if (isWarnedOfMaximum && !isOver) dialog.close();
    else if (!isOver) staySignedIn();
  });
  // The person returns from the tab in which they signed in, or the computer wakes up.
  document.addEventListener("visibilitychange", () => document.hidden || check());
  addEventListener("focus", () => isOver && check());
  checkAfter(Number(dialog.dataset.seconds) - warning);
})();
