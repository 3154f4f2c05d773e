import { readFile } from 'node:fs/promises';

const file = new URL('../../../etc/splunk/props.conf', import.meta.url).pathname;

type Stanza = Readonly<Record<string, string>>;

/** The stanzas of etc/splunk/props.conf. */
export async function splunkProps(): Promise<Readonly<Record<'berth' | 'berth_json', Stanza>>> {
  const stanzas: Record<string, Record<string, string>> = {};
  let keys: Record<string, string> = {};
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    const [, name] = /^\[(.+)\]$/.exec(line) ?? [];
    if (name !== undefined) stanzas[name] = keys = {};
    const [, key, value] = /^([\w-]+) = (.*)$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) keys[key] = value;
  }
  return stanzas as Record<'berth' | 'berth_json', Stanza>;
}

/**
 * Splunk cannot be run here. This is what its manual says of EXTRACT (a regular expression with named groups) and of
 * `KV_MODE = auto_escaped` (key=value and key="value", in which \" and \\ are a quote and a backslash).
 */
export function extractedFields(line: string, props: Stanza): Readonly<Record<string, string>> {
  const named = new RegExp(props['EXTRACT-syslog'] ?? '').exec(line)?.groups ?? {};
  const pairs = [...line.matchAll(/([A-Za-z_]\w*)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+))/g)].map(
    ([, key = '', quoted, plain]) => [key, plain ?? quoted?.replaceAll(/\\(["\\])/g, '$1') ?? ''],
  );
  return { ...named, ...(Object.fromEntries(pairs) as Record<string, string>) };
}
