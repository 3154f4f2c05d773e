/**
 * Import this file first: it exits with 78 if Node is older than package.json's `engines` requires, before
 * other code of the script runs. npm scripts use the Node that `npm ci` installs, which is new enough.
 */
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { engines: { node: string } };
const oldest = engines.node.replace(/^>=/, '');

/** The error message for a Node of this version (for example `v20.20.2`) that is too old; undefined if it is new enough. */
export function nodeVersionProblem(version: string, path: string): string | undefined {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldest.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return (
    `${path} is Node ${version.replace(/^v/, '')}; Berth needs Node ${oldest} or later\n` +
    'next: start it with npm (`npm run …`), which uses the Node that `npm ci` installs, or install a newer Node'
  );
}

const problem = nodeVersionProblem(process.version, process.execPath);
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  // eslint-disable-next-line no-restricted-syntax -- the importing script must not run
  process.exit(78);
}
