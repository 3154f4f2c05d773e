/**
 * `npm run bench:scale [PART …] [-- --save]`: what Berth costs a large site, part by part, and how each cost grows. Progress
 * is written to stderr; at the end, stdout has a table. With `--save`, the figures replace those of the same parts in
 * docs/scale, from which `npm run docs` makes the table and the plots of docs/scale.md.
 */
import '../../../scripts/check-node.ts';
import { parseArgs } from 'node:util';
import { step } from '../../rig/site/progress.ts';
import { machine } from '../measure.ts';
import { heading, printLine } from '../report.ts';
import { type Figure, printFigures } from './figures.ts';
import { scaleParts } from './parts.ts';
import { saveFigures } from './saved-figures.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { save: { type: 'boolean', default: false } },
});
const names = positionals.length === 0 ? Object.keys(scaleParts) : positionals;
for (const name of names)
  if (scaleParts[name] === undefined)
    throw new Error(`there is no part ${name}; parts: ${Object.keys(scaleParts).join(', ')}`);
printLine(`Costs of a large site: ${machine}`);
for (const name of names) {
  const part = await scaleParts[name]?.();
  if (part === undefined) continue;
  const figures: Figure[] = [];
  try {
    await step(part.title, () => part.run((figure) => figures.push({ part: name, ...figure })));
  } finally {
    heading(part.title);
    printFigures(figures);
  }
  if (values.save) await saveFigures(name, { machine, title: part.title, figures });
}
