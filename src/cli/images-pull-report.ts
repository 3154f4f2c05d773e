import type { PullOutcome } from '../images/pull-images.ts';
import { reportError, type Terminal } from './terminal.ts';
import { documentText } from './json-document.ts';

/** Writes the result of `berth images pull`; errors go to standard error. */
export function reportPull(
  outcomes: readonly PullOutcome[],
  output: string,
  terminal: Terminal,
): void {
  if (output === 'json') {
    const images = outcomes.map((outcome) =>
      'error' in outcome
        ? {
            image: outcome.image,
            error: { code: outcome.error.code, message: outcome.error.message },
          }
        : outcome,
    );
    terminal.stdout.write(documentText('ImagePull', { images }));
  }
  for (const outcome of outcomes) {
    if ('error' in outcome) reportError(terminal, outcome.error);
    else if (output === 'text' && terminal.stdout.isTTY === true)
      terminal.stdout.write(`${outcome.image}: ${outcome.did} (${outcome.id.slice(0, 12)})\n`);
  }
}
