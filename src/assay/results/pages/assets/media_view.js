// An image, audio clip or video of a prompt; one that was not stored with the run is named instead.

import { el, userText } from "./dom.js";
import { count } from "./numbers.js";

const ELEMENTS = {
  image: (src, name) => el("img", { src, alt: name }),
  audio: (src, name) => el("audio", { src, controls: true, preload: "metadata", "aria-label": name }),
  video: (src, name) => el("video", { src, controls: true, preload: "metadata", "aria-label": name }),
};

export function mediaName(part) {
  const where = part.path || part.url || `${part.media_type ?? ""} of ${count(part.n_bytes ?? 0)} bytes`.trim();
  return [where, part.extent].filter(Boolean).join(" ");
}

// `address` is the URL of the medium; null if it is not stored.
export function mediaView(part, address) {
  const missing = el("p", { class: "missing" }, `This ${part.type} was not stored with the run.`);
  const shown = address === null ? missing : ELEMENTS[part.type](address, mediaName(part));
  shown.addEventListener("error", () => shown.replaceWith(missing));
  const size = part.n_bytes ? `, ${count(part.n_bytes)} bytes` : "";
  return el("figure", { class: `medium ${part.type}` }, shown,
    el("figcaption", {}, `${part.type} `, userText(mediaName(part)), part.media_type ? ` (${part.media_type}${size})` : size));
}
