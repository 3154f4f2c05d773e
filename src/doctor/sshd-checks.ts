import { isIP, connect } from 'node:net';
import { type CheckResult, ok, runCheck, warning, type Finding } from '../check-result.ts';
import { inspectKind } from '../sshd-kinds/inspect-kind.ts';
import { kindsDirectory } from '../sshd-kinds/kind-files.ts';
import { runningSshds, type RunningSshd } from '../sshd-kinds/running-sshds.ts';
import { endpointsOf, type SshdEndpoint } from '../sshd-kinds/rules/sshd-endpoints.ts';
import { anybody } from '../sshd-lint/lint-connections.ts';
import { balancerFindings } from '../sshd-lint/rules/balancer-findings.ts';
import { effectiveOptions, parseSshdConfigFiles } from '../sshd-lint/sshd-effective.ts';

/**
 * Asks each sshd that runs on this host, its own one and those of kinds: its version, whether it has read its present
 * files, and what it decides by the addresses of balancers.
 *
 * @param balancers `balancers` of ssh.yml
 * @param timeoutMs for each sshd, in milliseconds
 */
export async function checkRunningSshds(
  balancers: readonly string[],
  timeoutMs: number,
): Promise<CheckResult[]> {
  return await Promise.all(
    runningSshds().map((sshd) =>
      runCheck({ id: 'sshd', run: (signal) => sshdFinding(sshd, balancers, signal) }, timeoutMs),
    ),
  );
}

async function sshdFinding(
  running: RunningSshd,
  balancers: readonly string[],
  signal: AbortSignal,
): Promise<Finding> {
  const { config, program } = running;
  const parsed = await parseSshdConfigFiles(config);
  const version = await bannerOf(endpointsOf(parsed.directives), signal);
  const name = `${config} (PID ${running.pid}${version === undefined ? '' : `, ${version}`})`;
  const sshd = program.replace(/ \(deleted\)$/, '');
  const options = await effectiveOptions({ sshd, config }, anybody, parsed.directives);
  const [first, ...others] = [
    ...balancerFindings(options, balancers, parsed).map(({ message, closedBy }) => ({
      message,
      next: closedBy,
    })),
    ...(await kindFindings(config)),
  ];
  if (first === undefined) return ok(`sshd of ${name}`);
  const more =
    others.length === 0 ? '' : ` (and ${others.length} more: berth lint sshd --config ${config})`;
  return warning(`sshd of ${name}: ${first.message}${more}`, first.next);
}

/** What concerns a process that runs: whether it has read its files, and whether it is the installed program. */
const ofTheProcess = ['settings-not-loaded', 'program-replaced'];

async function kindFindings(config: string): Promise<{ message: string; next: string }[]> {
  const name = config.startsWith(`${kindsDirectory}/`)
    ? config.slice(kindsDirectory.length + 1).replace(/\.conf$/, '')
    : undefined;
  if (name === undefined) return [];
  const { problems } = await inspectKind(name, { now: Date.now() });
  return problems.filter(
    ({ code }) => ofTheProcess.includes(code) || code.startsWith('certificate-'),
  );
}

/** Longer than any banner (RFC 4253, 4.2); characters. */
const longestBanner = 255;

/** `OpenSSH_9.2p1 Debian-2+deb12u10`; undefined if it does not answer in time. */
function bannerOf(
  [endpoint]: readonly SshdEndpoint[],
  signal: AbortSignal,
): Promise<string | undefined> {
  if (endpoint === undefined) return Promise.resolve(undefined);
  const { address, port } = endpoint;
  const host = isIP(address) === 0 || address === '0.0.0.0' ? '127.0.0.1' : address;
  return new Promise((resolve) => {
    const socket = connect({ host: host === '::' ? '::1' : host, port, signal });
    let text = '';
    const done = (): void => {
      socket.destroy();
      resolve(/^SSH-2\.0-([\x20-\x7e]+)\r?$/m.exec(text)?.[1]);
    };
    socket.setTimeout(2_000, done);
    socket.once('error', done).once('close', done);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (text.includes('\n') || text.length > longestBanner) done();
    });
  });
}
