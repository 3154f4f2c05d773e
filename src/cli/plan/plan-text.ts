import { createTwoFilesPatch } from 'diff';
import { stringify } from 'yaml';
import type { PlanSection } from '../../portal/plan-pre-pun-hook.ts';
import { escapedForTerminal } from '../../log.ts';
import type { PlannedChange } from '../../kube/plan-user.ts';

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
  if (patch === undefined) return `${title}\n(too many lines differ to show them)`;
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
