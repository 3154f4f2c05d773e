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

describe('what sacctmgr lists', () => {
  it('is read with limits and QOS', () => {
    const lists = parseLists('root||||normal|normal|\nlab||ann|gpu||a,b|0\n', 'ann|lab\nann|lab\n');
    expect(lists).toEqual({
      associations: [
        expect.objectContaining({ account: 'root', user: '', maxSubmit: undefined }),
        expect.objectContaining({ partition: 'gpu', qos: ['a', 'b'], maxSubmit: 0 }),
      ],
      ...{ defaults: new Map([['ann', 'lab']]), unread: [] },
    });
  });

  it('is read without the lines that are of no use here', () => {
    const lines = ['lab||ann||||', 'two words|root|||||', 'lab||x|y||||', 'lab||"ann||||'];
    const lists = parseLists(lines.join('\n'), 'ann|lab\nx|y|lab');
    expect(lists).toMatchObject({
      ...{ associations: [{ user: 'ann' }], defaults: new Map([['ann', 'lab']]) },
      unread: [...lines.slice(1), 'x|y|lab'],
    });
  });

  it.each([
    ['a column more', 'lab||ann||||0|x', ''],
    ['a limit that is no number', 'lab||ann||||many', ''],
    ['a name with a separator', 'lab||a,b||||', ''],
    ['a sentence', 'You are not running a supported accounting_storage plugin', ''],
    ['a default account with more', '', 'ann|lab|x'],
  ])('is not guessed: %s', (_, associations, defaults) => {
    expect(parseLists(associations, defaults)).toBeTypeOf('string');
  });
});
