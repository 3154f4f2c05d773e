import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { stringify } from 'yaml';
import { credentialCachePath } from '../../../../src/credentials/credential-cache.ts';

const [ca = ''] = rootCertificates;
export const server = 'https://127.0.0.1:1';

const kubeconfig = (cluster: object, user: object): string =>
  stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'prod' },
    clusters: [{ name: 'prod', cluster: { server, ...cluster } }],
    users: [{ name: 'hook', user }],
    contexts: [{ name: 'prod', context: { cluster: 'prod', user: 'hook' } }],
  });

const job = {
  ...{ adapter: 'kubernetes', cluster: 'prod', context: 'prod', namespace_prefix: 'u-' },
  ...{ bin: '/usr/bin/kubectl', auth: { type: 'oidc' } },
  server: { endpoint: server, cert_authority_file: '/etc/berth/clusters/prod.pem' },
};

const hookEnv = `IDP_ISSUER_URL=https://127.0.0.1:1/
CLIENT_ID=ondemand
NAMESPACE_PREFIX=u-
IMAGE_PULL_SECRET=pull
REGISTRY_DOCKER_CONFIG_JSON=/root/docker-config.json
`;

export const credentialOfAlice = `/var/lib/alice/${credentialCachePath(server)}`;

function keyPair(path: string): Record<string, string> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-key-'));
  const file = join(directory, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  const pair = {
    [path]: readFileSync(file, 'utf8'),
    [`${path}.pub`]: readFileSync(`${file}.pub`, 'utf8'),
  };
  rmSync(directory, { recursive: true });
  return pair;
}

/** The first of a name counts: the machine may have an alice of the test site. */
const withLine = (file: string, line: string): string => `${line}\n${readFileSync(file, 'utf8')}`;

/** The files of a portal that is a login node, too. Nothing answers at the addresses in them. */
export function goodFiles(): Readonly<Record<string, string>> {
  return {
    '/etc/passwd': withLine('/etc/passwd', 'alice:x:5001:5001::/var/lib/alice:/bin/bash'),
    '/etc/group': withLine('/etc/group', 'alice:x:5001:'),
    '/etc/berth/berth.yml': stringify({
      defaults: {
        ...{ subject_prefix: 'oidc:', ssh_sessions: {} },
        credentials: {
          ...{ ca_file: '/etc/berth/idp.pem', client_id: 'ondemand' },
          ...{ client_secret_file: '/etc/berth/client-secret', issuer: 'https://127.0.0.1:1/' },
        },
      },
      slurm_accounts: { cluster: 'site', accounts: [{ account: 'lab', groups: ['lab'] }] },
      ldap: {
        ...{ url: 'ldaps://127.0.0.1:1', ca_file: '/etc/berth/ldap.pem' },
        ...{ bind_dn: 'cn=x', bind_password_file: '/etc/berth/ldap-password' },
        ...{ users: { base: 'dc=x' }, groups: { base: 'dc=x' } },
      },
    }),
    '/etc/berth/idp.pem': ca,
    '/etc/berth/ldap.pem': ca,
    '/etc/berth/clusters/prod.pem': ca,
    '/etc/berth/client-secret': 'secret\n',
    '/etc/berth/ldap-password': 'secret\n',
    '/etc/berth/admission.yml': 'contact: the admins\n',
    '/etc/berth/balancer.yml': stringify({
      hostname: 'login.example.org',
      balancers: [{ name: 'lb1', address: '192.0.2.1' }],
      systems: [{ name: 'a', nodes: [{ name: 'login1', address: '127.0.0.1' }] }],
      kinds: [{ name: 'podman', system: 'a', port: 22, node_port: 332 }],
    }),
    '/etc/berth/ssh.yml': stringify({ rules: [{ profile: 'base' }] }),
    '/etc/berth/profiles/base.yml': stringify({
      ...{ image: 'localhost/site:1', pull: 'never', network: 'host', lifetime: 'connection' },
    }),
    '/etc/berth/profiles/minimal.yml': 'image: localhost/site:1\n',
    '/etc/berth/news/2026-11-26.md': '# News\n',
    '/etc/ssh/berth/login.conf': '',
    '/etc/ood/config/hook.env': hookEnv,
    '/etc/ood/config/clusters.d/prod.yml': stringify({ v2: { metadata: { title: 'prod' }, job } }),
    '/etc/ood/config/nginx_stage.yml': 'pun_custom_env: {}\n',
    '/etc/ood/config/ood_portal.yml': stringify({
      ...{ servername: 'ood.example.org', oidc_uri: '/oidc', oidc_client_id: 'ondemand' },
      oidc_settings: { OIDCPassIDTokenAs: 'serialized' },
    }),
    '/root/.kube/config': kubeconfig({}, { token: 'abc' }),
    '/root/admin.kubeconfig': kubeconfig(
      { 'certificate-authority': '/root/kube-ca.pem' },
      { tokenFile: '/root/token' },
    ),
    '/root/kube-ca.pem': ca,
    '/root/token': 'abc\n',
    '/root/auth.log': '',
    '/root/docker-config.json': JSON.stringify({ auths: { 'r.example.org': { auth: 'dTpw' } } }),
    '/root/users': 'alice\n',
    '/root/auth.json': '{"auths": {}}',
    ...keyPair('/root/ca'),
    ...keyPair('/root/host'),
    '/etc/berth/drain': '{}',
    '/etc/ood/config/apps/dashboard/env': '',
    '/var/lib/berth-ssh/images/overlay-images/images.json': '[]',
    '/var/lib/berth-ssh/images/overlay-layers/layers.json': '[]',
    [credentialOfAlice]: JSON.stringify({
      ...{ version: 1, cluster: 'prod', server, token: 'abc', expiry: 4_000_000_000 },
    }),
    '/root/image.tar': '',
    '/root/sshd_config': 'Port 332\n',
    '/root/pam': 'session required pam_permit.so\n',
    '/run/sshd/.keep': '',
    '/run/logger': '#!/bin/sh\necho "$@" >/run/logged.new; mv /run/logged.new /run/logged\n',
  };
}
