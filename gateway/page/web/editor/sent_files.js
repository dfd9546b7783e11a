// sent_files.js: the files of nodes of kind `flow`, which go to the gateway with the flow: choosing them, and taking them away.
import { button, element } from "/page/dom.js";

const largest = 4 * 1024 * 1024;
const ending = ".yaml,.yml,.json";

/** As the gateway looks for it: beside the flow, without detours. */
function plain(path) {
  const parts = [];
  for (const part of path.split("/")) {
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

/** A button to choose a file, whose text goes to `taken(name, text)`. */
function chooser(id, label, tell, taken) {
  const input = element("input", { type: "file", id, accept: ending, on: { change: async () => {
    const [file] = input.files;
    input.value = "";
    if (!file) return;
    if (file.size > largest) tell(`'${file.name}' is larger than 4 MiB.`, true);
    else taken(file.name, await file.text());
  } } });
  return [element("label", { class: "button", for: id }, label), input];
}

/** For the form of a node of kind flow: the file that it names, if it names one. */
export function fileOfNode(session, named, setName, tell) {
  const name = typeof named === "string" && named !== "" && named !== "?" ? plain(named) : "";
  const state = name === "" ? "" : Object.hasOwn(session.files, name) ? `'${name}' is sent along.` : `'${name}' is not sent along yet.`;
  return element("div", { class: "row files" }, element("p", { id: "panel-file-state" }, state), ...chooser("panel-file-choose", "Choose its file", tell, (chosen, text) => {
    session.setFile(name || chosen, text);
    if (name === "") setName(chosen);
    tell(`'${chosen}' is sent along with the flow${name && name !== chosen ? ` as '${name}'` : ""}.`);
  }));
}

/** For the form of the flow as a whole: all of them; nested ones have nodes of kind flow themselves. */
export function sentFiles(session, tell) {
  const names = Object.keys(session.files).sort();
  return [element("h3", {}, "Files of nodes of kind flow"),
    names.length === 0 ? null : element("ul", { id: "panel-files" }, ...names.map((name) => element("li", {}, `${name} `,
      button("take away", () => session.setFile(name), { "aria-label": `take ${name} away` })))),
    element("p", {}, ...chooser("panel-file-add", "Send a file along", tell, (name, text) => {
      session.setFile(name, text);
      tell(`'${name}' is sent along with the flow.`);
    }))];
}
