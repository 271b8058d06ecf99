// Keys, and deciding without leaving the page: the form of /sign/ in a native dialog. Escape closes it and the
// focus goes back to the button, which the browser sees to. Without JavaScript it is a page.
"use strict";
(() => {
  // Always with Alt (WCAG 2.1.4). `code` is the key's place: with Alt a Mac writes other letters.
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

  function show(html) {
    const answer = new DOMParser().parseFromString(html, "text/html");
    dialog.replaceChildren(...answer.body.childNodes);
    if (!dialog.open) dialog.showModal();
    const problem = dialog.querySelector("[role=alert] a[href^='#']");
    const first = dialog.querySelector("select, textarea, input:not([type=hidden]), a");
    (problem ? document.getElementById(problem.hash.slice(1)) : first)?.focus();
  }

  async function ask(url, options) {
    const answer = await fetch(url, { ...options, headers: { "X-Fragment": "1" }, credentials: "same-origin" });
    const decided = answer.headers.get("X-Go-To");
    if (decided) location.assign(decided);
    else if (answer.redirected) location.assign(answer.url); // signed out meanwhile
    else if (answer.ok || answer.status === 400 || answer.status === 409) show(await answer.text());
    else throw new Error(answer.statusText);
  }

  for (const link of document.querySelectorAll("[data-sign]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a tab of its own
      event.preventDefault();
      ask(link.href).catch(() => location.assign(link.href));
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
    button.disabled = true; // one click is one signature
    ask(form.action, { method: "POST", body: new FormData(form) }).catch(() => {
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
