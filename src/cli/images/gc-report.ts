import type { GcImage, GcResult } from '../../images/collect-garbage.ts';
import { escapedForTerminal } from '../../log.ts';
import { durationText } from '../kit/duration.ts';
import { documentText } from '../kit/json-document.ts';

/** One line for each image, with the reason; without `all`, only for the removed ones. */
export function gcText(
  { images, warnings }: GcResult,
  { all, dryRun, now }: { readonly all: boolean; readonly dryRun: boolean; readonly now: number },
): string {
  const told = images.filter(({ verdict }) => all || verdict === 'remove');
  const lines = told.map((image) => {
    const name =
      image.names.length === 0 ? 'without a name' : escapedForTerminal(image.names.join(', '));
    return `${image.id.slice(0, 12)}  ${name}: ${fate(image, dryRun, now)}`;
  });
  return [...lines, ...warnings.map((text) => `warning: ${escapedForTerminal(text)}`)]
    .map((line) => `${line}\n`)
    .join('');
}

function fate({ verdict, until = 0 }: GcImage, dryRun: boolean, now: number): string {
  switch (verdict) {
    case 'named':
      return 'kept: a profile names it';
    case 'used':
      return 'kept: a container of a user is based on it';
    case 'grace':
      return `kept for another ${durationText(until - now)}`;
    case 'remove':
      return dryRun ? 'would be removed' : 'removed';
  }
}

export function gcJson(result: GcResult): string {
  return documentText('ImageGarbage', result);
}
