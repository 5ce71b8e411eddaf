/** A tag that was kept, until it is known whether it has its other half. */
export interface KeptTag {
  /** Which of the pieces it is. */
  at: number;
  name: string;
  isEnd: boolean;
  scope: number;
  /** What stands in its place when it has no other half. */
  unpaired: string;
}

/** A text that is being written, in pieces that may still be changed. */
export class Pieces {
  readonly list: string[] = [];
  readonly tags: KeptTag[] = [];

  add(piece: string): number {
    return this.list.push(piece) - 1;
  }

  set(at: number, piece: string): void {
    this.list[at] = piece;
  }

  putBefore(at: number, text: string): void {
    this.list[at] = text + (this.list[at] ?? '');
  }

  /** Takes out every tag from a piece on, as in an image's description, which is an attribute. */
  dropTagsFrom(at: number): void {
    for (let last = this.tags.at(-1); last !== undefined && last.at > at; last = this.tags.at(-1)) {
      this.set(last.at, '');
      this.tags.pop();
    }
  }
}
