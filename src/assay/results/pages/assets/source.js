// Where a page's data comes from: blocks of its own file, or a server. Both give the same things.

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

// The script runs before all of the file is read, so that its beginning is seen at once.
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

  // A sample in full; null when the file had no room for it. Its pictures come last in the file.
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

  // The address of a picture or a sound; null when the file does not hold it.
  media(sha256) {
    const found = document.getElementById(`media-${sha256}`);
    return found ? `data:${found.dataset.type};base64,${found.textContent}` : null;
  }
}

// The JSON of an answer. A refusal is thrown, with its status and the problem that it tells.
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

const STILL = "The server does not keep this page up to date: load it again to see what is new.";

// Calls back when the server says that something changed, and when the line to it is there again, as nobody knows what
// was missed; returns what ends it.
export function watched(path, callback) {
  const events = new EventSource(path);
  let isBusy = false;
  let isAgain = false;
  const gone = () => {
    events.close();
    showNotice(GONE);
  };
  // One at a time: what is fetched builds on what was fetched before.
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
  // A line that the server refuses is not tried again by the browser: what it says otherwise tells why.
  events.addEventListener("error", () => (events.readyState === EventSource.CLOSED ? heard() : showNotice(LOST)));
  return () => events.close();
}

// A server that looks at the folder.
export class ServerSource {
  constructor(name) {
    this.isLive = true;
    this.root = `/data/runs/${encodeURIComponent(name)}`;
  }

  run() {
    return fetched(this.root);
  }

  // The samples; for who has a table already, from the first that is new or other.
  table(had = null) {
    return fetched(`${this.root}/samples${had ? `?${new URLSearchParams({ first: had.n, revision: had.revision, changes: had.changes })}` : ""}`);
  }

  detail(place) {
    return fetched(`${this.root}/samples/${place}`);
  }

  media(sha256) {
    return `${this.root}/media/${sha256}`;
  }

  // Calls back when the run has grown; returns what ends it.
  watch(callback) {
    return watched(`${this.root}/events`, callback);
  }
}
