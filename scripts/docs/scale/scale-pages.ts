import { isMet, sizeText, valueText, wantedText } from '../../../test/bench/scale/figures.ts';
import { type SavedPart, savedFigures } from '../../../test/bench/scale/saved-figures.ts';
import type { GeneratedPage } from '../page.ts';

const head = `# Figures of large sites

What \`npm run bench:scale\` measured last: [Large sites](scale.md) says how. **Missed** values are not as wanted.
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
