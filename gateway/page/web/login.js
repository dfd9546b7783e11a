// login.js: who is there: by a link that `orchid dashboard` prints, or by a token.
import { get, request, Refused } from "/page/api.js";
import { button, element } from "/page/dom.js";

/** Whether whoever is logged in wants to be somebody else: the link may be of a stranger, who would see what is done from then on. */
function mayReplace(content, session) {
  return new Promise((resolve) => {
    content.replaceChildren(element("form", { class: "login", on: { submit: (event) => {
      event.preventDefault();
      resolve(true);
    } } },
      element("h1", {}, "Orchid"),
      element("p", {}, `You are logged in as ${session.tenant}, and a link wants to log you in anew, perhaps as somebody else.`),
      element("button", { type: "submit", id: "by-link" }, "Log in by the link"), button("Stay as I am", () => resolve(false))));
  });
}

/** The secret of a one-time link is behind '#', where no server sees it; it is taken out of the address at once. */
export async function useLink(content) {
  const match = /^#link=([0-9a-f]+)$/.exec(location.hash);
  if (!match) return null;
  history.replaceState(null, "", "/");
  try {
    const session = await get("/v1/page/session", { quiet: true }).catch((error) => {
      if (error.status === 401) return null;
      throw error;  // somebody may be logged in
    });
    if (session !== null && !await mayReplace(content, session)) return null;
    await request("POST", "/v1/page/session", { body: { link: match[1] }, quiet: true });
    return null;
  } catch (error) {
    return error.message;
  }
}

/** Ends when somebody has logged in. */
export function logIn(content, why) {
  return new Promise((resolve) => {
    const token = element("input", { id: "token", type: "password", autocomplete: "off", required: true, spellcheck: "false" });
    const fault = element("p", { class: "fault", role: "alert" }, why || "");
    const submit = element("button", { type: "submit" }, "Log in");
    const form = element("form", { class: "login", on: { submit: async (event) => {
      event.preventDefault();
      submit.disabled = true;
      try {
        await request("POST", "/v1/page/session", { body: { token: token.value.trim() }, quiet: true });
        token.value = "";
        resolve();
      } catch (error) {
        fault.textContent = error instanceof Refused ? error.message : "The gateway does not answer. Try again.";
        submit.disabled = false;
      }
    } } },
      element("h1", {}, "Orchid"),
      element("p", {}, "Run ", element("code", {}, "orchid dashboard"), " where your Orchid runs: it prints a link that logs you in. Or paste what ",
        element("code", {}, "orchid token"), " prints:"),
      element("label", { for: "token" }, "Token"), token, submit, fault);
    content.replaceChildren(form);
    token.focus();
  });
}
