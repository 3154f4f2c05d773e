/** Beginning of a block `key:` at the left margin. */
const keyLine = /^([a-z][a-z0-9_]*):/;

/**
 * One of the examples in etc/berth as a site's file: every comment stays, keys in `values` get these values, and all other
 * keys become comments, which leaves them at their defaults. Keys that the example does not have are added at its end.
 *
 * @param values YAML of a key, as `rules:\n  - profile: minimal`, by the key
 */
export function exampleWith(example: string, values: Readonly<Record<string, string>>): string {
  const lines: string[] = [];
  let block: 'none' | 'replaced' | 'commented' = 'none';
  for (const line of example.trimEnd().split('\n')) {
    const [, key] = keyLine.exec(line) ?? [];
    if (key !== undefined) {
      const value = values[key];
      block = value === undefined ? 'commented' : 'replaced';
      lines.push(value === undefined ? `# ${line}` : value.trimEnd());
    } else if (line === '' && block !== 'commented') {
      if (lines.at(-1) !== '') lines.push(line);
    } else if (line.startsWith('#') || line === '') {
      lines.push(line);
      if (line !== '') block = 'none';
    } else if (block === 'commented') lines.push(`# ${line}`);
    else if (block === 'none') lines.push(line);
  }
  const further = Object.keys(values).filter(
    (key) => !example.split('\n').some((line) => keyLine.exec(line)?.[1] === key),
  );
  for (const key of further) lines.push('', (values[key] ?? '').trimEnd());
  return `${lines.join('\n')}\n`;
}
