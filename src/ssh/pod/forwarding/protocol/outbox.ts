import { frameCost, fullOutbox, mostOutbox } from './limits.ts';

/** Frames that wait for the stream to the pod, in order, and what they cost. */
export class Outbox {
  #waiting: Buffer[] = [];
  #cost = 0;

  /** @param frame Kept until it is filled in. */
  push(frame: Buffer): void {
    this.#waiting.push(frame);
    this.#cost += frame.length + frameCost;
  }

  /** Only what cannot wait elsewhere is to come now. */
  isFull(): boolean {
    return this.#cost >= fullOutbox;
  }

  /** More than an honest other half ever makes us say. */
  isOverfull(): boolean {
    return this.#cost >= mostOutbox;
  }

  isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Fills a place of the stream. @returns how many bytes stand in it now */
  fill(place: Buffer): number {
    let size = 0;
    let done = 0;
    for (const frame of this.#waiting) {
      const count = frame.copy(place, size);
      size += count;
      this.#cost -= count;
      if (count < frame.length) {
        this.#waiting[done] = frame.subarray(count);
        break;
      }
      this.#cost -= frameCost;
      done += 1;
    }
    this.#waiting.splice(0, done);
    return size;
  }

  clear(): void {
    this.#waiting = [];
    this.#cost = 0;
  }
}
