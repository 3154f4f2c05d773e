import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
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
  const { form = {}, connection = {}, job = {} } = values;
  const json = [form, connection, job].map((value) => JSON.stringify(value));
  const text = await rubyAs(user, 'render-app.rb', [directory, ...json]);
  return JSON.parse(text) as RenderedApp;
}

/**
 * Renders the widget of OnDemand's dashboard for the user.
 *
 * @param widgets directory with the files of etc/ondemand/widgets, which the user can read
 * @param clusters the jobs of the portal's clusters, by name
 */
export function renderWidget(
  user: PortalUser,
  widgets: string,
  clusters: object,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const argv = [JSON.stringify(clusters), join(widgets, '_berth.html.erb')];
  const own = { BERTH_STATUS: join(widgets, 'berth-status'), TZ: 'UTC', ...env };
  return rubyAs(user, 'render-widget.rb', argv, own);
}

async function rubyAs(
  { name, uid, gid, home }: PortalUser,
  file: string,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  await ensurePackages(['ruby', 'util-linux']);
  const own = await mkdtemp(join(tmpdir(), 'berth-portal-'));
  try {
    const passwd = `${name}:x:${uid}:${gid}::${home}:/bin/sh\n`;
    const files = { passwd, group: `${name}:x:${gid}:\n` };
    for (const [file, text] of Object.entries(files)) await writeFile(join(own, file), text);
    const script =
      'mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/group" /etc/group && shift && exec "$@"';
    const variables = Object.entries({ USER: name, HOME: home, ...env });
    // The user need not be able to read the repository.
    const input = await readFile(new URL(file, import.meta.url));
    const command = [
      ...['--mount', 'sh', '-c', script, 'sh', own],
      ...['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'],
      ...['env', ...variables.map(([key, value]) => `${key}=${value}`)],
      ...['ruby', '-', ...argv],
    ];
    return (await execa('unshare', command, { input })).stdout;
  } finally {
    await rm(own, { recursive: true });
  }
}
