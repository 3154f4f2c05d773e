import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { ensurePackages } from '../site/debian-packages.ts';

/** As `submit.yml.erb` describes a pod for OnDemand's Kubernetes adapter. */
export interface RenderedApp {
  readonly submit: {
    readonly batch_connect: { readonly template: string };
    readonly script: {
      readonly wall_time?: number;
      readonly native: Readonly<Record<string, unknown>>;
    };
  };
  readonly view: string;
  /** What the adapter hands to kubectl; only with BERTH_OOD_CORE. */
  readonly objects?: string;
  readonly version?: string;
}

/** The user as whom the portal renders an app. The account need not exist on this machine. */
interface PortalUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/**
 * Renders an app with Debian's Ruby as OnDemand would for the user.
 *
 * @param values the user's choices in the form, what the adapter knows of the running server, and the cluster's job
 */
export async function renderApp(
  directory: string,
  user: PortalUser,
  values: { readonly form?: object; readonly connection?: object; readonly job?: object } = {},
): Promise<RenderedApp> {
  await ensurePackages(['ruby', 'util-linux']);
  const own = await mkdtemp(join(tmpdir(), 'berth-app-'));
  try {
    const { name, uid, gid, home } = user;
    const files = {
      passwd: `${name}:x:${uid}:${gid}::${home}:/bin/sh\n`,
      group: `${name}:x:${gid}:\n`,
    };
    for (const [file, text] of Object.entries(files)) await writeFile(join(own, file), text);
    const script =
      'mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/group" /etc/group && shift && exec "$@"';
    const { form = {}, connection = {}, job = {} } = values;
    const { stdout } = await execa('unshare', [
      ...['--mount', 'sh', '-c', script, 'sh', own],
      ...['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'],
      ...['env', `USER=${name}`, `HOME=${home}`],
      ...['ruby', new URL('render-app.rb', import.meta.url).pathname, directory],
      ...[form, connection, job].map((value) => JSON.stringify(value)),
    ]);
    return JSON.parse(stdout) as RenderedApp;
  } finally {
    await rm(own, { recursive: true });
  }
}
