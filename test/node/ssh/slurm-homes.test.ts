import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { standardProfile } from '../../rig/login-node/ssh-host.ts';
import { SlurmSite } from '../../rig/slurm/slurm-site.ts';

const elsewhere = 'home-elsewhere';
const full = 'home-full';

describe('a login in a job of Slurm', () => {
  let site: SlurmSite;
  beforeAll(async () => {
    site = await SlurmSite.start({
      ...{ mode: 'forced', users: { [elsewhere]: [], [full]: [] } },
      profiles: { base: { ...standardProfile, backend: 'slurm', deadline: '15s' } },
    });
  });
  afterAll(() => site.stop());

  it('says that the home on the compute node is another one, if nothing written there arrives', async () => {
    const { home, uid } = site.login.account(elsewhere);
    const [node] = site.nodes;
    const mounted = await node?.asRoot([
      ...['sh', '-euc'],
      `mkdir /run/own; mount -t tmpfs tmpfs /run/own; mkdir /run/own/work
      install -d -o ${uid} -m 700 /run/own/home
      mount -t overlay -o lowerdir=${home},upperdir=/run/own/home,workdir=/run/own/work overlay ${home}`,
    ]);
    expect(mounted).toMatchObject({ exitCode: 0 });
    const { exitCode, stderr } = await site.login.ssh(elsewhere, ['true']);
    expect(stderr).toMatch(
      /Slurm job \d+ runs on \S+, but the connection service .* does not answer: .* that node does not have the same home as this one \[slurm-job-silent,/,
    );
    expect(exitCode).toBe(255);
  });

  it('says that its keys cannot be written, if the home is full', async () => {
    const { home, uid } = site.login.account(full);
    const filled = await site.login.asRoot([
      ...['sh', '-euc'],
      `mount -t tmpfs -o size=16k,uid=${uid},mode=700 tmpfs ${home}
      runuser -u ${full} -- sh -c 'yes >${home}/much || true'`,
    ]);
    expect(filled.exitCode).toBe(0);
    const { exitCode, stderr } = await site.login.ssh(full, ['true']);
    expect(stderr).toMatch(
      /could not create the SSH keys for your Slurm job in .*\/allocations\/.*: .*no space left.* \[allocation-keys-failed,/i,
    );
    expect(exitCode).toBe(255);
  });
});
