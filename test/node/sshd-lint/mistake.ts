import { expect } from 'vitest';
import type { SshdFindingCode } from '../../../src/setup/sshd-lint/rules/sshd-finding.ts';

/** Inserts a line before those of the example: sshd uses the first value of a keyword. */
export const before = (line: string) => (text: string) => `${line}\n${text}`;
export const instead = (old: string, fresh: string) => (text: string) => {
  expect(text).toContain(old);
  return text.replace(old, fresh);
};
/** Appends to the last Match section. */
export const after = (lines: string) => (text: string) => `${text}\n${lines}\n`;

export interface Mistake {
  readonly what: string;
  readonly seed: (text: string) => string;
  readonly code: SshdFindingCode;
  readonly severity?: 'critical' | 'weakness' | 'advice';
  readonly args?: readonly string[];
  /** Other codes that are reported with it. */
  readonly also?: readonly SshdFindingCode[];
}
