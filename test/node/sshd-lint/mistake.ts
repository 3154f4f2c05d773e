import { expect } from 'vitest';
import type { SshdFindingCode } from '../../../src/sshd-lint/rules/finding.ts';

/** Puts a line before the example's own: of a keyword the first value counts. */
export const before = (line: string) => (text: string) => `${line}\n${text}`;
export const instead = (old: string, fresh: string) => (text: string) => {
  expect(text).toContain(old);
  return text.replace(old, fresh);
};
/** Into the section of a Match, at the end. */
export const after = (lines: string) => (text: string) => `${text}\n${lines}\n`;

export interface Mistake {
  readonly what: string;
  readonly seed: (text: string) => string;
  readonly code: SshdFindingCode;
  readonly severity?: 'door' | 'weakness' | 'advice';
  readonly args?: readonly string[];
  /** Others that come with it. */
  readonly also?: readonly SshdFindingCode[];
}
