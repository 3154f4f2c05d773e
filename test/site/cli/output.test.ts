import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { startPodHost, type PodHost } from '../../rig/login-node/pod-host.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';

const user = 'out-ann';
let cluster: LiveCluster;
let pods: PodHost;

/** For `clusters reap`, in place of the reaper's own account. */
const reading = ['clusterrolebinding', 'out-reads'];

beforeAll(async () => {
  cluster = new LiveCluster(await openSite());
  pods = await startPodHost(await openSite(), { mode: 'forced', users: { [user]: [] } });
  const who = ['--clusterrole=view', '--serviceaccount=ondemand:berth-login'];
  await cluster.kubectl(['create', ...reading, ...who]);
}, 600_000);
afterAll(async () => {
  await cluster.kubectl(['delete', ...reading]);
  await pods.stop();
});

const commands = [
  'render policies',
  `render --user ${user}`,
  `plan --user ${user} -o json`,
  `plan --ssh --user ${user}`,
  'doctor',
  'sshd lint',
  'token rotate',
  'subid plan -o json',
  'images check -o json',
  'images gc --dry-run',
  'reap --dry-run',
  'clusters reap --cluster prod --dry-run',
  'ldap-sync --help',
];

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command with standard output as the line of Python makes it: `out`, the descriptor that the
 * command gets, and `late`, the one that is read only when the command has been stuck, or is over.
 */
async function runWith(output: string, command: readonly string[]): Promise<Ended> {
  const script = `
import fcntl, json, os, subprocess, sys, time
late = None
${output}
with open('/run/output-stderr', 'w+b') as stderr:
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=out, stderr=stderr)
    os.close(out)
    stdout = b''
    if late is not None:
        time.sleep(0.5)
        while True:
            some = os.read(late, 1024)
            if not some: break
            stdout += some
    code = child.wait()
    stderr.seek(0)
    print(json.dumps({'code': code, 'stdout': stdout.decode(), 'stderr': stderr.read().decode()}))
`;
  const argv = [join(installDirectory, 'berth'), ...command];
  const { stdout, stderr } = await pods.host.asRoot(['python3', '-c', script, ...argv], {
    timeout: 60_000,
  });
  if (stderr !== '') throw new Error(stderr);
  return JSON.parse(stdout.toString()) as Ended;
}

const whole = 'late, out = os.pipe(); fcntl.fcntl(out, 1031, 1 << 20)';
const slow = 'late, out = os.pipe(); fcntl.fcntl(out, 1031, 4096)';
const gone = 'read, out = os.pipe(); os.close(read)';
const full = "out = os.open('/dev/full', os.O_WRONLY)";

/** Times, ports and random names are others in each run. */
const alike = (text: string): string => text.replaceAll(/[\da-f]+/g, '0');

describe.each(commands)('berth %s', (command) => {
  const words = command.split(' ');

  it('writes all output to a slow reader', async () => {
    const [expected, read] = [await runWith(whole, words), await runWith(slow, words)];
    expect(expected.stdout).not.toBe('');
    expect(alike(read.stdout)).toBe(alike(expected.stdout));
    expect(read.code).toBe(expected.code);
    if (command.endsWith('json')) berthDocument(read.stdout);
  });

  it('exits with 141 and prints nothing else if the reader closes the pipe', async () => {
    const { code, stderr } = await runWith(gone, words);
    expect({ code, isSilent: !/EPIPE|^ +at /m.test(stderr) }).toEqual({
      code: 141,
      isSilent: true,
    });
  });

  it('reports a full disk', async () => {
    const { code, stderr } = await runWith(full, words);
    expect(code).toBeGreaterThanOrEqual(74);
    expect(stderr).toMatch(
      /berth: standard output cannot be written: ENOSPC[^\n]* \[output-failed\]\nnext: .*\n$/,
    );
  });
});
