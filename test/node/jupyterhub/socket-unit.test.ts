import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileEntryPoint } from '../../rig/compile-entry-point.ts';
import { BootedSystem } from '../../rig/systemd/booted-system.ts';

const etc = new URL('../../../etc/systemd/', import.meta.url).pathname;
const init = new URL('../../rig/systemd/own-units-init.sh', import.meta.url).pathname;

const [ann, hub, other, group] = [61_021, 61_022, 61_023, 61_024];
let system: BootedSystem;

/** A host with systemd and the two units of etc/systemd, whose program and configuration are the test's. */
beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-hub-unit-'));
  await chmod(directory, 0o755);
  await Promise.all(
    ['etc', 'work', 'units/berth-hub@.service.d', 'clusters.d'].map((name) =>
      mkdir(join(directory, name), { recursive: true }),
    ),
  );
  for (const name of ['berth-hub.socket', 'berth-hub@.service', 'berth-hub.slice'])
    await copyFile(join(etc, name), join(directory, 'units', name));
  for (const name of ['portal', 'sysinit', 'basic', 'shutdown', 'sockets'])
    await writeFile(join(directory, `units/${name}.target`), '[Unit]\nDefaultDependencies=no\n');
  await writeFile(
    join(directory, 'berth.yml'),
    `state_dir: ${directory}/state\nhook_env: null\nclusters_dir: ${directory}/clusters.d\n`,
  );
  const program = await compileEntryPoint('hooks/hub-bootstrap.ts', directory);
  await writeFile(
    join(directory, 'units/berth-hub@.service.d/test.conf'),
    [
      ...['[Service]', 'ExecStart=', `ExecStart=${program} --config ${directory}/berth.yml`],
      ...['PrivateTmp=no', `ReadWritePaths=${directory}`, ''],
    ].join('\n'),
  );
  const people = [
    [ann, 'hub-ann'],
    [hub, 'hub-itself'],
    [other, 'hub-other'],
  ] as const;
  const passwd = people.map(([uid, name]) => `${name}:x:${uid}:${uid}::/:/bin/sh\n`);
  const groups = [
    ...people.map(([uid, name]) => `${name}:x:${uid}:\n`),
    `jupyterhub:x:${group}:hub-itself\n`,
    `hub-lab:x:${group + 1}:hub-ann\n`,
  ];
  for (const [name, lines] of [
    ['passwd', passwd],
    ['group', groups],
  ] as const)
    await writeFile(
      join(directory, 'etc', name),
      (await readFile(`/etc/${name}`, 'utf8')) + lines.join(''),
      { mode: 0o644 },
    );
  const ready = { command: ['is-active', 'portal.target'], answer: /^active/ };
  system = await BootedSystem.boot({ init, directory, ready });
  const { stderr } = await system.run(['systemctl', 'start', 'berth-hub.socket']);
  expect(stderr).toBe('');
});
afterAll(async () => {
  const { directory } = system;
  await system.stop();
  await rm(directory, { recursive: true, force: true });
});

const ask = `const connection = require('node:net').connect('/run/berth/hub.sock');
  connection.on('error', ({ code }) => console.log(code)).pipe(process.stdout);
  connection.write(process.argv[1]);`;

/** The answer to a line of an account with these groups. */
async function answer(uid: number, groups: string, line: string): Promise<unknown> {
  const ids = [`--reuid=${uid}`, `--regid=${uid}`, `--groups=${groups}`];
  const argv = ['setpriv', ...ids, process.execPath, '-e', ask, `${line}\n`];
  const [file = '', ...words] = system.enter(argv, ['--mount', '--pid', '--wd=/']);
  const { stdout } = await execa(file, words);
  const [text = ''] = stdout.split('\n');
  return text.startsWith('{') ? JSON.parse(text) : text;
}

describe('berth-hub.socket', () => {
  it('answers the hub in its sandbox', async () => {
    expect(await answer(hub, String(group), '{"user":"hub-ann"}')).toEqual({
      ...{ user: 'hub-ann', uid: ann, gid: ann, gids: [ann, group + 1], home: '/' },
      groups: expect.arrayContaining(['hub-lab']) as unknown,
      passwd: expect.stringMatching(`^hub-ann:\\*:${ann}:${ann}::/:/bin/sh\n`) as unknown,
      group: expect.stringContaining(`hub-lab:x:${group + 1}:\n`) as unknown,
    });
  });

  it.each([
    ['uid-below-minimum', '{"user":"root"}'],
    ['user-unknown', '{"user":"nobody-of-this-name"}'],
    ['user-name-invalid', '{"user":"../x"}'],
    ['cluster-unknown', '{"user":"hub-ann","cluster":"x"}'],
    ['hub-request-invalid', '{"user":["hub-ann"]}'],
    ['hub-request-invalid', 'hello'],
    ['hub-request-invalid', JSON.stringify({ user: 'x'.repeat(100_000) })],
  ])('refuses with %s', async (code, line) => {
    expect(await answer(hub, String(group), line)).toMatchObject({ error: { code } });
  });

  it('is closed to everybody else', async () => {
    expect(await answer(other, String(other), '{"user":"hub-ann"}')).toBe('EACCES');
  });
});
