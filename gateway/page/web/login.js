// login.js: who is there: by a link that `orchid dashboard` prints, or by a token.
import { request, Refused } from "/page/api.js";
import { element } from "/page/dom.js";

/** The secret of a one-time link is behind '#', where no server sees it; it is taken out of the address at once. */
export async function useLink() {
  const match = /^#link=([0-9a-f]+)$/.exec(location.hash);
  if (!match) return null;
  history.replaceState(null, "", "/");
  try {
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
