import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FloatingAddress } from '../../rig/addresses/floating-address.ts';
import { AnsibleSite } from '../../rig/ansible/ansible-site.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';

const source = new URL('../../../etc/ansible/', import.meta.url).pathname;
const rig = new URL('../../rig/ansible/', import.meta.url).pathname;
/** Milliseconds; many times what it takes on an idle machine. */
const timeout = 120_000;

let site: AnsibleSite;
let collection: string;

beforeAll(async () => {
  site = await AnsibleSite.create();
  collection = site.path('collections/ansible_collections/berth/berth');
}, 300_000);
afterAll(() => site.remove());

describe('the Ansible collection', () => {
  it('has nothing that ansible-lint reports', { timeout }, async () => {
    for (const name of ['galaxy.yml', '.ansible-lint'])
      await copyFile(join(source, name), join(collection, name));
    const { exitCode, stdout, stderr } = await site.run('ansible-lint', ['--nocolor', '-q'], {
      cwd: collection,
    });
    expect(stdout.toString() + stderr).toBe('');
    expect(exitCode).toBe(0);
  });

  it.each(['site', 'upgrade', 'verify'])(
    'has a playbook %s that suits the example',
    async (playbook) => {
      await copyFile(join(source, 'inventory.example.yml'), site.path('inventory.yml'));
      const { exitCode, output } = await site.play(playbook, '--syntax-check');
      expect(exitCode, output).toBe(0);
    },
  );

  it('has a Molecule scenario whose playbooks suit the example', async () => {
    const { exitCode, output } = await site.molecule('syntax');
    expect(exitCode, output).toBe(0);
  });

  it("computes Red Hat's packages and paths", async () => {
    await evaluate('red-hat.yml', 'berth_login_node');
    expect(await readFile(site.path('packages'), 'utf8')).toContain('openssh-clients podman crun');
    const kind = await readFile(site.path('kind.conf'), 'utf8');
    expect(kind).toContain('Port 2223\nPidFile none\n');
    expect(kind).toContain('# berth-accepts: shell-reads-home\n');
    expect(kind).toContain('ForceCommand /usr/lib/berth/shell/login --profile gpu\n');
    expect(kind).toContain('Subsystem sftp /usr/libexec/openssh/sftp-server\n');
    expect(kind).toContain(
      'MaxStartups 500:30:1000\nPerSourcePenaltyExemptList 192.0.2.1,2001:db8::/64\n',
    );
    expect(kind.match(/^AllowGroups/gm)).toHaveLength(1);
  });

  it("opens the peers' port to the other balancers only, and the statistics to the monitoring", async () => {
    await evaluate('balancer-sources.yml', 'berth_balancer');
    expect(JSON.parse(await readFile(site.path('sources.json'), 'utf8'))).toEqual([
      ['2001:db8::2', 1025],
      ['198.51.100.0/24', 8404],
    ]);
  });

  it('writes a configuration that keepalived accepts', async () => {
    await ensurePackages(['keepalived', 'iproute2']);
    await evaluate('keepalived.yml', 'berth_balancer');
    const file = site.path('keepalived-lb1.conf');
    expect(await readFile(file, 'utf8')).toContain('192.0.2.10/24');
    // In a network of its own, with the interface that the file names.
    const check = /validate: >-\n(.*)$/m.exec(
      await readFile(join(collection, 'roles/berth_balancer/tasks/keepalived.yml'), 'utf8'),
    );
    const script = `ip link add eth0 type bridge; ${check?.[1]?.replace('%s', file) ?? 'false'}`;
    const { exitCode, stderr } = await run('unshare', ['--net', 'sh', '-ec', script]);
    expect(exitCode, stderr).toBe(0);
  });

  it(
    'writes configurations with which an address moves when its balancer fails',
    { timeout },
    async () => {
      const texts = new Map<string, string>();
      for (const name of ['lb1', 'lb2'])
        texts.set(name, await readFile(site.path(`keepalived-${name}.conf`), 'utf8'));
      expect(texts.get('lb1')).toMatch(/unicast_peer \{\s+192\.0\.2\.2\s+\}/);
      const balancers = await FloatingAddress.start((name) => texts.get(name) ?? '');
      try {
        const [first = ''] = await balancers.owners();
        await balancers.powerOff(first);
        await balancers.waitForOwnerOtherThan(first);
        const { stdout, stderr } = await balancers.ssh('ada', ['hostname']);
        expect(stdout.toString(), stderr).toBe('login1\n');
      } finally {
        await balancers.stop();
      }
    },
  );

  /** Runs a playbook of the rig on the controller, with the templates of a role. */
  async function evaluate(name: string, role: string): Promise<void> {
    const playbook = join(collection, 'roles', role, name);
    await copyFile(join(rig, name), playbook);
    const values = JSON.stringify({ directory: site.directory });
    const args = [playbook, '--inventory', 'localhost,', '--extra-vars', values];
    const { exitCode, stdout, stderr } = await site.run('ansible-playbook', args);
    expect(exitCode, stdout.toString() + stderr).toBe(0);
  }
});
