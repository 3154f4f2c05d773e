import { createTwoFilesPatch } from 'diff';
import { stringify } from 'yaml';
import type { PlannedChange } from '../../kube/plan-user.ts';
import { escapedForTerminal } from '../../log.ts';
import type { PlanSection } from '../../portal/plan-pre-pun-hook.ts';
import { documentError, documentText, type Terminal, wantsColour } from '../kit/terminal.ts';

export interface TextStyle {
  readonly colour: boolean;
}

/** A plan as text: a unified diff of each change, and one line for each unchanged object. */
export function planText(sections: readonly PlanSection[], { colour }: TextStyle): string {
  return sections
    .map(({ title, changes, error }) =>
      [
        `# ${title}`,
        ...changes.map((change) => changeText(change, colour)),
        ...(error === undefined
          ? []
          : [
              `error ${error.code}: ${escapedForTerminal(error.message)}`,
              `  next: ${escapedForTerminal(error.hint)}`,
            ]),
      ].join('\n'),
    )
    .join('\n\n');
}

const colours: Readonly<Record<string, string>> = { '+': '32', '-': '31', '@': '36' };

/** A user can write a kubeconfig in which every line changes, which takes the square of their number. Milliseconds. */
const longestDiffMs = 2_000;

function changeText({ what, action, before, after }: PlannedChange, colour: boolean): string {
  if (action === 'none') return `  unchanged  ${escapedForTerminal(what)}`;
  const patch = createTwoFilesPatch(
    `live ${what}`,
    `planned ${what}`,
    body(before),
    body(after),
    '',
    '',
    { context: 3, timeout: longestDiffMs },
  );
  const title = `  ${action}     ${escapedForTerminal(what)}`;
  if (patch === undefined) return `${title}\n(too many changed lines to show)`;
  const lines = patch
    .split('\n')
    .filter((line) => !line.startsWith('=====') && !line.startsWith('\\ No newline'))
    .map((line) => {
      const code = colours[line.charAt(0)];
      return colour && code !== undefined
        ? `\u001b[${code}m${escapedForTerminal(line)}\u001b[0m`
        : escapedForTerminal(line);
    });
  return [title, ...lines].join('\n').trimEnd();
}

function body(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string'
    ? value
    : stringify(value, { sortMapEntries: true, lineWidth: 0 });
}

/**
 * Writes a plan to standard output.
 *
 * @returns The exit status, as of `kubectl diff`: 0 no changes, 1 changes, more than 1 the exit status of
 *   an error.
 */
export function writePlan(
  sections: readonly PlanSection[],
  output: string,
  { stdout, env }: Pick<Terminal, 'stdout' | 'env'>,
): number {
  if (output === 'text')
    stdout.write(`${planText(sections, { colour: wantsColour(stdout, env) })}\n`);
  else {
    const plain = sections.map(({ error, ...section }) => ({
      ...section,
      error: error && { ...documentError(error), hint: error.hint },
    }));
    stdout.write(documentText('LoginPlan', { sections: plain }));
  }
  const failed = sections.find(({ error }) => error !== undefined)?.error;
  if (failed !== undefined) return failed.exitCode;
  return sections.some(({ changes }) => changes.some(({ action }) => action !== 'none')) ? 1 : 0;
}
