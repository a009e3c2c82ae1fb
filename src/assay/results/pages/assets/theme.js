// The colours of the pages: as the system says, light, or dark. The browser remembers the choice.

import { el } from "./dom.js";

const KEY = "assay-theme";
const THEMES = [["", "System"], ["light", "Light"], ["dark", "Dark"]];

// A browser may deny storage; the choice then lasts as long as the page.
function useStorage(action) {
  try {
    return action(localStorage);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return null;
  }
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

// Applies the remembered theme, and returns a select that changes it.
export function themeSelect() {
  const stored = useStorage((storage) => storage.getItem(KEY)) ?? "";
  const theme = THEMES.some(([name]) => name === stored) ? stored : "";
  setTheme(theme);
  const select = el("select", { onchange: () => {
    setTheme(select.value);
    useStorage((storage) => (select.value ? storage.setItem(KEY, select.value) : storage.removeItem(KEY)));
  } }, THEMES.map(([name, label]) => el("option", { value: name, selected: name === theme }, label)));
  return el("label", { class: "theme" }, "Theme ", select);
}
