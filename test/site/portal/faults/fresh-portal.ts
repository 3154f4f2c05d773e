import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { type ClusterFile, Portal, type HookResult } from '../../../rig/site/portal.ts';
import type { Site } from '../../../rig/site/site.ts';
import { errorLines, type LogLine } from '../../../rig/log-lines.ts';

/** The result of a hook, with the errors that it logged. */
export interface TimedResult extends HookResult {
  readonly errors: readonly LogLine[];
  /** Milliseconds. */
  readonly took: number;
}

/** How long starting the hook and reading its output may take on a busy machine, in milliseconds. */
export const patience = 2_500;

export async function timed(running: Promise<HookResult>): Promise<TimedResult> {
  const started = performance.now();
  const result = await running;
  return {
    ...result,
    took: performance.now() - started,
    errors: errorLines(result.stderr),
  };
}

/** A portal with its own namespace prefix, so that each test begins without a namespace. */
export interface FreshPortal extends Portal {
  namespaceOf(user: string): string;
}

export interface FreshOptions {
  /** URL of the API server. */
  readonly url?: string;
  readonly deadline?: string;
  /** The CA that the portal trusts. */
  readonly caFile?: string;
  /** `v2.job` of the cluster. Default: auth `managed`, for which only the namespace is created. */
  readonly cluster?: ClusterFile;
}

/** A kubeconfig with the hook's token; the first portal creates it for the whole test file. */
let hookToken: string | undefined;

/** What `removePortals` removes. */
const made: { readonly portal: Portal; readonly prefix: string }[] = [];

export async function freshPortal(
  site: Site,
  { url = site.server, deadline = '3s', caFile = site.ca.file, cluster }: FreshOptions = {},
): Promise<FreshPortal> {
  const prefix = `f${randomBytes(4).toString('hex')}-`;
  const portal = await Portal.make(site, {
    ...(hookToken === undefined ? {} : { kubeconfig: hookToken }),
    clusters: {
      prod: {
        ...(cluster ?? { auth: { type: 'managed' } }),
        namespace_prefix: prefix,
        server: { endpoint: url, cert_authority_file: caFile },
      },
    },
    hookEnv: { NAMESPACE_PREFIX: prefix },
    berth: { deadline },
  });
  made.push({ portal, prefix });
  hookToken ??= await readFile(portal.files.kubeconfig, 'utf8');
  const kubeconfig = hookToken.replace(site.server, url).replace(site.ca.file, caFile);
  await writeFile(portal.files.kubeconfig, kubeconfig, { mode: 0o600 });
  return Object.assign(portal, { namespaceOf: (user: string) => prefix + user });
}

/** Removes the portals of a test and their namespaces; does not wait for the latter. */
export async function removePortals(site: Site): Promise<void> {
  const prefixes = made.map(({ prefix }) => prefix);
  for (const { portal } of made.splice(0)) await portal.remove();
  const { stdout } = await site.kubectl(['get', 'namespaces', '--output=name']);
  const names = stdout
    .split('\n')
    .filter((name) => prefixes.some((prefix) => name.startsWith(`namespace/${prefix}`)));
  if (names.length > 0) await site.kubectl(['delete', '--wait=false', ...names]);
}

/** True if a plan has no changes. */
export async function isAsWanted(portal: Portal, user: string): Promise<boolean> {
  const { exitCode, stdout, stderr } = await portal.prePun(user, {}, '--dry-run');
  if (exitCode > 1 || !stdout.startsWith('# cluster')) throw new Error(stdout + stderr);
  return exitCode === 0;
}
