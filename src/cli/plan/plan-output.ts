import { stringify } from 'yaml';
import type { PlanSection } from '../../portal/plan-pre-pun-hook.ts';
import { planText } from './plan-text.ts';
import { wantsColour, type Terminal } from '../kit/terminal.ts';
import { documentText, json } from '../kit/json-document.ts';

export type PlanFormat = 'text' | 'yaml' | 'json';

/**
 * Writes a plan to standard output.
 *
 * @returns The exit status, as of `kubectl diff`: 0 no changes, 1 changes, more than 1 the exit status of
 *   an error.
 */
export function writePlan(
  sections: readonly PlanSection[],
  format: PlanFormat,
  { stdout, env }: Pick<Terminal, 'stdout' | 'env'>,
): number {
  if (format === 'text')
    stdout.write(`${planText(sections, { colour: wantsColour(stdout, env) })}\n`);
  else {
    const plain = sections.map(({ error, ...section }) => ({
      ...section,
      ...(error === undefined
        ? {}
        : {
            error: {
              ...{ code: error.code, message: error.message },
              ...{ next: error.hint, hint: error.hint },
            },
          }),
    }));
    const write = format === 'json' ? json : stringify;
    stdout.write(documentText('LoginPlan', { sections: plain }, write));
  }
  const failed = sections.find(({ error }) => error !== undefined)?.error;
  if (failed !== undefined) return failed.exitCode;
  return sections.some(({ changes }) => changes.some(({ action }) => action !== 'none')) ? 1 : 0;
}
