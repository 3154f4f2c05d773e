import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { Canary } from './canary.ts';

const profiles = {
  base: { image: 'localhost/berth-site:1', lifetime: 'connection' },
  // A registry that does not exist: podman looks for credentials before it connects.
  pulls: { image: '127.0.0.1:9/nobody/nothing:1', pull: 'always' },
};
const sshYml = { rules: [{ profile: 'pulls', users: ['bob'] }, { profile: 'base' }] };

/** Files that podman, its libraries or a shell may read in a home; each would run a program of the user. */
async function poison(canary: Canary): Promise<string> {
  const program = (name: string, then?: string) => canary.program(name, then);
  const hook = {
    version: '1.0.0',
    hook: { path: await program('hook', '/bin/cat') },
    when: { always: true },
    stages: ['precreate', 'prestart', 'createRuntime', 'poststop'],
  };
  const hookFile = await canary.file(
    '.config/containers/oci/hooks.d/evil.json',
    JSON.stringify(hook),
  );
  await canary.file(
    '.config/containers/containers.conf',
    [
      '[containers]',
      'env = ["POISONED=1"]',
      `init_path = "${await program('init')}"`,
      'netns = "host"',
      '[engine]',
      `hooks_dir = ["${hookFile.replace('/evil.json', '')}"]`,
      `conmon_path = ["${await program('conmon', '/usr/bin/conmon')}"]`,
      `helper_binaries_dir = ["${(await program('catatonit')).replace('/catatonit', '')}"]`,
      'runtime = "crun"',
      '[engine.runtimes]',
      `crun = ["${await program('crun', '/usr/bin/crun')}"]`,
      `"/usr/bin/crun" = ["${await program('crun', '/usr/bin/crun')}"]`,
      '',
    ].join('\n'),
  );
  await canary.file(
    '.config/containers/storage.conf',
    [
      '[storage]',
      'driver = "overlay"',
      `graphroot = "${canary.directory}/graph"`,
      '[storage.options]',
      'additionalimagestores = ["/var/lib/berth-ssh/images"]',
      '[storage.options.overlay]',
      `mount_program = "${await program('mount', '/usr/bin/fuse-overlayfs')}"`,
      '',
    ].join('\n'),
  );
  await canary.file(
    '.config/containers/registries.conf',
    'credential-helpers = ["evil"]\nunqualified-search-registries = ["127.0.0.1:9"]\n',
  );
  await canary.program('docker-credential-evil');
  await canary.file('.docker/config.json', JSON.stringify({ credsStore: 'evil' }));
  await canary.file('.config/containers/auth.json', JSON.stringify({ credsStore: 'evil' }));
  await canary.file('.config/containers/policy.json', '{"default":[{"type":"reject"}]}');
  const secret = await canary.file('evil/secrets/poisoned', 'x');
  await canary.file(
    '.config/containers/mounts.conf',
    `${secret.replace('/poisoned', '')}:/run/secrets\n`,
  );
  await canary.file(
    '.config/containers/seccomp.json',
    '{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":1}',
  );
  await canary.file('.local/share/containers/storage/overlay-images/images.json', 'poisoned');
  return canary.file('.local/share/containers/storage/libpod/bolt_state.db', 'poisoned');
}

describe("podman's files in the home", () => {
  it('are read by podman without Berth, so these tests are meaningful', async () => {
    const host = await SshHost.start({ mode: 'plain', users: { ada: [] } });
    try {
      const canary = await Canary.of(host, 'ada');
      await poison(canary);
      const path = `PATH=${host.account('ada').home}/evil:/usr/bin:/bin`;
      const podman = (...words: string[]) => host.asUser('ada', ['env', path, 'podman', ...words]);
      const run = [
        'run',
        '--rm',
        '--cgroups',
        'disabled',
        '--init',
        'localhost/berth-site:1',
        'true',
      ];
      const { stderr } = await podman(...run);
      const { stderr: pulled } = await podman('pull', '127.0.0.1:9/nobody/nothing:1');
      const all = ['conmon', 'crun', 'docker-credential-evil', 'graph', 'hook', 'mount'];
      expect(await canary.heard(), stderr + pulled).toEqual(all);
    } finally {
      await host.stop();
    }
  });
});

describe.each(['forced', 'login-shell'] as const)("podman's files in the home: %s", (mode) => {
  let host: SshHost;
  beforeAll(async () => {
    host = await SshHost.start({ mode, profiles, sshYml });
  });
  afterAll(() => host.stop());

  it('change no session and run nothing on the host', async () => {
    const canary = await Canary.of(host, 'ada');
    const database = await poison(canary);
    const script =
      'hostname; env | grep POISONED; ls /run/secrets; grep ^Seccomp: /proc/self/status';
    const result = await host.ssh('ada', [script]);
    expect(result.stderr).toMatch(/^ls: cannot access '\/run\/secrets'.*\n$/);
    expect(result.stdout.toString()).toBe('login1\nSeccomp:\t2\n');
    expect(await canary.heard()).toEqual([]);
    const { stdout } = await host.asRoot(['cat', database]);
    expect(stdout.toString()).toBe('poisoned');
  });

  it('are not asked for credentials', async () => {
    const canary = await Canary.of(host, 'bob');
    await poison(canary);
    const { exitCode, stderr } = await host.ssh('bob', ['true']);
    expect(stderr).toContain('registry does not answer');
    expect(exitCode).toBe(255);
    expect(await canary.heard()).toEqual([]);
  });
});
