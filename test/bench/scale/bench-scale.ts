/**
 * `npm run bench:scale -- [PART …] [--save]`: what Berth costs a large site, part by part, and how each cost grows. Progress
 * is written to stderr; at the end, stdout has a table. With `--save`, the figures replace those of the same parts in
 * docs/scale, from which `npm run docs` makes docs/scale-figures.md and the plots of docs/scale.md.
 */
import '../../../scripts/check-node.ts';
import { step } from '../../rig/site/progress.ts';
import { withBenchArguments } from '../bench-arguments.ts';
import { machine } from '../measure.ts';
import { heading, printLine } from '../report.ts';
import { type Figure, printFigures } from './figures.ts';
import { scaleParts } from './parts.ts';
import { saveFigures } from './saved-figures.ts';

process.exitCode = await withBenchArguments(
  {
    command: 'bench:scale',
    about: 'What Berth costs a large site, and how each cost grows.',
    known: Object.keys(scaleParts),
    saved: 'docs/scale',
    hasCheck: false,
  },
  async (given) => {
    printLine(`Costs of a large site: ${machine}`);
    for (const name of given.parts) {
      const part = await scaleParts[name]?.();
      if (part === undefined) continue;
      const figures: Figure[] = [];
      try {
        await step(part.title, () => part.run((figure) => figures.push({ part: name, ...figure })));
      } finally {
        heading(part.title);
        printFigures(figures);
      }
      if (given.save) await saveFigures(name, { machine, title: part.title, figures });
    }
    return 0;
  },
);
