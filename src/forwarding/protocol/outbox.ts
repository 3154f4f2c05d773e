import { frameCost, fullOutbox, maxOutbox } from './limits.ts';

/** Frames that wait to be sent to the pod, in order, and their cost. */
export class Outbox {
  #waiting: Buffer[] = [];
  #cost = 0;

  /** @param frame must not be changed until it has been copied by `fill` */
  push(frame: Buffer): void {
    this.#waiting.push(frame);
    this.#cost += frame.length + frameCost;
  }

  /** Whether only frames that cannot wait elsewhere should be added. */
  isFull(): boolean {
    return this.#cost >= fullOutbox;
  }

  /** Whether there is more than Berth's own helper ever causes. */
  isOverfull(): boolean {
    return this.#cost >= maxOutbox;
  }

  isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Copies waiting bytes into a buffer. @returns how many */
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
