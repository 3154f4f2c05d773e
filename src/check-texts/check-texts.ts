import { clusterCheckTexts } from './cluster-check-texts.ts';
import { loginNodeCheckTexts } from './login-node-check-texts.ts';
import { portalCheckTexts } from './portal-check-texts.ts';

/** A check of `berth doctor` for `berth explain`. */
export interface CheckText {
  /** What it looks at. */
  readonly what: string;
  /** What a failure means. */
  readonly why: string;
  readonly next: string;
}

/** All checks by their names, as `berth doctor` prints them. */
export const checkTexts = { ...portalCheckTexts, ...clusterCheckTexts, ...loginNodeCheckTexts };

export type CheckId = keyof typeof checkTexts;
