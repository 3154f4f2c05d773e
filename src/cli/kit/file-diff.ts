import { createTwoFilesPatch } from 'diff';
import { escapedForTerminal } from '../../log.ts';

/**
 * The differences between two texts of a file as a unified diff, escaped for a terminal.
 *
 * @param label what the text before is called, beside the file's name
 * @param context lines around each difference; 0 where they may contain secrets
 */
export function fileDiff(
  file: string,
  { before, after }: { readonly before: string; readonly after: string },
  label: 'now' | 'former' = 'now',
  context: 0 | 2 = 2,
): string {
  return (
    createTwoFilesPatch(file, file, before, after, label, 'new', { context })
      .split('\n')
      .filter((line) => !/^(?:=====|Index: )/.test(line))
      // The header has a tab between the name and the label.
      .map((line) => line.split('\t').map(escapedForTerminal).join('\t'))
      .join('\n')
  );
}
