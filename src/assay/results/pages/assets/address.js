// What is shown stands in the address, after the `#`, so that a link shows the same to whoever gets it.

export function stateNow() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

// Changes the address: null takes a name away. A further step can be gone back from; a correction cannot.
export function setState(changes, { isStep = false } = {}) {
  const state = { ...stateNow(), ...changes };
  for (const [name, value] of Object.entries(state)) if (value === null || value === "") delete state[name];
  const hash = `#${new URLSearchParams(state)}`;
  if (hash === (location.hash || "#")) return;
  // A page opened from a disk may be kept from changing its history; then the hash itself is set.
  try {
    history[isStep ? "pushState" : "replaceState"](null, "", hash);
    dispatchEvent(new Event("addresschange"));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    location.hash = hash;
  }
}

// Calls back whenever what the address says has changed, by whatever way.
export function onState(callback) {
  for (const name of ["addresschange", "popstate", "hashchange"]) addEventListener(name, () => callback(stateNow()));
}

// A link to a state of this page.
export function linkTo(changes) {
  const state = { ...stateNow(), ...changes };
  for (const [name, value] of Object.entries(state)) if (value === null || value === "") delete state[name];
  return `#${new URLSearchParams(state)}`;
}
