// Buttons that copy a value, such as a fingerprint. Without JavaScript the value is simply there.
"use strict";
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue; // plain HTTP on another host: no clipboard, so no button
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    document.getElementById(button.getAttribute("aria-describedby")).textContent = "Copied";
  });
}
