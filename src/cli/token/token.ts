import { readFileSync } from 'node:fs';
import type {
  RotateDeps,
  RotateOutcome,
  RotateTarget,
  RotatedToken,
} from '../../clusters/access/rotate-token.ts';
import type { ServiceAccountName } from '../../kube/required-rights.ts';
import type { TokenSource } from '../../clusters/access/setup-token.ts';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import { BerthError, asBerthError } from '../../system/errors/berth-error.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { escapedForTerminal } from '../../log.ts';
import { command, group } from '../kit/command.ts';
import { type ArgumentsOf, flag, text } from '../kit/options.ts';
import { type SiteArguments, chosenClusters, loadSite, siteOptions } from '../kit/site-options.ts';
import { type Terminal, reportError } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';
import { durationText, timestamp } from '../kit/text.ts';
import { parseSeconds } from '../kit/parse-seconds.ts';

const options = {
  ...siteOptions,
  cluster: text('cluster', 'Only this cluster [default: all clusters of clusters.d]'),
  lifetime: text('TIME', 'Lifetime of the new token; the API server may issue a shorter one', {
    default: '24h',
  }),
  'service-account': text('NAMESPACE/NAME', 'ServiceAccount, as NAMESPACE/NAME'),
  timeout: text('TIME', 'Time limit for all clusters together', { default: '30s' }),
  'dry-run': flag('Request and test a token as the real run does, and write nothing'),
};

const rotateOptions = {
  ...options,
  kubeconfig: text('file', 'Renew the token in this file, without the configuration of the site'),
  context: text('CONTEXT', 'Context in that file [default: the current one]'),
};

const setupOptions = {
  ...options,
  from: text(
    'file',
    'Kubeconfig of an admin who may create tokens for the ServiceAccount [default: a token on standard input; otherwise, with Cluster API, the Secret in the management cluster]',
  ),
  context: text(
    'CONTEXT',
    'Context in that file [default: the one with the address of the cluster]',
  ),
};

type TokenArguments = ArgumentsOf<typeof options>;
type RotateArguments = ArgumentsOf<typeof rotateOptions>;

const rotateCommand = command({
  command: 'rotate',
  describe: "Renew the token in root's kubeconfig",
  options: rotateOptions,
  needs: { '--context': '--kubeconfig' },
  without: { '--kubeconfig': ['--cluster', '--config', '--config-dir'] },
  examples: [
    ['berth token rotate', 'Renew the tokens of all clusters, as berth-token-rotate.timer does'],
    ['berth token rotate --cluster k8s --lifetime 8h', 'Renew one token, with a shorter lifetime'],
    ['berth token rotate --dry-run', 'Test whether the next renewal will work'],
  ],
  epilogue:
    'The new token is tested before it is written, and only the token changes in the file. The old token stays valid until it expires. Without --cluster, the command also removes stored credentials of deleted accounts.',
  run: rotate,
});

const setupCommand = command({
  command: 'setup',
  describe: "Write root's kubeconfig for the hook, with the credentials of an admin",
  options: setupOptions,
  needs: { '--context': '--from' },
  examples: [
    [
      'berth token setup --cluster k8s --from ~/.kube/admin',
      `Once, after \`kubectl apply -k ${installedPath('share/etc/kubernetes')}\``,
    ],
    [
      'kubectl -n ondemand create token berth-hook --duration 24h | berth token setup --cluster k8s',
      'Where only kubectl can use the credentials of the admin',
    ],
  ],
  epilogue:
    'Writes entries berth-hook@CLUSTER into the kubeconfig that the hook reads (/root/.kube/config, or clusters.NAME.admin.kubeconfig of berth.yml). With the credentials of an admin it also grants the right to write the pull secret of the site, if that has another name than in etc/kubernetes. From then on `berth token rotate` renews the token.',
  run: setup,
});

