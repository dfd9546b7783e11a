// editor.js: builds the editor's parts by hand and connects them, when somebody is logged in.
import { connection, get } from "/page/api.js";
import { element } from "/page/dom.js";
import { logIn } from "/page/login.js";
import { Canvas } from "./canvas.js";
import { check, loadCatalogue } from "./catalogue.js";
import { Commands } from "./commands.js";
import { Display } from "./display.js";
import { keptDraft, keptFiles } from "./files.js";
import { keyboard } from "./keyboard.js";
import { Layout } from "./layout.js";
import { Panel } from "./panel.js";
import { pointing } from "./pointing.js";
import { Reading } from "./reading.js";
import { RunForm } from "./run_form.js";
import { Selection } from "./selection.js";
import { Session } from "./session.js";
import { TextPane } from "./text_pane.js";

const part = (id) => document.getElementById(id);

/** What was done or refused, where everybody sees and hears it. */
function tell(text, isRefused = false) {
  const told = part("told");
  told.textContent = text;
  told.classList.toggle("refused", isRefused);
}

/** As whom somebody works here, also after a link of somebody else. */
async function showWho() {
  const who = await get("/v1/page/session", { quiet: true }).catch(() => null);
  part("who").textContent = who?.tenant ?? "";
}

let session = null;
let loggingIn = null;

/** A login for as long as it takes; the editor below stays as it is. */
function enter(why) {
  loggingIn ??= (async () => {
    part("login").hidden = false;
    await logIn(part("login"), why);
    part("login").hidden = true;
    loggingIn = null;
    showWho();
    session?.checkAgain();
  })();
  return loggingIn;
}

async function catalogueWhenLoggedIn() {
  for (;;) {
    try {
      return await loadCatalogue();
    } catch (error) {
      if (error.status !== 401) {
        tell(`${error.message}; reload the page to try again`, true);
        throw error;
      }
      await enter(error.message);
    }
  }
}

function build(catalogue) {
  const reading = new Reading();
  const first = keptDraft() ?? catalogue.templates.find((template) => template.name === "call")?.text ?? "flow: new\nnodes: {}\n";
  session = new Session(first, check, (text) => reading.read(text), keptFiles());
  const selection = new Selection();
  const canvas = new Canvas(part("canvas"));
  let display = null;
  const runs = new RunForm(part("runs"), session, (states) => display.showStates(states));
  const commands = new Commands({ session, selection, canvas, runs, tell });
  const panel = new Panel(part("panel"), session, catalogue, tell);
  const text = new TextPane(part("source"), part("faults"), commands, (typed, isTyped) => (isTyped ? session.type(typed) : session.replace(typed)));
  const layout = new Layout((why) => tell(why, true));
  display = new Display({ session, selection, canvas, layout, panel, text, tell, verdict: part("verdict"), undo: part("undo"), redo: part("redo") });
  keyboard(canvas.root, commands);
  pointing(canvas, commands);
  session.addEventListener("refused", (event) => tell(event.detail, true));
  part("side").addEventListener("keydown", (event) => {
    if (event.key === "Escape") commands.backToPicture();
  });
  session.start();
  return commands;
}

function setUpTools(commands, catalogue) {
  const templates = new Map(catalogue.templates.map((template) => [template.name, template]));
  part("template").replaceChildren(...catalogue.templates.map(({ name, summary }) => element("option", { value: name, title: summary }, name)));
  part("functions").replaceChildren(...catalogue.functions.map(({ name, signature }) => element("option", { value: name }, signature)));
  const chosen = () => templates.get(part("template").value);
  const actions = {
    new: () => chosen() && commands.newFrom(chosen()), add: () => chosen() && commands.addFrom(chosen()), "add-input": () => commands.addInput(),
    undo: () => commands.undo(), redo: () => commands.redo(), check: () => commands.check(), run: () => commands.run(),
    save: () => commands.save(), "save-svg": () => commands.saveSvg(),
  };
  for (const [id, action] of Object.entries(actions)) part(id).addEventListener("click", action);
  part("open").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) await commands.openFile(file);
    event.target.value = "";
  });
}

connection.addEventListener("logged-out", (event) => enter(event.detail));
connection.addEventListener("lost", () => tell("The gateway does not answer. The picture and the text go on.", true));
connection.addEventListener("found", () => tell("The gateway answers again."));

const catalogue = await catalogueWhenLoggedIn();
showWho();
setUpTools(build(catalogue), catalogue);
document.body.dataset.ready = "true";
