// page.js: the page's frame: login, the list of views, and the one that is shown. A view is `show(content, words)`, where words follow its
// name in the address (#flows/fl-01), and returns what ends it.
import { connection, get, request } from "/page/api.js";
import { button, element } from "/page/dom.js";
import { logIn, useLink } from "/page/login.js";
import { show as flows } from "/page/views/flows.js";
import { show as functions } from "/page/views/functions.js";
import { show as hosts } from "/page/views/hosts.js";
import { show as invocations } from "/page/views/invocations.js";
import { show as leases } from "/page/views/leases.js";
import { show as overview } from "/page/views/overview.js";
import { show as pilots } from "/page/views/pilots.js";
import { show as times } from "/page/views/times.js";

const VIEWS = { overview, hosts, pilots, leases, functions, invocations, times, flows };
const TITLES = { overview: "Overview", hosts: "Hosts", pilots: "Pilots", leases: "Leases", functions: "Functions", invocations: "Invocations",
  times: "Time line", flows: "Flows" };

const content = document.getElementById("content");
const status = document.getElementById("connection");
let end = null;  // of the view that is shown
let place = null;  // where views are shown; null: nobody is logged in

function endView() {
  if (end) end();
  end = null;
}

function wordsOf(hash) {
  try {
    return hash.slice(1).split("/").map((word) => decodeURIComponent(word));
  } catch {
    return [""];  // a '%' that is none
  }
}

function openView() {
  if (!place) return;
  endView();
  const [name, ...words] = wordsOf(location.hash);
  const view = Object.hasOwn(VIEWS, name) ? name : "overview";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  place.replaceChildren();
  document.title = `${TITLES[view]} – Orchid`;
  end = VIEWS[view](place, words);
  performance.mark("view");
}

function openFrame(session) {
  const links = Object.keys(VIEWS).map((name, index) =>
    element("a", { href: `#${name}`, "data-view": name, accesskey: index + 1 }, TITLES[name]));
  const leave = button("Log out", async () => {
    await request("DELETE", "/v1/page/session", { quiet: true }).catch(() => {});
    enter("You have logged out.");
  });
  place = element("main", { id: "view", tabindex: -1 });
  content.replaceChildren(
    element("a", { class: "skip", href: "#view", on: { click: (event) => {
      event.preventDefault();
      place.focus();
    } } }, "Skip to the content"),
    element("header", {}, element("strong", {}, "Orchid"), element("nav", { "aria-label": "Views" }, ...links),
      element("span", { class: "who" }, session.tenant), leave),
    place);
  openView();
}

let entering = false;

/** Until somebody is logged in. */
async function enter(why) {
  if (entering) return;
  entering = true;
  endView();
  place = null;
  let session = null;
  while (session === null) {
    try {
      if (why) await logIn(content, why);
      session = await get("/v1/page/session", { quiet: true });
    } catch (error) {
      if (error.status === 401) {
        why = why || " ";
      } else {
        why = error.message;
      }
    }
  }
  entering = false;
  openFrame(session);
}

connection.addEventListener("lost", () => {
  status.textContent = "The gateway does not answer. What you see is what it said last; the page asks again.";
  status.hidden = false;
});
connection.addEventListener("found", () => {
  status.hidden = true;
  status.textContent = "";
});
connection.addEventListener("logged-out", () => enter("Your session is over: log in again."));
window.addEventListener("hashchange", openView);

enter(await useLink(content));
