// pointing.js: mouse, pen and finger on the picture: press a box to choose it, or beside all boxes to choose the flow; draw from an output to a
// port to connect them.

/** `commands` as in keyboard.js. */
export function pointing(canvas, commands) {
  const root = canvas.root;
  const keyAt = (event) => event.target.closest?.("[data-key]")?.dataset.key ?? null;
  let from = null;  // the source from which a wire is drawn
  const beside = () => {
    if (!commands.cancel()) commands.selectFlow();
  };
  root.addEventListener("pointerdown", (event) => {
    const key = keyAt(event);
    from = key?.startsWith("s:") ? key.slice(2) : null;
  });
  root.addEventListener("pointermove", (event) => {
    if (from === null || event.buttons === 0) return;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(root.getScreenCTM().inverse());
    canvas.wire(from, [at.x, at.y]);
  });
  root.addEventListener("pointerup", (event) => {
    const key = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-key]")?.dataset.key ?? null;
    canvas.wire(null);
    const begun = from;
    from = null;
    if (key === null) return begun === null ? beside() : commands.cancel();
    if (begun !== null && key !== `s:${begun}`) {
      if (key.startsWith("p:")) commands.connect(begun, key.slice(2));
      else if (key.startsWith("new:")) commands.connect(begun, "+");
      return undefined;
    }
    return key.startsWith("s:") || key.startsWith("p:") ? commands.press(key) : commands.select(key);
  });
  root.addEventListener("pointerleave", () => canvas.wire(null));
  // The drawing may be smaller than the place that it has.
  root.parentElement.addEventListener("click", (event) => {
    if (event.target !== root.parentElement) return;
    if (from === null) beside();
    from = null;
  });
}
