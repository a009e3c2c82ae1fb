// Data sources of a page: blocks of its own HTML file, or a server. Both have the same interface.

import { GONE, LOST, showNotice } from "./notice.js";

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const read = atob(text);
  const bytes = new Uint8Array(read.length);
  for (let at = 0; at < read.length; at++) bytes[at] = read.charCodeAt(at);
  return bytes;
}

async function unpacked(block) {
  const bytes = bytesOf(block.textContent);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// The script runs before the whole file is parsed, so that the top of the page appears at once.
async function fileRead() {
  if (document.readyState === "loading") await new Promise((resolve) => addEventListener("DOMContentLoaded", resolve, { once: true }));
}

// Blocks of compressed JSON inside the page.
export class FileSource {
  constructor() {
    this.isLive = false;
    this.opened = new Map();
  }

  static isHere() {
    return document.getElementById("run") !== null;
  }

  async block(name) {
    if (!document.getElementById(name)) await fileRead();
    const found = document.getElementById(name);
    if (!found) throw new Error(`this page has no ${name}`);
    return unpacked(found);
  }

  async run() {
    const run = await this.block("run");
    this.where = new Map();
    run.in_file.blocks.forEach((places, block) => places.forEach((place, nth) => this.where.set(place, [block, nth])));
    return run;
  }

  table() {
    return this.block("table");
  }

  // Returns a complete sample; null if the file omits it. Media come last in the file.
  async detail(place) {
    await fileRead();
    const [block, nth] = this.where.get(place) ?? [null, null];
    if (block === null) return null;
    if (!this.opened.has(block)) {
      if (this.opened.size > 20) this.opened.clear();
      this.opened.set(block, this.block(`details-${block}`));
    }
    return (await this.opened.get(block))[nth];
  }

  // Returns the address of a medium; null if the file does not contain it.
  media(sha256) {
    const found = document.getElementById(`media-${sha256}`);
    return found ? `data:${found.dataset.type};base64,${found.textContent}` : null;
  }
}

// Returns the JSON of a response. Throws an error with status and problem if the server rejects the request.
export async function answered(response) {
  if (response.ok) return response.status === 204 ? null : response.json();
  const problem = await response.json().catch(() => null);
  const error = new Error(problem?.what ?? `the server answered ${response.status} ${response.statusText}`);
  error.status = response.status;
  error.problem = problem?.code ? problem : null;
  throw error;
}

export async function fetched(path) {
  return answered(await fetch(path, { headers: { accept: "application/json" } }));
}

const STILL = "Live updates are not available. Reload the page to see changes.";

// Calls back on each change event of the server, and after each reconnection, since events may have been missed.
// Returns a function that ends it.
export function watched(path, callback) {
  const events = new EventSource(path);
  let isBusy = false;
  let isAgain = false;
  const gone = () => {
    events.close();
    showNotice(GONE);
  };
  // One callback at a time: each fetch builds on the previous one.
  const heard = async () => {
    isAgain = true;
    if (isBusy) return;
    isBusy = true;
    try {
      while (isAgain) {
        isAgain = false;
        await callback();
      }
      showNotice(events.readyState === EventSource.CLOSED ? STILL : null);
    } catch (error) {
      if (error.status !== 404) throw error;
      gone();
    } finally {
      isBusy = false;
    }
  };
  events.addEventListener("open", heard);
  events.addEventListener("changed", heard);
  events.addEventListener("gone", gone);
  // The browser does not retry a connection that the server rejects: fetch instead, to show the reason.
  events.addEventListener("error", () => (events.readyState === EventSource.CLOSED ? heard() : showNotice(LOST)));
  return () => events.close();
}

// A server that reads the run folder.
export class ServerSource {
  constructor(name) {
    this.isLive = true;
    this.name = name;
    this.root = `/data/runs/${encodeURIComponent(name)}`;
  }

  run() {
    return fetched(this.root);
  }

  // Returns the samples; with `had`, only those from the first new or changed one on.
  table(had = null) {
    return fetched(`${this.root}/samples${had ? `?${new URLSearchParams({ first: had.n, revision: had.revision, changes: had.changes })}` : ""}`);
  }

  detail(place) {
    return fetched(`${this.root}/samples/${place}`);
  }

  media(sha256) {
    return `${this.root}/media/${sha256}`;
  }

  // Calls back when the run has grown; returns a function that ends it.
  watch(callback) {
    return watched(`${this.root}/events`, callback);
  }
}
