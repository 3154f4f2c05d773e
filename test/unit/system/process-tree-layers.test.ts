import { describe, expect, it } from 'vitest';
import { parentsFirst } from '../../../src/system/processes.ts';

const pidsOf = (layers: readonly (readonly { pid: number }[])[]): number[][] =>
  layers.map((layer) => layer.map(({ pid }) => pid));

describe('parentsFirst', () => {
  it('has those with children, from the outermost on', () => {
    const all = [
      { pid: 30, parent: 20 },
      { pid: 20, parent: 10 },
      { pid: 10, parent: 1 },
      { pid: 11, parent: 1 },
      { pid: 12, parent: 11 },
      { pid: 13, parent: 1 },
    ];
    expect(pidsOf(parentsFirst(all))).toEqual([[10, 11], [20]]);
  });

  it('takes who has nobody above for the outermost, and has nothing where nobody has children', () => {
    expect(
      pidsOf(
        parentsFirst([
          { pid: 5, parent: 4 },
          { pid: 6, parent: 5 },
        ]),
      ),
    ).toEqual([[5]]);
    expect(parentsFirst([{ pid: 5, parent: 4 }])).toEqual([]);
  });

  it('ends where the parents go round, and puts all that is too deep in one layer', () => {
    const round = [
      { pid: 5, parent: 6 },
      { pid: 6, parent: 5 },
    ];
    expect(pidsOf(parentsFirst(round))).toEqual([[5, 6]]);
    const chain = Array.from({ length: 100 }, (_, index) => ({
      pid: index + 2,
      parent: index + 1,
    }));
    const layers = parentsFirst(chain);
    expect(layers).toHaveLength(32);
    expect(layers.at(-1)).toHaveLength(99 - 31);
  });
});
