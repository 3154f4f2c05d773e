import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../rig/free-ports.ts';
import { type BerthResult, KindHost } from './kind-host.ts';

const accept = ['--accept', 'shell-reads-home'];
const names = ['--principal', 'login.example.org', 'login1.example.org'];

/** The admin's directory with the CA; the login node's keys are copied there. */
const admin = '/run/admin';

describe('berth sshd certify', () => {
  let node: KindHost;
  let ports: { readonly one: number; readonly two: number };

  beforeAll(async () => {
    node = await KindHost.start();
    ports = await freePorts(['one', 'two']);
    await node.shell(`
      echo '127.0.0.1 login.example.org elsewhere.example.org' >>/etc/hosts
      mkdir -p ${admin} && cd ${admin}
      ssh-keygen -q -t ed25519 -N '' -C 'login CA' -f ca
      ssh-keygen -q -t ed25519 -N '' -f other-ca
      for kind in one two; do
        ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/$kind
        cp /etc/ssh/$kind.pub .
      done`);
    await node.allowKeyInHome();
  });
  afterAll(() => node.stop());

  const certify = (...more: readonly string[]): Promise<BerthResult> =>
    node.sshd('certify', '--ca', `${admin}/ca`, ...names, ...more);

  const ssh = (port: number, name: string): Promise<BerthResult> =>
    node.shell(
      `ssh -F /dev/null -i ${node.host.key('ada')} -o IdentitiesOnly=yes -o BatchMode=yes \
        -o StrictHostKeyChecking=yes -o UserKnownHostsFile=${admin}/known_hosts -o GlobalKnownHostsFile=/dev/null \
        -p ${port} ada@${name} true || echo "exit $?"`,
    );

  it('lets a client that knows only the CA use two sshds with different host keys', async () => {
    const keys = [`${admin}/one.pub`, `${admin}/two.pub`];
    const made = await certify('--host-key', ...keys);
    expect(made).toMatchObject({ exitCode: 0, stderr: '' });
    const ends = Array.from(made.stdout.matchAll(/: made, valid until (\S+)$/gm), ([, end = '']) =>
      Math.round((Date.parse(end) - Date.now()) / 86_400_000),
    );
    expect(ends).toEqual([364, 364]);
    const { stdout: shown } = await node.shell(`ssh-keygen -L -f ${admin}/one-cert.pub`);
    expect(shown).toMatch(new RegExp(`Principals: *\\n *${names[1]}\\n *${names[2]}\\n`));
    const [knownHostsLine = ''] = /^@cert-authority .*$/m.exec(made.stdout) ?? [];
    expect(knownHostsLine).toMatch(
      /^@cert-authority login\.example\.org,login1\.example\.org ssh-ed25519 \S+ login CA$/,
    );

    await node.shell(
      `cd ${admin}; echo '${knownHostsLine}' >known_hosts; cp one-cert.pub two-cert.pub /etc/ssh`,
    );
    for (const kind of ['one', 'two'] as const) {
      const key = ['--host-key', `/etc/ssh/${kind}`];
      const port = String(ports[kind]);
      const result = await node.sshd('new', kind, '--port', port, ...key, ...accept);
      expect(result).toMatchObject({ exitCode: 0, stderr: '' });
      const { stdout } = await node.shell(`grep ^HostCertificate /etc/ssh/berth/${kind}.conf`);
      expect(stdout).toBe(`HostCertificate /etc/ssh/${kind}-cert.pub\n`);
      await node.startKind(kind, ports[kind]);
      // Past the check of the host key, the login program runs.
      const { stderr } = await ssh(ports[kind], 'login.example.org');
      expect(stderr).not.toContain('Host key verification failed');
    }
    await expect.poll(() => node.host.log()).toMatch(/(?:Accepted publickey for ada[^]*){2}/);
    const refused = await ssh(ports.one, 'elsewhere.example.org');
    expect(refused.stderr).toContain('Host key verification failed');
  });

  it('keeps a certificate until less than a third of its time is left', async () => {
    const again = await certify('--host-key', `${admin}/one.pub`);
    expect(again.stdout).toContain('/run/admin/one-cert.pub: kept, valid until');
    const forced = await certify('--host-key', `${admin}/one.pub`, '--force');
    expect(forced.stdout).toContain(': renewed (forced), valid until');

    await node.shell(
      `cd ${admin}; ssh-keygen -q -s ca -h -I x -n ${names[1]},${names[2]} -V -20d:+9d one.pub`,
    );
    const late = await certify('--host-key', `${admin}/one.pub`);
    expect(late.stdout).toContain(': renewed (ends-soon)');
    const other = await certify(
      '--host-key',
      `${admin}/one.pub`,
      '--principal',
      'other.example.org',
    );
    expect(other.stdout).toContain(': renewed (principals)');
  });

  it('signs with --dry-run too, and writes nothing', async () => {
    const files = async (): Promise<string> =>
      (await node.shell(`cd ${admin}; md5sum *; ls -d /tmp/berth-certify-* || true`)).stdout;
    await node.shell(`rm -f ${admin}/two-cert.pub`);
    const before = await files();
    const keys = ['--host-key', `${admin}/one.pub,${admin}/two.pub`, '--force'];
    const { stdout, stderr, exitCode } = await certify(...keys, '--dry-run');
    expect({ stderr, exitCode }).toEqual({ stderr: 'dry run: nothing was changed\n', exitCode: 0 });
    expect(stdout).toMatch(
      /one-cert\.pub: would be renewed \((?:forced|principals)\), [^]*two-cert\.pub: would be made/,
    );
    expect(stdout).not.toContain('next:');
    expect(await files()).toBe(before);
    expect((await certify(...keys)).stdout).toContain("\nnext: copy each login node's certificate");
  });

  it('uses a CA that only ssh-agent has', async () => {
    const { stdout, stderr, exitCode } = await node.shell(`
      cd ${admin}; rm -f two-cert.pub; mkdir -p public; cp ca.pub public/
      eval "$(ssh-agent -s)" >/dev/null; trap 'kill $SSH_AGENT_PID' EXIT
      ssh-add -q ca
      ${node.berth} sshd certify --ca public/ca.pub --agent --host-key two.pub ${names.join(' ')}
      ssh-keygen -L -f two-cert.pub | grep Principals -A1`);
    expect({ stderr, exitCode }).toMatchObject({ exitCode: 0 });
    expect(stdout).toContain(': made, valid until');
    expect(stdout).toContain('login.example.org\n');
  });

  it('tells an admin in `berth sshd check` what is wrong with a certificate', async () => {
    const codes = async (): Promise<string[]> => {
      const { stdout } = await node.sshd('list');
      return Array.from(stdout.matchAll(/^one: .* \[(\S+)\]$/gm), ([, code = '']) => code);
    };
    expect(await codes()).toEqual([]);
    await node.shell(
      `echo 'hostname: other.example.org' >/etc/berth/balancer.yml; chmod 0644 /etc/berth/balancer.yml`,
    );
    expect(await codes()).toEqual(['certificate-principals']);
    await node.shell(`rm /etc/berth/balancer.yml
      cd /etc/ssh; ssh-keygen -q -s ${admin}/ca -h -I x -n login.example.org -V -20d:+9d one.pub`);
    expect(await codes()).toEqual(['settings-not-loaded', 'certificate-ends-soon']);
    await node.shell(`cd /etc/ssh; ssh-keygen -q -s ${admin}/ca -h -I x -n a -V -20d:-9d one.pub`);
    expect(await codes()).toContain('certificate-expired');
    await node.shell('cp /etc/ssh/two-cert.pub /etc/ssh/one-cert.pub');
    expect(await codes()).toContain('certificate-other-key');
    await node.shell('echo nonsense >/etc/ssh/one-cert.pub');
    expect(await codes()).toContain('certificate-invalid');
  });

  it.each([
    [['--principal', 'a b'], 64, 'not the name'],
    [['--validity', 'forever'], 64, 'must be a time from 1h'],
    [['--validity', '1w', '--ca', `${admin}/ca.pub`], 64, 'is a public key: name the private key'],
    [['--ca', `${admin}/absent`], 64, 'no such file'],
    [['--ca', '/etc/motd'], 69, '[keygen-failed]'],
  ])('refuses %j', async (more, exitCode, said) => {
    const before = (await node.shell(`cd ${admin}; cat one-cert.pub; ls -A`)).stdout;
    const given = ['--ca', `${admin}/ca`, '--host-key', `${admin}/one.pub`, ...names];
    const options = more.includes('--ca') ? given.slice(2) : given;
    const result = await node.sshd('certify', ...options, ...more);
    expect(result).toMatchObject({ exitCode, stdout: '' });
    expect(result.stderr).toContain(said);
    expect((await node.shell(`cd ${admin}; cat one-cert.pub; ls -A`)).stdout).toBe(before);
  });

  it('changes no certificate if the second key is bad', async () => {
    await node.shell(`cd ${admin}; echo nonsense >bad.pub`);
    const before = (await node.shell(`cd ${admin}; cat one-cert.pub; ls -A`)).stdout;
    const result = await certify('--force', '--host-key', `${admin}/one.pub`, `${admin}/bad.pub`);
    expect(result).toMatchObject({ exitCode: 69, stdout: '' });
    expect(result.stderr).toContain('[keygen-failed]');
    expect((await node.shell(`cd ${admin}; cat one-cert.pub; ls -A`)).stdout).toBe(before);
  });

  it('refuses a host key that is not there', async () => {
    const result = await certify('--host-key', `${admin}/absent`);
    expect(result).toMatchObject({ exitCode: 78, stdout: '' });
    expect(result.stderr).toContain('[host-key-missing]');
  });
});
