// How the upload form talks to the server: small questions, one file at a time, and what has come.
"use strict";
/* global tus */
globalThis.slTransport = (form, text) => {
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

  // Files are sent as resumable uploads (tus 1.0): a lost connection costs the part that was on its way.
  const PART_BYTES = 8 * 1024 * 1024; // as MAX_PART_BYTES of ingestion/intake/quotas.py
  const begun = new WeakMap(); // of a file: the address of its upload
  const protect = (request) => request.setHeader("X-CSRFToken", token());

  // Return what the server says of the file. `stoppable` is given what stops it, `loaded` the bytes sent.
  async function sendFile(file, stoppable, loaded) {
    const refused = await sendBytes(file, stoppable, loaded);
    if (refused) return refused;
    const answer = await post(form.dataset.files, { finished: begun.get(file).split("/").at(-2) });
    if (answer.status === 404 || answer.status === 409) {
      begun.delete(file);
      throw new Error(String(answer.status));
    }
    return answer.json();
  }

  function sendBytes(file, stoppable, loaded) {
    return new Promise((resolve, reject) => {
      const upload = new tus.Upload(file, {
        endpoint: form.dataset.uploads,
        uploadUrl: begun.get(file) || null,
        chunkSize: PART_BYTES,
        retryDelays: null, // upload.js tries again
        storeFingerprintForResuming: false, // it would leave names of files on a shared computer
        metadata: { filename: file.name, token: form.elements.token.value, corrects: form.dataset.corrects },
        onBeforeRequest: protect,
        onUploadUrlAvailable: () => begun.set(file, upload.url),
        onProgress: loaded,
        onSuccess: () => resolve(null),
        onError: (error) => failed(file, error.originalResponse, resolve, reject),
      });
      stoppable(() => { upload.abort(); reject(new Error("abort")); });
      upload.start();
    });
  }

  // A refusal is an answer, with a sentence; everything else is tried again.
  function failed(file, response, resolve, reject) {
    const status = response?.getStatus() ?? 0;
    if (status === 401) return reject(new SignedOut());
    if (status === 404 || status === 410) begun.delete(file);
    if (!status || status >= 500 || [404, 409, 410].includes(status)) return reject(new Error(String(status)));
    let answer = null;
    try { answer = JSON.parse(response.getBody()); } catch { /* not ours */ }
    return resolve(answer || { message: text("NotReceived", { status }) });
  }

  // Its person has removed the file: what has come of it goes.
  function abandon(file) {
    if (begun.has(file)) tus.Upload.terminate(begun.get(file), { onBeforeRequest: protect }).catch(() => undefined);
  }

  return { SignedOut, post, come, digest, sendFile, abandon };
};
