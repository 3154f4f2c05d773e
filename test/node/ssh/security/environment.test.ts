import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClientResult } from '../../../../src/companions/verify/run-client.ts';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';
import { Canary } from './canary.ts';

const modes = ['forced', 'login-shell'] as const;

/** Variables that podman, its libraries, Go, the OCI runtime or Berth could read. */
async function steering(canary: Canary): Promise<Record<string, string>> {
  for (const name of ['podman', 'crun', 'nsenter', 'conmon', 'fuse-overlayfs', 'newuidmap'])
    await canary.program(name);
  for (const name of ['env', 'node', 'bash', 'sh', 'logger', 'id', 'mount', 'catatonit'])
    await canary.program(name);
  const conf = await canary.file(
    'evil/containers.conf',
    `[engine]\nconmon_path = ["${await canary.program('conmon')}"]\n`,
  );
  const directory = conf.replace(/\/containers\.conf$/, '');
  const storage = await canary.file(
    'evil/storage.conf',
    `[storage]\ndriver = "overlay"\ngraphroot = "${canary.directory}/graph"\n`,
  );
  await canary.file('evil/config/containers/containers.conf', `[engine]\nconmon_path = ["/x"]\n`);
  const socket = `unix://${canary.directory}/none.sock`;
  return {
    ...{
      PATH: directory,
      TMPDIR: canary.directory,
      SHELL: `${directory}/sh`,
      IFS: '/',
      CDPATH: directory,
    },
    ...{ XDG_CONFIG_HOME: `${directory}/config`, XDG_RUNTIME_DIR: `${canary.directory}/run` },
    ...{ XDG_DATA_HOME: `${canary.directory}/data`, XDG_CACHE_HOME: `${canary.directory}/cache` },
    ...{ CONTAINER_HOST: socket, DOCKER_HOST: socket, DBUS_SESSION_BUS_ADDRESS: socket },
    ...{ CONTAINERS_CONF: conf, CONTAINERS_STORAGE_CONF: storage, STORAGE_DRIVER: 'vfs' },
    ...{ STORAGE_OPTS: 'overlay.mount_program=/x', REGISTRY_AUTH_FILE: conf },
    ...{ CONTAINERS_REGISTRIES_CONF: conf, PODMAN_USERNS: 'host', SSL_CERT_FILE: conf },
    ...{ _CONTAINERS_USERNS_CONFIGURED: 'done', _CONTAINERS_ROOTLESS_UID: '0', LISTEN_FDS: '1' },
    ...{ KUBECONFIG: conf, NOTIFY_SOCKET: `${canary.directory}/notify`, GOTRACEBACK: 'crash' },
    ...{
      BERTH_CONNECTION: '1.1',
      NODE_CHANNEL_FD: '0',
      SSH_ORIGINAL_COMMAND: canary.line('words'),
    },
  };
}

/** Variables that make any program run code of the user. */
async function hijacking(canary: Canary): Promise<Record<string, string>> {
  const script = await canary.file('evil/bash-env', `${canary.line('BASH_ENV')}\n`);
  const required = await canary.file(
    'evil/required.cjs',
    `require('fs').writeFileSync('${canary.directory}/NODE_OPTIONS', '');\n`,
  );
  return {
    BASH_ENV: script,
    ENV: script,
    NODE_OPTIONS: `--require=${required}`,
    LD_PRELOAD: await canary.file('evil/library.so', 'no library'),
    LD_LIBRARY_PATH: script.replace('/bash-env', ''),
    NODE_EXTRA_CA_CERTS: script,
    NODE_REDIRECT_WARNINGS: `${canary.directory}/NODE_REDIRECT_WARNINGS`,
    NODE_COMPILE_CACHE: `${canary.directory}/NODE_COMPILE_CACHE`,
  };
}

async function given(
  host: SshHost,
  canary: Canary,
  variables: Record<string, string>,
  command: string,
): Promise<{ readonly byClient: ClientResult; readonly byFile: ClientResult }> {
  const set = Object.entries(variables).map(([name, value]) => `"${name}=${value}"`);
  const byClient = await host.ssh(canary.user, ['-o', `SetEnv=${set.join(' ')}`, command]);
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  await canary.file('.ssh/environment', lines.join(''), 0o600);
  const byFile = await host.ssh(canary.user, [command]);
  return { byClient, byFile };
}

/** The variables that arrived, from the output of `env` inside. */
function arrived(stdout: Buffer, variables: Record<string, string>): string[] {
  const lines = stdout.toString().split('\n');
  return Object.keys(variables).filter((name) =>
    lines.includes(`${name}=${variables[name] ?? ''}`),
  );
}

describe.each(modes)('variables of the client: %s', (mode) => {
  let host: SshHost;
  let mistaken: SshHost;
  beforeAll(async () => {
    host = await SshHost.start({ mode });
    mistaken = await SshHost.start({ mode, sshd: 'AcceptEnv *\nPermitUserEnvironment yes' });
  });
  afterAll(async () => {
    await host.stop();
    await mistaken.stop();
  });

  it('do not arrive with the sshd_config of etc/sshd', async () => {
    const canary = await Canary.of(host, 'ada');
    const variables = { ...(await steering(canary)), ...(await hijacking(canary)) };
    const { byClient, byFile } = await given(host, canary, variables, 'env');
    for (const { exitCode, stderr, stdout } of [byClient, byFile]) {
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(arrived(stdout, variables)).toEqual([]);
    }
    expect(await canary.heard()).toEqual([]);
  });

  it('change nothing on the host, given AcceptEnv *', async () => {
    const canary = await Canary.of(mistaken, 'ada');
    const variables = await steering(canary);
    const { byClient, byFile } = await given(mistaken, canary, variables, 'hostname; env');
    for (const { exitCode, stderr, stdout } of [byClient, byFile]) {
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(stdout.toString()).toMatch(/^login1\n/);
      expect(arrived(stdout, variables)).toEqual([]);
    }
    expect(await canary.heard()).toEqual([]);
  });

  it("run the user's code, given AcceptEnv * and a variable of the loader, which the linter reports", async () => {
    const canary = await Canary.of(mistaken, 'bob');
    const variables = await hijacking(canary);
    const { byClient, byFile } = await given(mistaken, canary, variables, 'true');
    // The loader and Node read them before the first line of Berth.
    for (const { stderr } of [byClient, byFile]) expect(stderr).toContain('from LD_PRELOAD cannot');
    expect(await canary.heard()).toEqual(['NODE_COMPILE_CACHE', 'NODE_OPTIONS']);
  });
});
