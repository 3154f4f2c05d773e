import { describe, expect, it } from 'vitest';
import { pageText } from '../../rig/markdown-pages.ts';
import { alerts, rules } from '../../rig/monitoring/rules.ts';

const page = pageText('docs/runbooks.md');
/** The pages' text of each command, by its name. */
const commands = new Map(
  pageText('docs/commands.md')
    .split(/^## /m)
    .map((section) => [/^`([^`]+)`/.exec(section)?.[1] ?? '', section]),
);

describe('the runbooks', () => {
  it('have a section for each alert, which the alert names', () => {
    const sections = [...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
    expect(sections.sort()).toEqual([...alerts].sort());
    const urls = rules
      .filter(({ alert }) => alert !== undefined)
      .map(({ annotations }) => annotations);
    expect(urls.map((one) => one?.runbook_url)).toEqual(
      alerts.map(
        (alert) =>
          `https://github.com/berth-hpc/berth/blob/main/docs/runbooks.md#${alert.toLowerCase()}`,
      ),
    );
  });

  it.each([...new Set([...page.matchAll(/`(berth [^`]+)`/g)].map(([, command = '']) => command))])(
    'name a command that exists: %s',
    (command) => {
      const words = command.split(' ');
      const name = words
        .map((_, index) => words.slice(0, index + 1).join(' '))
        .findLast((prefix) => commands.has(prefix));
      const options = words.filter((word) => word.startsWith('--'));
      const known = commands.get(name ?? '') ?? '';
      expect(name).not.toBe('berth');
      expect(options.filter((option) => !known.includes(`${option} `))).toEqual([]);
    },
  );
});
