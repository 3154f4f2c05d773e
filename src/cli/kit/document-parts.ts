import { timestamp } from './text.ts';

/** An error in a document. */
export interface DocumentError {
  readonly code: string;
  readonly message: string;
  /** What to do. */
  readonly next: string;
}

/** Seconds are whole; a time is `2026-01-02T03:04:05Z` (RFC 3339). */
export type Time = string;

/** @param epoch in seconds */
export function timeOrNull(epoch: number | undefined): Time | null {
  return epoch === undefined ? null : timestamp(epoch);
}
