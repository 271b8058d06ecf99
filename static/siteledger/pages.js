// A page that could not be drawn says so. Without JavaScript the picture's own text does.
"use strict";
for (const sheet of document.querySelectorAll("[data-sheet]")) {
  const picture = sheet.querySelector("img"), missing = sheet.querySelector(".sl-sheet-missing");
  const tell = () => {
    sheet.querySelector(".sl-sheet-paper").hidden = true;
    missing.hidden = false;
  };
  picture.addEventListener("error", tell);
  if (picture.complete && !picture.naturalWidth) tell(); // it failed before this script ran
}
