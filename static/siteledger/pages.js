// Shows a message if a page image cannot be loaded. Without JavaScript, its alternative text does.
"use strict";
for (const sheet of document.querySelectorAll("[data-sheet]")) {
  const image = sheet.querySelector("img"), missing = sheet.querySelector(".sl-sheet-missing");
  const showMissing = () => {
    sheet.querySelector(".sl-sheet-paper").hidden = true;
    missing.hidden = false;
  };
  image.addEventListener("error", showMissing);
  if (image.complete && !image.naturalWidth) showMissing(); // it failed before this script ran
}
