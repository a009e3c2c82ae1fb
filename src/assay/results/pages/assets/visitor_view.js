// The visitor in the navigation bar: name, role, sign in and sign out.

import { append, el, userText } from "./dom.js";
import { showSignIn } from "./sign_in.js";
import { visitor } from "./team_api.js";

export async function showVisitor(bar, main) {
  const who = await visitor();
  const leave = async () => {
    await fetch("/session", { method: "DELETE" });
    location.reload();
  };
  append(bar, [el("span", { class: "visitor" },
    who.name === null ? "read-only" : [userText(who.name), el("span", { class: "role" }, who.role)],
    who.name === null
      ? el("button", { type: "button", class: "link", onclick: () => showSignIn(main) }, "Sign in")
      : el("button", { type: "button", class: "link", onclick: leave }, "Sign out"))]);
}
