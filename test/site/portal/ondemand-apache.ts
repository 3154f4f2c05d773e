import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { publicDirectory } from '../../rig/site/directories.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { freePorts } from '../../rig/free-ports.ts';
import {
  assertRunning,
  startDetached,
  type StartedProcess,
  stopAll,
} from '../../rig/site/processes.ts';
import type { Site } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';

/** The parts of an `ood_portal.yml` that are about tokens. */
export interface PortalYml {
  readonly pun_pre_hook_exports: string;
  readonly oidc_settings: Readonly<Record<string, string>>;
}

const modules = [
  ...['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'env', 'headers', 'rewrite'],
  ...['proxy', 'proxy_http', 'lua', 'auth_openidc'],
];

/**
 * OnDemand's Apache as far as tokens go: mod_auth_openidc in front of Keycloak, `/rnode` to servers of
 * users with the headers and cookies stripped that OnDemand 4.2 strips, and `/pun` which answers with the
 * variables that OnDemand's Lua would export to the hook. One virtual host for each ood_portal.yml.
 */
export class OndemandApache {
  /** Base URLs, in the order of the settings. */
  readonly urls: readonly string[];
  /** What Apache reads. */
  readonly configuration: string;
  /** The headers that a user's server got with its last request. */
  seen: IncomingHttpHeaders = {};
  readonly #directory: string;
  readonly #server: Server;
  #apache: StartedProcess | undefined;

  private constructor(directory: string, urls: string[], configuration: string, server: Server) {
    this.#directory = directory;
    this.urls = urls;
    this.configuration = configuration;
    this.#server = server.on('request', ({ headers }, response) => {
      this.seen = headers;
      response.end('from a server of another user');
    });
  }

  static async start(site: Site, settings: readonly PortalYml[]): Promise<OndemandApache> {
    await ensurePackages(['apache2', 'libapache2-mod-auth-openidc']);
    const directory = await mkdtemp(join(publicDirectory, 'apache-'));
    await chmod(directory, 0o755);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const names = settings.map((_, index) => `portal ${index}`);
    const ports = Object.values(await freePorts(names));
    const hosts = ports.map((port, index) => virtualHost(site, directory, port, settings[index]));
    const configuration = join(directory, 'apache.conf');
    await writeFile(configuration, [...main(directory), ...hosts.flat()].join('\n'));
    await writeFile(join(directory, 'exports.lua'), exportsLua);
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    const apache = new OndemandApache(directory, urls, configuration, server);
    await apache.#start();
    return apache;
  }

  /** A URL of the portal behind which the server of another user is. */
  rnode(index: number): string {
    const { port } = this.#server.address() as AddressInfo;
    return `${this.urls[index]}/rnode/127.0.0.1/${port}/`;
  }

  async stop(): Promise<void> {
    if (this.#apache !== undefined) await stopAll([this.#apache]);
    this.#server.close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const apache = await startDetached({
      name: 'apache',
      command: '/usr/sbin/apache2',
      args: ['-f', this.configuration, '-DFOREGROUND'],
      directory: this.#directory,
    });
    this.#apache = apache;
    const log = join(this.#directory, 'error.log');
    const alive = (): Promise<void> => assertRunning(apache);
    await waitFor(
      { what: 'Apache', timeoutMs: 60_000, alive },
      async () =>
        (await readFile(log, 'utf8').catch(() => '')).includes('resuming normal operations') ||
        undefined,
    );
  }
}

function main(directory: string): string[] {
  return [
    `ServerRoot ${directory}`,
    `DefaultRuntimeDir ${directory}`,
    'PidFile apache.pid',
    'ErrorLog error.log',
    'ServerName 127.0.0.1',
    'User www-data',
    'Group www-data',
    ...modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
  ];
}

function virtualHost(site: Site, directory: string, port: number, yml?: PortalYml): string[] {
  const { id, secret = '' } = site.keycloak.client('ondemand');
  const login = ['AuthType openid-connect', 'Require valid-user'];
  return [
    `Listen 127.0.0.1:${port}`,
    `<VirtualHost 127.0.0.1:${port}>`,
    // In the order of OnDemand's template.
    `OIDCProviderMetadataURL ${site.keycloak.issuer}/.well-known/openid-configuration`,
    `OIDCCABundlePath ${site.ca.file}`,
    `OIDCClientID ${id}`,
    `OIDCClientSecret ${secret}`,
    `OIDCRedirectURI http://127.0.0.1:${port}/oidc`,
    'OIDCRemoteUserClaim preferred_username',
    'OIDCScope "openid profile"',
    `OIDCCryptoPassphrase passphrase-of-${port}`,
    ...Object.entries(yml?.oidc_settings ?? {}).map(([name, value]) => `${name} ${value}`),
    `SetEnv OOD_PUN_PRE_HOOK_EXPORTS "${yml?.pun_pre_hook_exports ?? ''}"`,
    'RewriteEngine On',
    'RewriteRule ^/rnode/([^/]+)/(\\d+)(/.*)$ http://$1:$2$3 [P]',
    '<LocationMatch "^/rnode/(?<host>[^/]+)/(?<port>\\d+)(?<uri>/.*|)">',
    ...login,
    'RequestHeader edit* Cookie "mod_auth_openidc_session=[^;]+;" ""',
    'RequestHeader unset Authorization',
    'RequestHeader unset OIDC_access_token',
    '</LocationMatch>',
    `LuaMapHandler ^/pun ${directory}/exports.lua answer`,
    '<Location /pun>',
    ...login,
    '</Location>',
    '<Location /oidc>',
    ...login,
    '</Location>',
    '</VirtualHost>',
  ];
}

/** A line `NAME=VALUE` for each of the names, as they stand between the commas. */
const exportsLua = `
function answer(r)
  for name in string.gmatch(r.subprocess_env['OOD_PUN_PRE_HOOK_EXPORTS'], '[^,]+') do
    local value = r.subprocess_env[name]
    if value then r:puts('OOD_' .. name .. '=' .. value .. '\\n') end
  end
  return apache2.OK
end
`;
