import { savedFigures, type SavedPart } from '../../../test/bench/scale/saved-figures.ts';
import type { GeneratedPage } from '../page.ts';
import { type Panel, plots } from './plots.ts';

/** The costs that an admin sizes a site by: the part of the benchmark, the figure's name there, what it grows with, and a title. */
const curves = [
  ['namespaces', 'a later login', 'namespaces', 'A later login'],
  ['connections', 'a later login with ssh', 'connections', 'A later SSH session'],
  ['node-reap', 'a run without work', 'sessions', 'The reaper of a login node'],
  ['ldap-sync', 'the first run: time', 'people', 'berth ldap-sync, first run'],
  ['reap', 'a dry run: time', 'namespaces', 'berth clusters reap, dry run'],
  ['images-gc', 'berth images gc', 'users', 'berth images gc'],
] as const;

/** docs/images/scale.svg: how each cost grows. */
export const scaleCurves: GeneratedPage = {
  path: 'docs/images/scale.svg',
  raw: true,
  markdown: async () => {
    const saved = await savedFigures();
    return plots(curves.map(([part, what, of, title]) => panel(saved[part], { what, of, title })));
  },
};

/** @throws Error if the part was not saved, or has fewer than two sizes of the figure */
function panel(
  part: SavedPart | undefined,
  { what, of, title }: { readonly what: string; readonly of: string; readonly title: string },
): Panel {
  const figures = (part?.figures ?? []).filter(
    (figure) => figure.what === what && figure.size?.of === of,
  );
  const points = figures.flatMap(({ size, value }) =>
    size === undefined ? [] : [{ size: size.count, value }],
  );
  const [first] = figures;
  if (first === undefined || points.length < 2)
    throw new Error(`docs/scale has no curve of ${what}: run npm run bench:scale -- --save`);
  return { title, of, unit: first.unit, points };
}
