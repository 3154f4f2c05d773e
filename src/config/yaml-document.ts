import { LineCounter, parseDocument } from 'yaml';
import { configError } from './config-error.ts';

/**
 * A YAML file as plain values. Errors name line and reason, never the file's text: it may hold
 * secrets.
 *
 * @param dialect `psych` reads as Ruby does for OnDemand: YAML 1.1, of equal keys the last counts;
 *   `core` is YAML 1.2, equal keys are an error.
 * @throws BerthError `config-broken-yaml` with `file` and `line`
 */
export function parseYaml(text: string, file: string, dialect: 'psych' | 'core'): unknown {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    logLevel: 'silent',
    version: dialect === 'psych' ? '1.1' : '1.2',
    uniqueKeys: dialect === 'core',
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line } = lineCounter.linePos(error.pos[0]);
    throw broken(file, line, error.code.toLowerCase().replaceAll('_', ' '));
  }
  try {
    return document.toJS() as unknown;
  } catch {
    // Too many aliases, or one without its anchor.
    throw broken(file, 1, 'aliases that cannot be resolved');
  }
}

function broken(file: string, line: number, reason: string): Error {
  const hint = 'Look at the indentation and the quotes at that line.';
  return configError('config-broken-yaml', file, `broken YAML: ${reason}`, hint, { line });
}