/** `berth token …`: creates and renews the hook's own credential. */
export const tokenCommand = group(
  'token',
  "Create or renew the token of the hook's ServiceAccount",
  [rotateCommand, setupCommand],
);

async function rotate(args: RotateArguments, terminal: Terminal): Promise<void> {
  const { rotateTokens } = await import('../../clusters/access/rotate-token.ts');
  const deps = await rotateDeps(args, terminal);
  const { targets, broken } = await rotateTargets(args, deps);
  const names = targets.map(({ cluster }) => cluster).join(', ');
  const outcomes = await withProgress(
    terminal,
    () => `waiting for ${names}`,
    () => rotateTokens(targets, deps),
  );
  report([...outcomes, ...broken], args, terminal);
  if (args.kubeconfig === undefined && args.cluster === undefined) await forget(args, deps);
}

/** Part of a run for all clusters. An error here does not stop the renewal of tokens. */
async function forget(args: SiteArguments, { log, dryRun }: RotateDeps): Promise<void> {
  const { removeStaleCredentials } = await import('../../credentials/remove-stale-credentials.ts');
  const { nameOfUid } = await import('../../system/identity/name-of-uid.ts');
  try {
    const { stateDir } = (await loadSite(args)).settings;
    await removeStaleCredentials(stateDir, { nameOf: nameOfUid, now: Date.now, log, dryRun });
  } catch (thrown) {
    const { message, code, hint } = asBerthError(
      thrown,
      'removing stored credentials of deleted accounts',
    );
    log.warning(message, { code, hint });
  }
}

async function rotateTargets(
  args: RotateArguments,
  deps: RotateDeps,
): Promise<{
  readonly targets: readonly RotateTarget[];
  readonly broken: readonly { readonly cluster: string; readonly error: BerthError }[];
}> {
  const { kubeconfig: file, context } = args;
  if (file !== undefined) {
    const choice = { file, endpoint: '', onlyCluster: true };
    const target = { cluster: context ?? file, choice };
    return {
      targets: [context === undefined ? target : { ...target, choice: { ...choice, context } }],
      broken: [],
    };
  }
  const { contextChoice } = await import('../../clusters/access/hook-access.ts');
  const { setupToken } = await import('../../clusters/access/setup-token.ts');
  const loaded = await loadSite(args);
  const { clusters, broken } = chosenClusters(loaded, args.cluster);
  const count = loaded.settings.clusters.length;
  const targets = clusters.map((cluster): RotateTarget => {
    const { name, admin } = cluster;
    const target = { cluster: name, choice: contextChoice(cluster, count) };
    if (admin.kind === 'kubeconfig') return target;
    const { kind, management } = admin;
    const input = { cluster, clusterCount: count, source: { kind, management } };
    return { ...target, setUp: (account) => setupToken({ ...input, account }, deps) };
  });
  return { targets, broken };
}

async function setup(args: ArgumentsOf<typeof setupOptions>, terminal: Terminal): Promise<void> {
  const { setupToken } = await import('../../clusters/access/setup-token.ts');
  const deps = await rotateDeps(args, terminal);
  const loaded = await loadSite(args);
  const [cluster, other] = chosenClusters(loaded, args.cluster).clusters;
  if (cluster === undefined)
    throw new BerthError('cluster-unknown', 'no cluster has a valid configuration');
  if (other !== undefined) {
    throw new BerthError('usage', 'several clusters are configured', {
      hint: `Select one: --cluster ${loaded.settings.clusters.map(({ name }) => name).join(' or ')}`,
    });
  }
  const { context, from } = args;
  const rotated = await withProgress(
    terminal,
    () => `waiting for ${cluster.name}`,
    () =>
      setupToken(
        {
          cluster,
          clusterCount: loaded.settings.clusters.length,
          source:
            from === undefined
              ? (tokenFromStandardInput(terminal) ?? sourceOf(cluster))
              : { kind: 'admin', file: from, context },
          account: deps.serviceAccount ?? { namespace: 'ondemand', name: 'berth-hook' },
        },
        deps,
      ),
  );
  report([{ rotated }], args, terminal);
}

