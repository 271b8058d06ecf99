// The requests of the upload form: files of the draft, and the upload of one file at a time.
"use strict";
/* global tus */
globalThis.slTransport = (form, text) => {
  class SignedOut extends Error {}

  const headers = { Accept: "application/json" };
  // After a new sign-in in another tab, this page has an old CSRF token. The cookie has the current one.
  const token = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] || form.elements.csrfmiddlewaretoken.value;
  const csrfField = () => ["csrfmiddlewaretoken", token()];

  function createFormData(pairs) {
    const data = new FormData();
    for (const pair of pairs) data.append(...pair);
    return data;
  }

  async function request(address, options) {
    const answer = await fetch(address, { headers, redirect: "manual", cache: "no-store", ...options });
    if (answer.type === "opaqueredirect") throw new SignedOut();
    if (answer.status >= 500) throw new Error(String(answer.status));
    return answer;
  }

  const post = (address, fields) => request(address, { method: "POST", body: createFormData([csrfField(), ...Object.entries(fields)]) });

  // Return the files of the draft that the server has.
  async function listFiles() {
    const answer = await request(`${form.dataset.files}?corrects=${form.dataset.corrects}`);
    return (await answer.json()).files;
  }

  // Return the SHA-256 of a file; "" if the browser does not offer it, as on pages without HTTPS.
  async function computeDigest(file) {
    if (!crypto.subtle) return "";
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
    return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  // Files are sent as resumable uploads (tus 1.0): after a lost connection, only the current part is repeated.
  const PART_BYTES = 8 * 1024 * 1024; // as MAX_PART_BYTES of ingestion/intake/quotas.py
  const uploadUrls = new WeakMap(); // by file
  const addToken = (tusRequest) => tusRequest.setHeader("X-CSRFToken", token());

  // Upload a file and add it to the draft. Return the response of the server.
  // `setStop` receives a function that stops the upload. `onProgress` receives the number of bytes sent.
  async function sendFile(file, setStop, onProgress) {
    const refusal = await sendBytes(file, setStop, onProgress);
    if (refusal) return refusal;
    const answer = await post(form.dataset.files, { upload_id: uploadUrls.get(file).split("/").at(-2) });
    if (answer.status === 404 || answer.status === 409) {
      uploadUrls.delete(file);
      throw new Error(String(answer.status));
    }
    return answer.json();
  }

  function sendBytes(file, setStop, onProgress) {
    return new Promise((resolve, reject) => {
      const upload = new tus.Upload(file, {
        endpoint: form.dataset.uploads,
        uploadUrl: uploadUrls.get(file) || null,
        chunkSize: PART_BYTES,
        retryDelays: null, // upload.js retries
        storeFingerprintForResuming: false, // it would leave file names on a shared computer
        metadata: { filename: file.name, token: form.elements.token.value, corrects: form.dataset.corrects },
        onBeforeRequest: addToken,
        onUploadUrlAvailable: () => uploadUrls.set(file, upload.url),
        onProgress,
        onSuccess: () => resolve(null),
        onError: (error) => handleError(file, error.originalResponse, resolve, reject),
      });
      setStop(() => { upload.abort(); reject(new Error("abort")); });
      upload.start();
    });
  }

  // A refusal resolves with its sentence. Every other error rejects, so that upload.js retries.
  function handleError(file, response, resolve, reject) {
    const status = response?.getStatus() ?? 0;
    if (status === 401) return reject(new SignedOut());
    if (status === 404 || status === 410) uploadUrls.delete(file);
    if (!status || status >= 500 || [404, 409, 410].includes(status)) return reject(new Error(String(status)));
    let answer = null;
    try { answer = JSON.parse(response.getBody()); } catch { /* the response is not from SiteLedger */ }
    return resolve(answer || { message: text("NotReceived", { status }) });
  }

  // Delete the received bytes of a file that the person removed.
  function abandonUpload(file) {
    if (uploadUrls.has(file)) tus.Upload.terminate(uploadUrls.get(file), { onBeforeRequest: addToken }).catch(() => undefined);
  }

  return { SignedOut, post, listFiles, computeDigest, sendFile, abandonUpload };
};
