// The state of the page, kept in the address after the `#`, so that a link opens the same view for everyone.

export function stateNow() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

// Changes the address; null removes a name. With `isStep`, the change becomes an entry of the browser history.
export function setState(changes, { isStep = false } = {}) {
  const state = { ...stateNow(), ...changes };
  for (const [name, value] of Object.entries(state)) if (value === null || value === "") delete state[name];
  const hash = `#${new URLSearchParams(state)}`;
  if (hash === (location.hash || "#")) return;
  // A browser may not allow a page opened from disk to change its history; then set the hash itself.
  try {
    history[isStep ? "pushState" : "replaceState"](null, "", hash);
    dispatchEvent(new Event("addresschange"));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    location.hash = hash;
  }
}

// Calls back whenever the state in the address changes.
export function onState(callback) {
  for (const name of ["addresschange", "popstate", "hashchange"]) addEventListener(name, () => callback(stateNow()));
}

// Returns a link to a state of this page.
export function linkTo(changes) {
  const state = { ...stateNow(), ...changes };
  for (const [name, value] of Object.entries(state)) if (value === null || value === "") delete state[name];
  return `#${new URLSearchParams(state)}`;
}
