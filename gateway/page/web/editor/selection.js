// selection.js: what is chosen in the picture, the edge that has been begun there, and where the focus goes next.
// Events: "marked" (something else is chosen or begun), "chosen" (another box), "opened" (its form is wanted).

export class Selection extends EventTarget {
  box = null;  // the id of the box that is chosen; null: the flow itself
  last = null;  // of the box that was chosen before the flow itself
  pending = null;  // the place of the source of the edge that has been begun
  focus = null;  // the key that gets the focus when it is drawn

  choose(id) {
    if (id === this.box) return;
    this.last = this.box ?? this.last;
    this.box = id;
    this.dispatchEvent(new Event("marked"));
    this.dispatchEvent(new Event("chosen"));
  }

  open(id) {
    this.choose(id);
    this.dispatchEvent(new Event("opened"));
  }

  /** An edge from a source; null: none. */
  begin(place) {
    if (place === this.pending) return;
    this.pending = place;
    this.dispatchEvent(new Event("marked"));
  }
}
