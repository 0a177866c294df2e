// One request at a time: while one is on its way, only the newest wish is kept.

export class Latest {
  constructor(work) {
    this.work = work;
    this.wanted = false;
    this.busy = null;
  }

  /** Resolves when nothing is wanted any more. */
  ask() {
    this.wanted = true;
    this.busy ??= this.run();
    return this.busy;
  }

  async run() {
    try {
      while (this.wanted) {
        this.wanted = false;
        await this.work();
      }
    } finally {
      this.busy = null;
    }
  }
}
