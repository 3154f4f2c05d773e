import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type House, measureHouse } from '../../../scripts/house/measure-house.ts';

const root = new URL('../../../', import.meta.url).pathname;

/** The rows of docs/development.md, by what each counts. */
const rows: Readonly<Record<keyof House, RegExp>> = {
  tokens: /tokens of `src`, `hooks` and `shell`/,
  loginTokens: /tokens that `hooks` and `shell` import/,
  companionTokens: /tokens of companions/,
  rooms: /entries directly in `src`/,
  circles: /circles of imports/,
  spreads: /spreads of a literal/,
  smallFiles: /files of fewer than 40 lines with one importer/,
};

function limits(): readonly (readonly [what: string, limit: number])[] {
  const page = readFileSync(`${root}docs/development.md`, 'utf8');
  const [, section = ''] = /^## Limits of size\n(.*?)^## /ms.exec(page) ?? [];
  return [...section.matchAll(/^\| (.+?) +\| +([\d,]+) \|$/gm)].map(
    ([, what = '', limit = '']) => [what, Number(limit.replaceAll(',', ''))] as const,
  );
}

it('the source is no larger than docs/development.md says', () => {
  const house = measureHouse(root);
  const found = Object.entries(rows).map(([key, row]) => {
    const [what, limit] = limits().find(([one]) => row.test(one)) ?? [key, NaN];
    return { what, limit, measured: house[key as keyof House] };
  });
  const all = found.map(({ what, limit, measured }) => `${measured} of ${limit}: ${what}`);
  const passed = found.filter(({ limit, measured }) => !(measured <= limit));
  expect(passed, all.join('\n')).toEqual([]);
}, 120_000);

it('each limit of the page is measured', () => {
  const unknown = limits().filter(([what]) => !Object.values(rows).some((row) => row.test(what)));
  expect(unknown).toEqual([]);
});
