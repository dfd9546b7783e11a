// keyboard.js: the picture without a mouse. Tab goes through boxes and ports; arrow keys go to the nearest one in their direction.

const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The nearest of `places` ([x, y]) from `here` in a direction; -1: there is none. What lies aside counts twice. */
export function nearest(here, places, [dx, dy]) {
  let best = -1;
  let least = Infinity;
  places.forEach(([x, y], index) => {
    const along = (x - here[0]) * dx + (y - here[1]) * dy;
    const aside = Math.abs((x - here[0]) * dy) + Math.abs((y - here[1]) * dx);
    const far = along + 2 * aside;
    if (along > 1 && far < least) {
      least = far;
      best = index;
    }
  });
  return best;
}

/** `commands`: press(key), connect(from, to), select(key), open(key), remove(key), cancel(), selectFlow(), openFlow(), undo(), redo(), save(),
 * run(). */
export function keyboard(root, commands) {
  root.addEventListener("keydown", (event) => {
    const key = event.target.dataset?.key;
    if (!key || event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = directions[event.key];
    if (direction) move(root, event.target, direction);
    else if (event.key === "Enter" || event.key === " ") key.startsWith("s:") || key.startsWith("p:") ? commands.press(key) : commands.open(key);
    else if (event.key === "Delete" || event.key === "Backspace") commands.remove(key);
    else if (event.key === "Escape") commands.cancel() || commands.openFlow();
    else return;
    event.preventDefault();
  });
  root.addEventListener("focusin", (event) => {
    if (event.target.dataset?.key) commands.select(event.target.dataset.key);
  });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    const name = `${event.shiftKey ? "Shift-" : ""}${event.key.toLowerCase()}`;
    const command = { z: "undo", "Shift-z": "redo", y: "redo", s: "save", enter: "run" }[name];
    if (!command) return;
    event.preventDefault();
    commands[command]();
  });
}

function move(root, element, direction) {
  const middle = (one) => {
    // Of a box the head, so that its ports lie below it.
    const { left, top, width } = one.getBoundingClientRect();
    const circle = one.querySelector(":scope > circle")?.getBoundingClientRect();
    return circle ? [circle.left + 5, circle.top + 5] : [left + width / 2, top + 10];
  };
  const others = [...root.querySelectorAll("[data-key]")].filter((one) => one !== element);
  const index = nearest(middle(element), others.map(middle), direction);
  if (index >= 0) others[index].focus();
}