function tokenFromStandardInput(terminal: Terminal): TokenSource | undefined {
  const token = terminal.stdinIsTTY ? '' : readFileSync(0, 'utf8').trim();
  return token === '' ? undefined : { kind: 'token', token };
}

/** The error for a missing source of the token. */
function sourceOf({ admin }: ClusterSettings): TokenSource {
  if (admin.kind === 'cluster-api') return { kind: admin.kind, management: admin.management };
  throw new BerthError(
    'usage',
    'no credentials: neither --from nor a token on standard input was given',
    {
      hint: 'Give --from ADMIN_KUBECONFIG, or pipe in what `kubectl -n ondemand create token berth-hook --duration 24h` prints.',
    },
  );
}

async function rotateDeps(args: TokenArguments, terminal: Terminal): Promise<RotateDeps> {
  const { deadlineIn } = await import('../../system/deadline.ts');
  const { lineLogger } = await import('../../log.ts');
  const named = args['service-account'];
  return {
    lifetimeSeconds: parseSeconds(args.lifetime, 'lifetime', lifetimes),
    ...(named !== undefined && { serviceAccount: serviceAccount(named) }),
    deadline: deadlineIn(parseSeconds(args.timeout, 'timeout') * 1000),
    log: lineLogger((line) => terminal.stderr.write(`${line}\n`)),
    dryRun: args['dry-run'],
  };
}

/** The shortest lifetime that API servers accept. */
const lifetimes = { least: '10m', most: '365d' };

function serviceAccount(text: string): ServiceAccountName {
  const [, namespace, name] = /^([a-z0-9-]+)\/([a-z0-9.-]+)$/.exec(text) ?? [];
  if (namespace !== undefined && name !== undefined) return { namespace, name };
  throw new BerthError('usage', `--service-account ${text}: must be NAMESPACE/NAME`, {
    hint: `${installedPath('share/etc/kubernetes')} creates ondemand/berth-hook.`,
  });
}

function report(
  outcomes: readonly RotateOutcome[],
  args: TokenArguments,
  terminal: Terminal,
): void {
  const now = terminal.now() / 1000;
  const wantedSeconds = parseSeconds(args.lifetime, 'lifetime', lifetimes);
  const dryRun = args['dry-run'];
  for (const outcome of outcomes) {
    if ('error' in outcome) reportError(terminal, outcome.error);
    else terminal.stdout.write(tokenText(outcome.rotated, { now, wantedSeconds, dryRun }));
  }
}

/** The result for the token of one cluster, as text. Times are in seconds since the epoch. */
function tokenText(
  rotated: RotatedToken,
  {
    now,
    wantedSeconds,
    dryRun,
  }: { readonly now: number; readonly wantedSeconds: number; readonly dryRun: boolean },
): string {
  const { cluster, file, user, account, oldExpires, expires } = rotated;
  const left = expires - now;
  const name = `${account.namespace}/${account.name}`;
  const did = dryRun
    ? `would write a new token of user ${user} to ${file} (ServiceAccount ${name}; a test token was issued and works)`
    : `${name} has a new token in ${file}, user ${user}`;
  const lines = [
    escapedForTerminal(`${cluster}: ${did}`),
    `  valid until ${timestamp(expires)} (${durationText(left)})`,
  ];
  if (oldExpires !== undefined)
    lines.push(`  the old token is valid until ${timestamp(oldExpires)}`);
  // The API server counts whole seconds, and the request takes time.
  if (left < wantedSeconds - 60)
    lines.push(
      `  shorter than the ${durationText(wantedSeconds)} requested: see --service-account-max-token-expiration of the API server, and let the timer run often enough`,
    );
  return `${lines.join('\n')}\n`;
}
