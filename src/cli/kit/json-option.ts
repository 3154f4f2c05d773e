/** `-ojson` as `-o json`: kubectl and getopt(3) accept it, yargs takes each letter for an option. */
export function splitShortOutput(args: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  return args.flatMap((arg, n) => {
    const [, letters, value] = /^(-[A-Za-z]*o)(text|wide|json|yaml)$/.exec(arg) ?? [];
    return letters === undefined || value === undefined || n > end ? [arg] : [letters, value];
  });
}

/**
 * Whether errors are wanted as JSON, also of a command line that cannot be parsed.
 *
 * @param args from `splitShortOutput`, as `-o json`, `--output=json`, or with other letters before the `o`: `-Ao json`
 */
export function asksForJson(args: readonly string[]): boolean {
  const option = /^(?:--output|-[A-Za-z]*o)(=json)?$/;
  return args.some((arg, n) => {
    const found = option.exec(arg);
    return found !== null && (found[1] !== undefined || args[n + 1] === 'json');
  });
}
