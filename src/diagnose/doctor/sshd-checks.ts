import { isIP, connect } from 'node:net';
import {
  type CheckResult,
  failed,
  ok,
  warning,
  type Finding,
} from '../../system/errors/check-result.ts';
import { runCheck } from '../../system/run-check.ts';
import {
  changedSinceRead,
  type RunningSshd,
  runningSshds,
  sshdService,
} from '../../setup/sshd-kinds/running-sshds.ts';
import { isNodeDrained, kindFile, kindNames } from '../../setup/sshd-kinds/kind.ts';
import { inspectKind } from '../../setup/sshd-kinds/inspect-kind.ts';
import { kindsDirectory } from '../../config/schema/default-settings.ts';
import {
  processProblems,
  reload,
  restartUnit,
} from '../../setup/sshd-kinds/rules/kind-problems.ts';
import { endpointsOf, type SshdEndpoint } from '../../setup/sshd-kinds/rules/sshd-endpoints.ts';
import { anybody } from '../../setup/sshd-lint/lint-connections.ts';
import { balancerFindings } from '../../setup/sshd-lint/rules/balancer-findings.ts';
import {
  effectiveOptions,
  parseSshdConfigFiles,
  type SshdConfigFiles,
} from '../../setup/sshd-lint/sshd-effective.ts';

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
      runCheck('sshd', (signal) => sshdFinding(sshd, balancers, signal), timeoutMs),
    ),
  );
}

/** Whether an sshd runs for each kind of session. Those of a drained node do not. */
export function listenersFinding(): Finding {
  const running = runningSshds().map(({ config }) => config);
  const silent = isNodeDrained()
    ? []
    : kindNames().filter((name) => !running.includes(kindFile(name)));
  return silent.length === 0
    ? ok('the sshds of sessions run')
    : failed(
        `no sshd runs with ${silent.map(kindFile).join(', ')}: berth sshd check ${silent.join(' ')}`,
        `Run \`berth sshd check ${silent.join(' ')}\`.`,
      );
}

async function sshdFinding(
  running: RunningSshd,
  balancers: readonly string[],
  signal: AbortSignal,
): Promise<Finding> {
  const { config, program } = running;
  const sshd = program.replace(/ \(deleted\)$/, '');
  const parsed = await parseSshdConfigFiles(config, sshd);
  const version = await bannerOf(endpointsOf(parsed.directives), signal);
  const name = `${config} (PID ${running.pid}${version === undefined ? '' : `, ${version}`})`;
  const options = await effectiveOptions({ sshd, config }, anybody, parsed.directives);
  const [first, ...others] = [
    ...(isOfSessions(config) ? balancerFindings(options, balancers, parsed) : []).map(
      ({ message, closedBy }) => ({
        message,
        // Some fixes are a directive of sshd_config(5), others a sentence.
        next: /^[A-Z]/.test(closedBy) ? `Write into ${config}: ${closedBy}` : closedBy,
      }),
    ),
    ...(await processFindings(running, parsed)),
  ];
  if (first === undefined) return ok(`sshd of ${name}`);
  const more =
    others.length === 0
      ? ''
      : ` (and ${others.length} more: berth sshd lint --sshd-config ${config})`;
  return warning(`sshd of ${name}: ${first.message}${more}`, first.next);
}

/** Whether balancers forward to it: where sessions have sshds of their own, they do not to that of the host. */
function isOfSessions(config: string): boolean {
  return config.startsWith(`${kindsDirectory}/`) || kindNames().length === 0;
}

/** What concerns the process: whether it has read its files, and whether it is the installed program. */
async function processFindings(
  running: RunningSshd,
  { files, directives }: SshdConfigFiles,
): Promise<readonly { message: string; next: string }[]> {
  const { config, pid, program } = running;
  if (config.startsWith(`${kindsDirectory}/`)) {
    const name = config.slice(kindsDirectory.length + 1).replace(/\.conf$/, '');
    const { problems } = await inspectKind(name, { now: Date.now() });
    return problems.filter(
      ({ code }) => ofTheProcess.includes(code) || code.startsWith('certificate-'),
    );
  }
  const service = sshdService(pid);
  // Without systemd, when it was reloaded is unknown.
  if (service === undefined) return [];
  const keys = directives
    .filter(({ keyword }) => keyword === 'hostkey' || keyword === 'hostcertificate')
    .flatMap(({ args: [file] }) => file ?? []);
  const changedFiles = await changedSinceRead(running, [...files, ...keys]);
  const next = { reload: reload(service), restart: restartUnit(service) };
  return processProblems({ program, changedFiles, next });
}

const ofTheProcess = ['settings-not-loaded', 'program-replaced'];

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
