// Where the data of a comparison comes from: blocks of its own file, or a server.

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

  // What each side knows of a sample; null when the file had no room for it.
  async sides(place) {
    return (await this.detail(place))?.sides ?? null;
  }
}

// A server that looks at the folders; what is compared stands in the address.
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
