/** A check of `berth doctor` for `berth explain`. */
export interface CheckText {
  /** What it looks at. */
  readonly what: string;
  /** What a failure means. */
  readonly why: string;
  readonly next: string;
}
