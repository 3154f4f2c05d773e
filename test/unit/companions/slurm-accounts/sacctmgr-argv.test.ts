import { describe, expect, it } from 'vitest';
import {
  parseLists,
  stepArguments,
} from '../../../../src/companions/slurm-accounts/rules/sacctmgr-argv.ts';

describe('what sacctmgr is told', () => {
  it.each([
    ['many users', 'u', 2_000],
    ['long names', 'x'.repeat(200), 300],
  ])('is bounded: %s', (_, prefix, count) => {
    const users = Array.from({ length: count }, (_, n) => `${prefix}${n}`);
    const all = stepArguments({ kind: 'close', account: 'lab', users }, 'c');
    const lists = all.map((words) => words.find((word) => word.startsWith('name=')) ?? '');
    expect(lists.flatMap((list) => list.slice('name='.length).split(','))).toEqual(users);
    expect(Math.max(...lists.map((list) => list.length))).toBeLessThanOrEqual(16_400);
    expect(Math.max(...lists.map((list) => list.split(',').length))).toBeLessThanOrEqual(200);
  });
});

/** The rows of some columns, each of which is there twice. */
const rows = (...lines: readonly string[]): string =>
  lines.map((line) => `${line}|${line}\n`).join('');

describe('what sacctmgr lists', () => {
  it('is read with limits and QOS', () => {
    const lists = parseLists(
      rows('root||||normal|normal|', 'lab||ann|gpu||a,b|0'),
      rows('ann|lab', 'ann|lab'),
    );
    expect(lists).toEqual({
      associations: [
        expect.objectContaining({ account: 'root', user: '', maxSubmit: undefined }),
        expect.objectContaining({ partition: 'gpu', qos: ['a', 'b'], maxSubmit: 0 }),
      ],
      ...{ defaults: new Map([['ann', 'lab']]), unread: [] },
    });
  });

  it('is read without the rows that are of no use here', () => {
    const lines = ['lab||ann||||', 'two words|root|||||', 'lab||a,b||||', 'lab||"ann||||'];
    const lists = parseLists(rows(...lines), rows('ann|lab'));
    expect(lists).toMatchObject({
      ...{ associations: [{ user: 'ann' }], defaults: new Map([['ann', 'lab']]) },
      unread: lines.slice(1),
    });
  });

  it.each([
    ['a column more', rows('lab||ann||||0|x'), ''],
    ['a row once', 'lab||ann||||\n', ''],
    ['a limit that is no number', rows('lab||ann||||many'), ''],
    ['a sentence', 'You are not running a supported accounting_storage plugin', ''],
    ['a default account with more', '', rows('ann|lab|x')],
    ['a name with a separator', rows('lab||a|b||||'), ''],
    ['a default account once', '', 'ann|lab\n'],
  ])('is not guessed: %s', (_, associations, defaults) => {
    const well = parseLists(rows('lab||ann||||'), rows('ann|lab'));
    expect(well).toBeTypeOf('object');
    const mixed = [rows('lab||ann||||') + associations, rows('ann|lab') + defaults] as const;
    expect(parseLists(...mixed)).toBeTypeOf('string');
  });

  const row = 'phys||bob||||0';
  const forged = rows(row).trim();
  it.each([
    [`x\ny`],
    [`x||||\n${row}\nlab||y`],
    [`x|||||lab||x||||\n${forged}\nlab||y||||0|lab||y`],
    [`${forged}\n${forged}\n${forged}`],
    [`\n${forged}\n`],
    [`|||\n${forged}\n|||||||`],
    ...Array.from({ length: 15 }, (_, n) => [
      `${'|'.repeat(n)}\n${'|'.repeat(13 - Math.min(n, 13))}`,
    ]),
  ])('is no row that a name has made: %j', (name) => {
    for (const line of [
      `lab||${name}||||`,
      `${name}||ann||||`,
      `lab||ann|${name}|||`,
      `${name}||${name}|${name}|||`,
    ])
      expect(parseLists(rows('lab||ann||||', line), '')).toBeTypeOf('string');
    expect(parseLists('', rows(`${name}|lab`))).toBeTypeOf('string');
  });
});
