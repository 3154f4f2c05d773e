import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CheckResult } from '../../../src/system/errors/check-result.ts';
import { berthDocument } from '../../rig/berth-document.ts';
import { InitHost } from '../../rig/login-node/init-host.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { type ComputeNetwork, computeNetwork } from '../../rig/slurm/compute-network.ts';
import { SlurmCluster, slurmPackages } from '../../rig/slurm/slurm-cluster.ts';

/** What `berth init login-node --backend slurm` sets up and says, up to a session on a compute node. */
let login: InitHost;
let node: SshHost;
let slurm: SlurmCluster | undefined;
let network: ComputeNetwork;

beforeAll(async () => {
  await ensurePackages(slurmPackages);
  login = await InitHost.start();
  // The node copies them.
  await login.shell('touch /etc/subuid /etc/subgid');
  network = await computeNetwork();
  node = await SshHost.start({
    ...{ mode: 'plain', pam: '', name: 'node1', beside: login.host },
    ...{ address: network.far, network: network.path },
  });
  slurm = await SlurmCluster.startBehind(login.host, network.near, [node], '');
});
afterAll(async () => {
  await slurm?.stop();
  await network.remove();
});

it('sets up a login node, whose sessions run when the compute nodes have the files that it names', async () => {
  const wanted =
    `login-node --backend slurm --partition debug --image localhost/berth-site:1 --user alice
    --port ${login.port} --mode login-shell --yes`.replaceAll('\n', ' ');
  const { exitCode, stdout, stderr } = await login.init(wanted);
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout).toContain('Slurm accepts the job of alice');
  expect(stdout).toContain(
    'on each compute node: install the package berth-login, copy /etc/berth',
  );
  expect((await login.shell('cat /etc/berth/profiles/allocation.yml')).stdout).toMatch(
    /^batch:\n {2}partition: debug\n {2}time: 8h\n/m,
  );
  // The image is in the store of all hosts of the tests.
  const files = await login.host.asRoot(['tar', '-C', '/etc', '-cf', '-', 'berth']);
  await node.asRoot(['tar', '-C', '/etc', '-xf', '-'], { input: files.stdout });
  await node.asRoot([`${installDirectory}/berth`, 'subid', 'apply', 'alice', '--directories']);
  const session = await login.session(['hostname; id -un']);
  expect([session.exitCode, session.stdout.toString(), session.stderr]).toEqual([
    0,
    'node1\nalice\n',
    '',
  ]);
});

it('is proved with a job of the user, up to a program in its container', async () => {
  const tried = async (): Promise<string | undefined> => {
    const doctor = [`${installDirectory}/berth`, 'doctor', '--user', 'alice', '--start-session'];
    const { stdout } = await login.host.asRoot([...doctor, '-o', 'json'], { timeout: 120_000 });
    const { checks } = berthDocument(stdout.toString()) as { checks: CheckResult[] };
    const found = checks.find(({ id }) => id === 'session-start');
    return `${found?.status} ${found?.message}`;
  };
  await slurm?.as('alice', ['scancel', '--me', '--quiet']);
  expect(await tried()).toMatch(/^ok /);
  await node.asRoot(['mv', '/etc/berth/ssh.yml', '/etc/berth/ssh.yml.away']);
  expect(await tried()).toMatch(/^failed .*: login on node1: .*ssh\.yml/);
  await node.asRoot(['mv', '/etc/berth/ssh.yml.away', '/etc/berth/ssh.yml']);
});

it('refuses options of another backend, and keeps the partition when it runs again', async () => {
  const other = await login.init('login-node --backend slurm --pull yes --yes');
  expect(other.stderr).toContain(
    '--pull cannot be used with --backend slurm: each compute node needs the image: run `berth images pull` there',
  );
  const podman = await login.init('login-node --backend podman --partition debug --yes');
  expect(podman.stderr).toContain('--partition needs --backend slurm');
  const again = await login.init('login-node --user alice --yes --dry-run');
  expect([again.exitCode, again.stderr]).toEqual([0, 'dry run: nothing was changed\n']);
  expect(again.stdout).not.toContain('partition');
});
