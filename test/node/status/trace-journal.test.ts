import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../rig/free-ports.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { SystemdHost } from '../../rig/systemd/systemd-host.ts';

const berth = join(installDirectory, 'berth');
let host: SystemdHost;
let session: string;
let mallory: number;

/** Any account of the system. */
const user = 'daemon';

beforeAll(async () => {
  const { admin } = await freePorts(['admin']);
  const options = { name: 'journal', address: '127.18.2.10', adminKey: '' };
  host = await SystemdHost.boot({ ...options, adminPort: admin });
  mallory = Number(await host.script(`id -u ${user}`));
  const pid = await host.script(
    `runuser -u ${user} -- sh -c 'echo $$; exec logger -t sshd "Accepted publickey for victim"'`,
  );
  session = `${pid.trim()}.8812345@journal`;
  await host.script(`logger -t berth 'level=info msg="session opened" user=ada session=${session}'
    runuser -u ${user} -- logger -t berth 'level=info msg="session closed" user=ada session=${session}'`);
});
afterAll(() => host.stop());

async function trace() {
  await host.script('journalctl --sync');
  const { exitCode, stdout, stderr } = await host.asRoot([berth, 'trace', session]);
  return { exitCode, stdout: stdout.toString(), stderr };
}

it("berth trace names the UID of lines that root did not write, and has no line of another's sshd", async () => {
  const { exitCode, stdout, stderr } = await trace();
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/ berth\[?\d*\]?: level=info msg="session opened" /) as string,
    expect.stringMatching(
      new RegExp(` berth\\[?\\d*\\]? of UID ${mallory}: level=info msg="session closed" `),
    ) as string,
  ]);
});

it('berth trace prints what root wrote, however much a user writes', async () => {
  await host.script(`cat >/etc/flood <<'END'
    for my $n (1 .. 6000) { print 'session=${session} ', "x" x 3500, "\\n" }
    print 'session=${session} long', "x" x 50000, "\\n";
END
    perl /etc/flood | runuser -u ${user} -- logger -t berth --size 60000 --socket-errors=on
    logger -t berth 'level=info msg="session closed" user=ada session=${session}'`);
  const { exitCode, stdout, stderr } = await trace();
  expect(exitCode, stderr).toBe(0);
  expect(stderr).toBe(
    'berth: the journal has too many lines that name the session: the oldest that users wrote are left out\n',
  );
  const lines = stdout.trimEnd().split('\n');
  expect(lines.filter((line) => !line.includes('of UID'))).toHaveLength(2);
  expect(lines.length).toBeGreaterThan(100);
  expect(stdout).not.toContain('longx');
  expect(stdout.length).toBeLessThan(17 * 1024 * 1024);
});
