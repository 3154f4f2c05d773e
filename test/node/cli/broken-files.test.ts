import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mapConcurrent } from '../../../src/system/map-concurrent.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { FilesOfHost, type Ran } from './broken-files/files-of-host.ts';
import { goodFiles } from './broken-files/good-files.ts';
import { kinds } from './broken-files/kinds.ts';
import { hookEnvCommands, rows, type Rows } from './broken-files/rows.ts';

/** A run takes a tenth of a second of one processor. */
const atOnce = 3;

let host: FilesOfHost;
beforeAll(async () => {
  await ensurePackages(['openssh-server', 'podman']);
  host = await FilesOfHost.make(goodFiles(), installDirectory);
}, 300_000);
afterAll(() => host.remove());

/** What is wrong with a run whose file was broken. */
function faults({ status, output, written }: Ran, row: Rows, line?: number): string[] {
  const place = line === undefined ? row.file : `${row.file}:${line}`;
  const named = row.goesOn === true || output.includes(place);
  return [
    ...(status === (row.status ?? 78) ? [] : [`exit status ${String(status)}`]),
    ...(named ? [] : [`does not name ${place}`]),
    ...(/internal-error|system-error|a bug in Berth|^ +at |JS stacktrace/m.test(output)
      ? ['does not explain it']
      : []),
    ...written.map((file) => `wrote ${file}`),
  ];
}

describe('a broken file is named, with the line, and nothing is done', () => {
  const all = rows.flatMap((row) => row.commands.map((command) => ({ ...row, command })));
  it.each(all)('$file: $command', { timeout: 300_000 }, async ({ command, ...row }) => {
    const wanted = Object.entries(kinds).filter(([, kind]) => kind.in.includes(row.format));
    const found = await mapConcurrent(wanted, atOnce, async ([name, { make, line }]) => {
      const ran = await host.run(command, row.file, make);
      return faults(ran, row, line).map((fault) => `${name}: ${fault}: ${ran.output}`);
    });
    expect(found.flat()).toEqual([]);
  });
});

it.each(hookEnvCommands)(
  'an empty hook.env, and one with OnDemand’s other name, are good: %s',
  { timeout: 60_000 },
  async (command) => {
    const states = [':', ': >$f', 'mv $f /etc/ood/config/hooks.env'];
    const [usual, ...others] = await mapConcurrent(states, atOnce, (state) =>
      host.run(command, '/etc/ood/config/hook.env', state),
    );
    for (const { status, output } of others) {
      expect(status, output).toBe(usual?.status);
      expect(output).not.toMatch(/hook-env|config-(?:empty|missing)/);
    }
  },
);
