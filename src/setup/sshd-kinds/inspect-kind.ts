import { readFile } from 'node:fs/promises';
import { asBerthError } from '../../system/errors/berth-error.ts';
import { parseSshdConfigFiles, type SshdConfigFiles } from '../sshd-lint/sshd-effective.ts';
import { listeningTcpPorts } from '../../system/listening-sockets.ts';
import { hostConfig, isNodeDrained, kindFile, kindNames, kindUnit, type KindUnit } from './kind.ts';
import { changedSinceRead, declaredEndpoints, runningSshds } from './running-sshds.ts';
import { type KindHostKey, sshdFacts } from './sshd-facts.ts';
import { acceptedCodes } from './rules/kind-config.ts';
import { kindProblems, type KindProblem } from './rules/kind-problems.ts';
import { collides, type SshdEndpoint } from './rules/sshd-endpoints.ts';

/** One kind of session on this host. */
export interface InspectedKind {
  readonly name: string;
  readonly file: string;
  readonly endpoints: readonly SshdEndpoint[];
  /** Of `--profile` in ForceCommand; absent if the rules of ssh.yml choose. */
  readonly profile?: string;
  readonly unit: KindUnit;
  /** Whether this node is drained, so that systemd does not start the unit. */
  readonly drained: boolean;
  readonly pid?: number;
  readonly hostKeys: readonly KindHostKey[];
  /** Codes of the linter that the file accepts. */
  readonly accepted: readonly string[];
  readonly problems: readonly KindProblem[];
}

/**
 * Looks at the configuration, the unit and the running sshd of a kind. Changes nothing.
 *
 * @param about the time in milliseconds since the epoch, and what users type
 * @throws {BerthError} `systemctl-failed`
 */
export async function inspectKind(
  name: string,
  about: { readonly now: number; readonly hostname?: string | undefined },
): Promise<InspectedKind> {
  const file = kindFile(name);
  const unit = await kindUnit(name);
  const drained = isNodeDrained();
  const bare = {
    name,
    file,
    unit,
    drained,
    endpoints: [],
    hostKeys: [],
    accepted: [],
  };
  try {
    return await inspected({ name, file, unit, drained }, await parseSshdConfigFiles(file), about);
  } catch (thrown) {
    const { code, message, hint } = asBerthError(thrown, file);
    return { ...bare, problems: [{ code, message, next: hint }] };
  }
}

async function inspected(
  { name, file, unit, drained }: Pick<InspectedKind, 'name' | 'file' | 'unit' | 'drained'>,
  { directives, files }: SshdConfigFiles,
  about: { readonly now: number; readonly hostname?: string | undefined },
): Promise<InspectedKind> {
  const { endpoints, hostKeys, certificates, profile } = await sshdFacts(directives);
  const running = runningSshds().find(({ config }) => config === file);
  const listening = new Set(listeningTcpPorts());
  const read = [...files, ...[...hostKeys, ...certificates].map((one) => one.file)];
  const keys = hostKeys.map(({ fingerprint }) => fingerprint);
  const problems = kindProblems(
    {
      name,
      unit,
      drained,
      running,
      silentPorts: endpoints.map(({ port }) => port).filter((port) => !listening.has(port)),
      changedFiles: running === undefined ? [] : await changedSinceRead(running, read),
      samePort: await samePorts(file, endpoints),
      certificates: certificates.map((one) => ({ ...one, keys })),
    },
    about,
  );
  return {
    name,
    file,
    endpoints,
    unit,
    drained,
    hostKeys,
    problems,
    profile,
    pid: running?.pid,
    accepted: acceptedCodes(await readFile(file, 'utf8')),
  };
}

async function samePorts(
  own: string,
  endpoints: readonly SshdEndpoint[],
): Promise<{ file: string; port: number }[]> {
  const found: { file: string; port: number }[] = [];
  for (const file of [hostConfig, ...kindNames().map(kindFile)]) {
    if (file === own) continue;
    const others = await declaredEndpoints(file).catch(() => []);
    for (const other of others)
      if (endpoints.some((one) => collides(one, other))) found.push({ file, port: other.port });
  }
  return found;
}
