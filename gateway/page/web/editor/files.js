// files.js: texts that go to the user's disk, and the draft that the browser keeps.

const draftKey = "orchid.flow.draft";
const filesKey = "orchid.flow.files";

export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken what it needs when the click's own work is done.
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** A name that every file system has: what a flow is called may be anything. */
export const fileName = (name, ending) => `${name.replace(/[^A-Za-z0-9_-]/g, "").slice(0, 64) || "flow"}.${ending}`;

/** A browser may keep nothing, and then says so. */
export function keepDraft(text) {
  try {
    localStorage.setItem(draftKey, text);
    return true;
  } catch {
    return false;
  }
}

export function keepFiles(files) {
  try {
    localStorage.setItem(filesKey, JSON.stringify(files));
    return true;
  } catch {
    return false;
  }
}

/** Texts by name. */
export function keptFiles() {
  try {
    const kept = JSON.parse(localStorage.getItem(filesKey) ?? "{}");
    return Object.fromEntries(Object.entries(kept).filter(([, text]) => typeof text === "string"));
  } catch {
    return {};
  }
}

export function keptDraft() {
  try {
    return localStorage.getItem(draftKey);
  } catch {
    return null;
  }
}
