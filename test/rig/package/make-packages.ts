import { execa } from 'execa';

const repository = new URL('../../..', import.meta.url).pathname;

/**
 * Runs `npm run package`.
 *
 * @param out the directory of the packages
 * @param more further options
 */
export async function makePackages(version: string, out: string, ...more: string[]): Promise<void> {
  const script = ['--import', 'tsx', 'scripts/package.ts', '--version', version, '--out', out];
  await execa(process.execPath, [...script, ...more], { cwd: repository });
}
