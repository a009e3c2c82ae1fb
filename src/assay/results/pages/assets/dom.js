// The only module that creates elements. Nothing in these pages parses markup: text from models, datasets and file
// names is only ever set as text.

const SVG = "http://www.w3.org/2000/svg";

// Invisible characters that change how the text around them is displayed, or that cannot be displayed at all.
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

// Returns a text with such characters written as their code points.
export function visible(text) {
  return String(text).replace(UNSEEN, (one) => `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : visible(value));
  }
  append(node, children);
  return node;
}

// Adds children to an element: elements as they are, everything else as text; null and false are skipped.
export function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : visible(child));
  }
}

// Creates an element: el("p", { class: "note" }, "text", el("b", {}, "more")).
// Attributes such as `onclick` are listeners; `style` is an object of properties.
export function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

// Creates an SVG element.
export function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

// Replaces the children of an element.
export function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
}

// Text from outside (models, datasets, people), isolated so that its writing direction does not affect its neighbours.
export function userText(text, attributes) {
  return el("bdi", { dir: "auto", ...attributes }, text);
}
