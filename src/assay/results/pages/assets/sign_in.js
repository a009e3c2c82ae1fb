// What is shown to who has shown no token yet. The token goes to the server and is kept by no page.

import { el, replace } from "./dom.js";

export function showSignIn(main) {
  const token = el("input", { type: "password", autocomplete: "current-password", required: true, maxlength: 512, "aria-label": "Token" });
  const trouble = el("p", { class: "trouble", role: "alert", hidden: true });
  async function send(event) {
    event.preventDefault();
    const response = await fetch("/session", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token: token.value.trim() }) });
    if (response.ok) {
      location.reload();
      return;
    }
    replace(trouble, response.status === 401 ? "This token does not count here." : "The server did not take it.");
    trouble.hidden = false;
  }
  replace(main, el("form", { class: "sign-in", onsubmit: send },
    el("h1", {}, "A token is needed"),
    el("p", {}, "It was printed where the server was started, or its owner gave it to you."),
    token, trouble, el("button", { type: "submit", class: "plain" }, "Open")));
  token.focus();
}
