// The sign-in form. It sends the token to the server; no page stores it.

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
    replace(trouble, response.status === 401 ? "This token is not valid on this server." : "The server rejected the request.");
    trouble.hidden = false;
  }
  replace(main, el("form", { class: "sign-in", onsubmit: send },
    el("h1", {}, "Sign in"),
    el("p", {}, "Enter your access token. The server prints it at startup; otherwise ask its owner."),
    token, trouble, el("button", { type: "submit", class: "plain" }, "Continue")));
  token.focus();
}
