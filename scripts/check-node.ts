/**
 * Import it first: refuses a Node that is older than package.json's `engines` says, before anything
 * else of a script runs. npm scripts never meet that, they run on the Node that `npm ci` brings.
 */
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { engines: { node: string } };
const oldest = engines.node.replace(/^>=/, '');

/** What is wrong with a Node of this version (`v20.20.2`), and what to do; undefined where it is new enough. */
export function tooOld(version: string, path: string): string | undefined {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldest.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return (
    `${path} is Node ${version.replace(/^v/, '')}; Berth needs Node ${oldest} or later\n` +
    'next: start it with npm (`npm run …`), which uses the Node that `npm ci` installs, or install a newer Node'
  );
}

const complaint = tooOld(process.version, process.execPath);
if (complaint !== undefined) {
  process.stderr.write(`${complaint}\n`);
  // eslint-disable-next-line no-restricted-syntax -- nothing of the script that imports this may run
  process.exit(78);
}
