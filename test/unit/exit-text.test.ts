import { expect, it } from 'vitest';
import { root } from '../../scripts/all-commands.ts';
import type { CommandNode } from '../../src/cli/kit/command.ts';
import { exitStatusTexts } from '../../src/system/errors/catalogue.ts';
import { exitCodes } from '../../src/system/errors/exit-codes.ts';

const texts = new Map(exitStatusTexts);

/** What each help says of exit statuses, by command. */
function helps(node: CommandNode, words: readonly string[] = []): [string, string][] {
  const own = /Exit status\b.*/s.exec(node.epilogue ?? '')?.[0];
  return [
    ...(own === undefined ? [] : [[words.join(' '), own] as [string, string]]),
    ...node.commands.flatMap((command) => helps(command, [...words, command.name])),
  ];
}
const all = helps(root);

it('the list of exit statuses has those of every error', () => {
  expect(Object.values(exitCodes).filter((status) => !texts.has(status))).toEqual([]);
});

it('it has those of every help, and names the commands that return 1', () => {
  expect(all.length).toBeGreaterThan(10);
  const missing = all.flatMap(([command, text]) =>
    [...text.matchAll(/(?<!more than )\b\d+(?= [a-z])/g)].flatMap(([status]) =>
      !texts.has(Number(status)) || (status === '1' && !texts.get(1)?.includes(`\`${command}\``))
        ? [`${command}: ${status}`]
        : [],
    ),
  );
  expect(missing).toEqual([]);
});
