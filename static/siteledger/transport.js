// How the upload form talks to the server: small questions, one file at a time, and what has come.
"use strict";
globalThis.slTransport = (form) => {
  class SignedOut extends Error {}

  const headers = { Accept: "application/json" };
  // Who signs in again in another tab has a new token, and this page the old one: the cookie is right.
  const token = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] || form.elements.csrfmiddlewaretoken.value;
  const mine = () => ["csrfmiddlewaretoken", token()];

  function filled(pairs) {
    const data = new FormData();
    for (const [name, value] of pairs) data.append(name, value);
    return data;
  }

  async function asked(address, options) {
    const answer = await fetch(address, { headers, redirect: "manual", cache: "no-store", ...options });
    if (answer.type === "opaqueredirect") throw new SignedOut();
    if (answer.status >= 500) throw new Error(String(answer.status));
    return answer;
  }

  const post = (address, fields) => asked(address, { method: "POST", body: filled([mine(), ...Object.entries(fields)]) });

  async function come() {
    const answer = await asked(`${form.dataset.files}?corrects=${form.dataset.corrects}`);
    return (await answer.json()).files;
  }

  // Browsers count on pages that came over HTTPS, or from this machine; elsewhere the server does.
  async function digest(file) {
    if (!crypto.subtle) return "";
    const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
    return [...sum].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  // XMLHttpRequest, for fetch cannot tell how much has been sent. `stoppable` is given what stops it.
  function sendFile(file, stoppable, loaded) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      stoppable(() => request.abort());
      request.upload.addEventListener("progress", (event) => loaded(Math.min(event.loaded, file.size)));
      request.addEventListener("load", () => {
        if (new URL(request.responseURL).pathname.startsWith("/login")) return reject(new SignedOut());
        let answer = null;
        try { answer = JSON.parse(request.responseText); } catch { /* not ours */ }
        if (request.status >= 500) return reject(new Error(String(request.status)));
        return resolve(answer || { message: `The server did not take it (${request.status}). Reload this page and add it again.` });
      });
      for (const end of ["error", "abort"]) request.addEventListener(end, () => reject(new Error(end)));
      request.open("POST", form.dataset.files);
      request.setRequestHeader("Accept", headers.Accept);
      request.send(filled([mine(), ["token", form.elements.token.value], ["corrects", form.dataset.corrects], ["file", file]]));
    });
  }

  return { SignedOut, post, come, digest, sendFile };
};
