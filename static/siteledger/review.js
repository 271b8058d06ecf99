// Keyboard shortcuts, and the form of a decision in a native dialog. The browser closes the dialog on Escape
// and returns the focus to the button. Without JavaScript the form is a page of its own.
"use strict";
(() => {
  // Shortcuts use Alt (WCAG 2.1.4). `code` is the position of the key, because Alt changes letters on a Mac.
  const keys = new Map(Array.from(document.querySelectorAll("[data-key]"), (link) => [`Key${link.dataset.key.toUpperCase()}`, link]));
  for (const hint of document.querySelectorAll("kbd[hidden], [data-keys]")) hint.hidden = false;
  document.addEventListener("keydown", (event) => {
    const link = keys.get(event.code);
    if (!link || !event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    link.click();
  });

  const dialog = document.getElementById("sign-dialog");
  if (!dialog?.showModal) return;

  function showForm(html) {
    const answer = new DOMParser().parseFromString(html, "text/html");
    dialog.replaceChildren(...answer.body.childNodes);
    if (!dialog.open) dialog.showModal();
    const problem = dialog.querySelector("[role=alert] a[href^='#']");
    const first = dialog.querySelector("select, textarea, input:not([type=hidden]), a");
    (problem ? document.getElementById(problem.hash.slice(1)) : first)?.focus();
  }

  // Follow a recorded decision, or show the form that the server returns.
  async function requestForm(url, options) {
    const answer = await fetch(url, { ...options, headers: { "X-Fragment": "1" }, credentials: "same-origin" });
    const next = answer.headers.get("X-Go-To");
    if (next) location.assign(next);
    else if (answer.redirected) location.assign(answer.url); // the session has ended
    else if (answer.ok || answer.status === 400 || answer.status === 409) showForm(await answer.text());
    else throw new Error(answer.statusText);
  }

  for (const link of document.querySelectorAll("[data-sign]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // opens a new tab or window
      event.preventDefault();
      requestForm(link.href).catch(() => location.assign(link.href));
    });
  }
  dialog.addEventListener("click", (event) => {
    if (!event.target.closest("[data-close]")) return;
    event.preventDefault();
    dialog.close();
  });
  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    const form = event.target, button = form.querySelector("[type=submit]");
    button.disabled = true; // a double click must not sign twice
    requestForm(form.action, { method: "POST", body: new FormData(form) }).catch(() => {
      button.disabled = false;
      let note = form.querySelector("[data-failed]");
      if (!note) {
        note = Object.assign(document.createElement("p"), { className: "sl-error" });
        note.dataset.failed = "";
        note.setAttribute("role", "alert");
        button.parentElement.before(note);
      }
      note.textContent = dialog.dataset.textNoAnswer;
    });
  });
})();
