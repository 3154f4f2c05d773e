import { type NameMove, moveText } from '../../images/image-names.ts';
import type { PullOutcome, PullPlan } from '../../images/pull-images.ts';
import { escapedForTerminal } from '../../log.ts';
import { asker } from '../kit/questions.ts';
import { reportError, type Terminal, writeIdle } from '../kit/terminal.ts';
import { documentText } from '../kit/json-document.ts';

const noImages = 'no profile names an image';

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
            error: {
              ...{ code: outcome.error.code, message: outcome.error.message },
              next: outcome.error.hint,
            },
          }
        : outcome,
    );
    terminal.stdout.write(documentText('ImagePull', { dryRun: false, images }));
  }
  if (outcomes.length === 0 && output === 'text') writeIdle(noImages, false, terminal);
  for (const outcome of outcomes) {
    if ('error' in outcome) reportError(terminal, outcome.error);
    else if (output === 'text' && terminal.stdout.isTTY === true)
      terminal.stdout.write(`${outcome.image}: ${outcome.did} (${outcome.id.slice(0, 12)})\n`);
  }
}

const wouldDo: Readonly<Record<PullPlan['would'], string>> = {
  pull: 'would be pulled',
  'check-registry': 'in the store; a pull would ask the registry for a newer one',
  nothing: 'in the store and named by digest: nothing to do',
  load: 'would be loaded',
};

/** Writes what `berth images pull` would do. */
export function reportPlan(plans: readonly PullPlan[], output: string, { stdout }: Terminal): void {
  if (output === 'json') stdout.write(documentText('ImagePull', { dryRun: true, images: plans }));
  else if (plans.length === 0) stdout.write(`${noImages}\n`);
  else
    for (const { image, id, would } of plans) {
      const known = id === undefined ? '' : ` (${id.slice(0, 12)})`;
      stdout.write(`${escapedForTerminal(image)}: ${wouldDo[would]}${known}\n`);
    }
}

/** Shows the names that an archive would move, and asks on a terminal. @returns false without one */
export async function confirmMoves(
  moves: readonly NameMove[],
  yes: boolean,
  terminal: Terminal,
): Promise<boolean> {
  if (yes) return true;
  const asking = asker('berth images pull', { yes }, terminal);
  if (!asking.asks) return false;
  const lines = moves.map((move) => `  ${escapedForTerminal(moveText(move))}\n`);
  terminal.stderr.write(`\r\u001b[KThese names would move:\n${lines.join('')}`);
  return await asking.confirm('Move them?');
}
