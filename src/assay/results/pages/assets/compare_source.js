// Data sources of a comparison: blocks of its own HTML file, or a server.

import { FileSource, fetched } from "./source.js";

export class CompareFile extends FileSource {
  static isHere() {
    return document.getElementById("comparison") !== null;
  }

  async page() {
    const page = await this.block("comparison");
    this.where = new Map();
    page.in_file.blocks.forEach((places, block) => places.forEach((place, nth) => this.where.set(place, [block, nth])));
    return page;
  }

  // Returns a sample as each side has it; null if the file omits it.
  async sides(place) {
    return (await this.detail(place))?.sides ?? null;
  }
}

// A server that reads the run folders; the address names the runs to compare.
export class CompareServer {
  constructor(query) {
    this.query = query;
  }

  async page() {
    this.found = fetched(`/data/compare${this.query}`);
    this.names = (await this.found).sides.map((side) => side.folder);
    return this.found;
  }

  async table() {
    this.columns = fetched(`/data/compare/samples${this.query}`);
    return this.columns;
  }

  media(sha256, side) {
    return `/data/runs/${encodeURIComponent(this.names[side])}/media/${sha256}`;
  }

  async sides(place) {
    const [page, columns] = await Promise.all([this.found, this.columns]);
    return Promise.all(page.sides.map((_, at) => {
      const here = columns.places[at][place];
      return here < 0 ? null : fetched(`/data/runs/${encodeURIComponent(this.names[at])}/samples/${here}`);
    }));
  }
}
