import { expect, it } from 'vitest';
import { codeBlocks, pageText } from '../../rig/markdown-pages.ts';

/** Recorded on the test site by test/site-exclusive/docs/recordings.test.ts. */
const recorded = pageText('docs/plan-and-doctor.md').split('\n');

it.each(['# cluster prod', 'this host'])('the output in the README is real: %s', (first) => {
  const block = codeBlocks('README.md').find(({ text }) => text.startsWith(first));
  const lines = block?.text.trimEnd().split('\n') ?? [];
  expect(lines.length).toBeGreaterThanOrEqual(9);
  expect(lines.filter((line) => !recorded.includes(line))).toEqual([]);
});
