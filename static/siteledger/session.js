// Before a session ends this asks whether to go on, and when it has ended it lets one sign in again
// beside the page: what was typed stays where it is. The server knows how long is left; no time is
// kept here but the next moment to ask it, so that work in another tab counts as well.
"use strict";
(() => {
  const dialog = document.getElementById("session");
  if (!dialog) return;
  const address = dialog.dataset.session, warning = Number(dialog.dataset.warning);
  const left = dialog.querySelectorAll("[data-left]"), note = dialog.querySelector("[data-note]");
  let timer = 0, ticking = 0, ends = 0, isOver = false, isTold = false;

  // X-Fragment: asking is nothing that a person does. A POST without it is.
  async function ask(isWork) {
    const token = dialog.querySelector("[name=csrfmiddlewaretoken]").value;
    const headers = isWork ? { "X-CSRFToken": token, Accept: "application/json" } : { "X-Fragment": "1" };
    const answer = await fetch(address, {
      method: isWork ? "POST" : "GET", headers, cache: "no-store", signal: AbortSignal.timeout(15000),
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

  // Forms of this page go on with the token of the new session.
  function renew(token) {
    for (const field of document.querySelectorAll("[name=csrfmiddlewaretoken]")) field.value = token;
  }

  function after(seconds) {
    clearTimeout(timer);
    timer = setTimeout(look, Math.max(1, seconds) * 1000);
  }

  function stay(answer) {
    clearInterval(ticking);
    if (isOver) renew(answer.csrf);
    isOver = false;
    note.textContent = "";
    if (dialog.open) dialog.close();
    after(answer.seconds - warning);
  }

  function warn(seconds) {
    ends = Date.now() + seconds * 1000;
    tick();
    clearInterval(ticking);
    ticking = setInterval(tick, 1000);
    after(seconds);
  }

  function over(answer) {
    clearInterval(ticking);
    clearTimeout(timer);
    isOver = true;
    // Somebody else came back: what was typed is not theirs to see or to send.
    if (answer.person) return location.reload();
    show("over");
  }

  function judge(answer) {
    if (answer.person !== dialog.dataset.person) return over(answer);
    if (answer.seconds > warning + 1) return stay(answer);
    warn(answer.seconds);
    // The day's work ends whatever is done: that is said once, and does not stand in the way.
    if (answer.whole > warning + 1) show("warning");
    else if (!isTold) show("last");
    isTold ||= answer.whole <= warning + 1;
  }

  async function look() {
    try {
      judge(await ask(false));
    } catch {
      after(10); // no connection: the server's clock goes on, and is asked again
    }
  }

  async function goOn() {
    try {
      judge(await ask(true));
    } catch {
      note.textContent = note.dataset.textConnectionLost;
    }
  }

  dialog.querySelector("[data-stay]").addEventListener("click", goOn);
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
  // Escape is as good as the button while there is time; afterwards there is nothing to close.
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    if (isTold && !isOver) dialog.close();
    else if (!isOver) goOn();
  });
  // Back from the tab in which one signed in again, or from a laptop that slept.
  document.addEventListener("visibilitychange", () => document.hidden || look());
  addEventListener("focus", () => isOver && look());
  after(Number(dialog.dataset.seconds) - warning);
})();
