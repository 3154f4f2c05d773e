import { isMet, sizeText, valueText, wantedText } from '../../../test/bench/scale/figures.ts';
import { type SavedPart, savedFigures } from '../../../test/bench/scale/saved-figures.ts';
import type { GeneratedPage } from '../page.ts';

const head = `# Figures of large sites

What \`npm run bench:scale\` measured last: [Large sites](scale.md) says how. **Missed** values are not as wanted.

Times without "processor" are elapsed times, beside whatever the benchmark runs on the same cores. What a run takes varies with the machine's load, so
values that should be flat are divided: by a login with plain sshd or a start of Node measured in turn with them, and then by the same at the
smallest size.
`;

/** docs/scale-figures.md: the figures of docs/scale. */
export const scalePage: GeneratedPage = {
  path: 'docs/scale-figures.md',
  markdown: async () => [head, ...Object.values(await savedFigures()).map(section)].join('\n'),
};

function section({ title, machine, figures }: SavedPart): string {
  const rows = figures.map((figure) => {
    const value = isMet(figure) ? valueText(figure) : `**missed:** ${valueText(figure)}`;
    return `| ${figure.what} | ${sizeText(figure)} | ${value} | ${wantedText(figure)} |\n`;
  });
  return `## ${title}

On ${machine}.

| figure | size | measured | wanted |
| --- | --- | --- | --- |
${rows.join('')}`;
}
