import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../../../scripts/all-commands.ts';
import { type CommandNode, shownOptions } from '../../../src/cli/kit/command.ts';
import * as defaults from '../../../src/config/schema/default-settings.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { doctorRows } from './broken-files/doctor-rows.ts';
import { FilesOfHost, type Ran } from './broken-files/files-of-host.ts';
import { goodFiles } from './broken-files/good-files.ts';
import { kinds, type Rows } from './broken-files/kinds.ts';
import { loginNodeRows } from './broken-files/login-node-rows.ts';
import { hookEnvCommands, portalRows } from './broken-files/portal-rows.ts';

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

const rows = [...portalRows, ...loginNodeRows, ...doctorRows];

describe('a broken file is named, with the line, and nothing is done', () => {
  const all = rows.flatMap((row) => row.commands.map((command) => ({ ...row, command })));
  it.concurrent.each(all)('$file: $command', { timeout: 300_000 }, async ({ command, ...row }) => {
    const wanted = Object.entries(kinds).filter(([, kind]) => kind.in.includes(row.format));
    const ways = Object.fromEntries(wanted.map(([name, { make }]) => [name, make]));
    const ran = await host.run(command, row.file, ways);
    const found = [...ran].flatMap(([name, one]) =>
      faults(one, row, kinds[name]?.line).map((fault) => `${name}: ${fault}: ${one.output}`),
    );
    expect([ran.size, found]).toEqual([wanted.length, []]);
  });
});

/** Options whose files Berth does not read: programs, what it writes, and what others read. */
const notRead = [
  ...['--login', '--sshd', '--haproxy', '--kubectl', '--write', '--textfile'],
  ...['--banner', '--ca-file', 'verify --identity', '--motd', '--config-map'],
];
/** Paths that are no files to read, and the second name of hook.env, which has a test of its own. */
const otherPaths = ['/var/lib/berth', '/usr/lib/berth/shell/kube-credential', '/run/berth'];

function optionsBelow(node: CommandNode, path: readonly string[]): OptionWithPath[] {
  const own = shownOptions(node).flatMap(({ names, kind }) =>
    names.map((name) => ({ path: path.join(' '), name, kind })),
  );
  return [...own, ...node.commands.flatMap((one) => optionsBelow(one, [...path, one.name]))];
}

interface OptionWithPath {
  readonly path: string;
  readonly name: string;
  readonly kind: string | undefined;
}

it('has a row for each file that Berth knows, and for each option that names one', () => {
  const known = Object.values({ ...defaults, ...defaults.defaultSettings })
    .filter((value) => typeof value === 'string')
    .filter((path) => !otherPaths.includes(path) && !path.endsWith('/hooks.env'));
  expect(known.filter((path) => !rows.some(({ file }) => file.startsWith(path)))).toEqual([]);
  const all = optionsBelow(root, []);
  const options = all
    .filter(({ kind }) => kind === 'file')
    .filter(({ path, name }) => ![name, `${path} ${name}`].some((one) => notRead.includes(one)))
    // Of a name that is not a file's everywhere, the command counts, too.
    .map(({ path, name }) =>
      all.some((other) => other.name === name && other.kind !== 'file') ? `${path} ${name}` : name,
    );
  const commands = rows.flatMap((row) => row.commands);
  const tested = (name: string): boolean =>
    commands.some((command) => name.split(' ').every((word) => command.split(' ').includes(word)));
  expect(options.filter((name) => !tested(name))).toEqual([]);
});

it.concurrent.each(hookEnvCommands)(
  'an empty hook.env, and one with OnDemand’s other name, are good: %s',
  { timeout: 60_000 },
  async (command) => {
    const ways = { usual: ':', empty: ': >$f', renamed: 'mv $f /etc/ood/config/hooks.env' };
    const { usual, ...others } = Object.fromEntries(
      await host.run(command, '/etc/ood/config/hook.env', ways),
    );
    for (const { status, output } of Object.values(others)) {
      expect(status, output).toBe(usual?.status);
      expect(output).not.toMatch(/hook-env|config-(?:empty|missing)/);
    }
  },
);
