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
    for (const pair of pairs) data.append(...pair);
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

  // A large file is sent in parts: a lost connection costs the part that was on its way.
  const PART_BYTES = 8 * 1024 * 1024; // as MAX_PART_BYTES of ingestion/intake/quotas.py
  const begun = new WeakMap(); // of a file: the name of its upload, and how much of it has come

  async function sendFile(file, stoppable, loaded) {
    if (file.size <= PART_BYTES) return sendOne([["file", file]], stoppable, loaded);
    if (!begun.has(file)) begun.set(file, { upload: drawn(), received: 0 });
    const state = begun.get(file);
    for (;;) {
      const offset = state.received, end = Math.min(offset + PART_BYTES, file.size);
      const fields = [["upload", state.upload], ["offset", offset], ["whole", file.size], ["name", file.name], ["file", file.slice(offset, end), "part"]];
      const answer = await sendOne(fields, stoppable, (sent) => loaded(offset + Math.min(sent, end - offset)));
      if (answer.received === undefined) return answer;
      state.received = answer.received;
      if (answer.token) form.elements.token.value = answer.token;
    }
  }

  // A version 4 UUID (RFC 9562). crypto.randomUUID is there on secure pages alone.
  function drawn() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  // XMLHttpRequest, for fetch cannot tell how much has been sent. `stoppable` is given what stops it.
  function sendOne(fields, stoppable, loaded) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      stoppable(() => request.abort());
      request.upload.addEventListener("progress", (event) => loaded(event.loaded));
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
      request.send(filled([mine(), ["token", form.elements.token.value], ["corrects", form.dataset.corrects], ...fields]));
    });
  }

  return { SignedOut, post, come, digest, sendFile };
};
