// Buttons that copy a value, such as a hash. Without JavaScript the value can be selected and copied as text.
"use strict";
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue; // over plain HTTP on another host browsers offer no clipboard
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    const status = document.getElementById(button.getAttribute("aria-describedby"));
    status.textContent = status.dataset.textCopied;
  });
}
