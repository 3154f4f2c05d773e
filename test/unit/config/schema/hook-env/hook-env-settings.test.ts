import { describe, expect, it } from 'vitest';
import { network } from '../../../../../src/config/schema/ip-address.ts';
import { parseHookEnv } from '../../../../../src/config/schema/hook-env/hook-env.ts';
import { hookEnvSettings } from '../../../../../src/config/schema/hook-env/hook-env-settings.ts';

const file = '/etc/ood/config/hook.env';
const read = (text: string): ReturnType<typeof hookEnvSettings> =>
  hookEnvSettings(parseHookEnv(text, file), file);
const codes = (text: string): string[] => read(text).warnings.map(({ code }) => code);

describe('the settings in hook.env', () => {
  it('are read from a file like the one that OSC ships', () => {
    const settings = read(`# required
K8S_USERNAME_PREFIX="prod-"
NAMESPACE_PREFIX="user-"
NETWORK_POLICY_ALLOW_CIDR="10.0.0.0/8"
IDP_ISSUER_URL="https://idp.example.com/auth/realms/main"
CLIENT_ID="ondemand"
CLIENT_SECRET='s3"cret$'
IMAGE_PULL_SECRET="private-docker-registry"
REGISTRY_DOCKER_CONFIG_JSON="/etc/ood/config/image-registry.json"
USE_POD_SECURITY_POLICY=false
USE_JOB_POD_REAPER=true
`);
    expect(settings).toEqual({
      usernamePrefix: 'prod-',
      namespacePrefix: 'user-',
      allowedCidrs: ['10.0.0.0/8'],
      issuer: 'https://idp.example.com/auth/realms/main',
      clientId: 'ondemand',
      clientSecret: 's3"cret$',
      pullSecret: {
        name: 'private-docker-registry',
        dockerConfigFile: '/etc/ood/config/image-registry.json',
      },
      jobPodReaper: true,
      warnings: [],
    });
  });

  it('have the issuer of Keycloak’s token endpoint, with a warning', () => {
    const settings = read(
      'IDP_ISSUER_URL="https://idp.example.com/auth/realms/main/protocol/openid-connect/token"',
    );
    expect(settings.issuer).toBe('https://idp.example.com/auth/realms/main');
    expect(settings.warnings).toMatchObject([{ code: 'hook-env-token-endpoint', file }]);
  });

  it('may have several networks, separated by commas or spaces, and IPv6', () => {
    expect(
      read("NETWORK_POLICY_ALLOW_CIDR='10.0.0.0/8, 192.168.1.7/32 fd00::/8'").allowedCidrs,
    ).toEqual(['10.0.0.0/8', '192.168.1.7/32', 'fd00::/8']);
  });

  it.each([
    ['USE_POD_SECURITY_POLICY=true', 'hook-env-pod-security-policy'],
    ['CLIENT_SECRT=x', 'hook-env-unknown-key'],
    ['NAMESPACE_PREFX=user-', 'hook-env-unknown-key'],
    ['CLIENT_ID=changeme', 'hook-env-example-value'],
    ['USE_JOB_POD_REAPER=yes', 'hook-env-flag-invalid'],
    ['NAMESPACE_PREFIX=$SITE_PREFIX', 'hook-env-unset-reference'],
    ['CLIENT_ID="portal"\r', 'hook-env-carriage-return'],
  ])('warn for %j: %s', (text, code) => expect(codes(text)).toEqual([code]));

  it('ignore a site’s own variables', () => expect(codes('SITE_NAME=x\nHPC=y')).toEqual([]));

  it.each([
    [
      'A=1\nNETWORK_POLICY_ALLOW_CIDR=10.0.0.1',
      'NETWORK_POLICY_ALLOW_CIDR is not a CIDR: "10.0.0.1"',
    ],
    ['A=1\nIDP_ISSUER_URL=http://idp', 'IDP_ISSUER_URL is not an https URL'],
    ['A=1\nIDP_ISSUER_URL=idp', 'IDP_ISSUER_URL is not a URL'],
    ['A=1\nIMAGE_PULL_SECRET=A_B', 'IMAGE_PULL_SECRET is not a valid name of a Secret'],
    ['A=1\nIMAGE_PULL_SECRET=a..b', 'IMAGE_PULL_SECRET is not a valid name of a Secret'],
    ['A=1\nNAMESPACE_PREFIX=User-', 'NAMESPACE_PREFIX is "User-", with which no name'],
    ['A=1\nNAMESPACE_PREFIX=-x', 'NAMESPACE_PREFIX is "-x", with which no name'],
  ])('refuse %j at its line', (text, message) => {
    expect(() => read(text)).toThrow(`${file}:2: ${message}`);
    expect(() => read(text)).toThrow(
      expect.objectContaining({ code: 'hook-env-value-invalid', exitCode: 78 }),
    );
  });

  it('need the docker config’s path if a pull secret is named', () => {
    expect(() => read('IMAGE_PULL_SECRET=a\nREGISTRY_DOCKER_CONFIG_JSON=config.json')).toThrow(
      'not an absolute path',
    );
  });
});

describe('a hook.env with anything but assignments', () => {
  it.each([
    ['A=1\nCLIENT_SECRET=$(cat /etc/secret)', 'hook.env:2: found `$(…)`'],
    ['A=1\nCLIENT_SECRET=`cat /etc/secret`', 'hook.env:2: found a `…` substitution'],
    ['A=1\nCIDRS=(10.0.0.0/8)', 'hook.env:2: found an array'],
    ['A=1\nsource /etc/other.env', 'hook.env:2: found the command `source`'],
    ['CLIENT_SECRET = hunter2', 'hook.env:1: found `CLIENT_SECRET =`'],
    ['A=1\r\n\r\nB=2\r\n', 'hook.env:2: found a carriage return'],
  ])('%j is refused: %s', (text, message) => expect(() => read(text)).toThrow(message));

  it.each([
    'CLIENT_SECRET = hunter2',
    'CLIENT_SECRET=a hunter2',
    "CLIENT_SECRET='hunter2",
    'hunter2',
  ])('repeats no secret in its error: %j', (text) => {
    expect(() => read(text)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('hunter2') as unknown }),
    );
  });

  it.each([
    ['A=b\0c', 'config-not-utf8'],
    [`A=${'x'.repeat(1024 * 1024)}`, 'config-too-large'],
  ])('is refused: NUL, too large', (text, code) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code, exitCode: 78 }));
  });

  it('is refused if a value is not UTF-8; a comment may contain any bytes', () => {
    const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
    expect(() => parseHookEnv(latin1('A=é'), file)).toThrow(
      expect.objectContaining({ code: 'config-not-utf8' }),
    );
    expect(parseHookEnv(latin1('# é\nA=1'), file).values.get('A')).toBe('1');
  });
});

describe('a network', () => {
  it.each(['0.0.0.0/0', '10.1.2.3/32', '::/0', 'fd00::/8', '2001:db8::1/128', '64:ff9b::/96'])(
    '%s is used as it is written',
    (text) => expect(network(text)).toEqual({ cidr: text }),
  );
  it.each([
    ['FD00::/8', 'fd00::/8'],
    ['2001:0db8:0:0:0:0:0:1/128', '2001:db8::1/128'],
    ['1:2:3:4:0:0:0:0/64', '1:2:3:4::/64'],
    ['::1.2.3.4/128', '::102:304/128'],
  ])('%s is the same as %s', (text, cidr) => expect(network(text)).toEqual({ cidr }));
  it.each([
    ['192.168.0.1/24', '192.168.0.0/24'],
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['172.31.255.255/12', '172.16.0.0/12'],
    ['192.0.2.3/31', '192.0.2.2/31'],
    ['2001:db8::1/64', '2001:db8::/64'],
    ['fe80::1/10', 'fe80::/10'],
    ['2001:db8:ffff::/33', '2001:db8:8000::/33'],
    ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
    ['::FFFF:a00:1/104', '10.0.0.0/8'],
    ['::ffff:192.0.2.7/128', '192.0.2.7/32'],
    ['0:0:0:0:0:ffff:0:0/96', '0.0.0.0/0'],
  ])('%s means %s, which is said', (text, cidr) => {
    expect(network(text)).toEqual({ cidr, refused: expect.any(String) as unknown });
  });
  it.each([
    ...['10.0.0.0', '10.0.0.0/33', '10.0.0/8', '010.0.0.0/8', '256.0.0.0/8', '10.0.0.0/08'],
    ...['::/129', ':::/0', '1::2::3/64', 'g::/8', '1:2:3:4:5:6:7:8:9/64', '1:2:3/64', '', '/8'],
    ...['10.0.0.0/8/8', '::1.2.3/96', '::1.2.3.4.5/96', '1.2.3.4::/96', '10.0.0.0/+8', '10.0.0.0/'],
    ...[
      'fe80::1%eth0/64',
      ' 10.0.0.0/8',
      '10.0.0.0 /8',
      '10.0.0.5/0',
      '::1/0',
      '::ffff:10.0.0.0/8',
    ],
    ...['0x0a.0.0.0/8', '10/8', '::ffff:010.0.0.0/104', '1:2:3:4:5:6:7:8::/64', '::ffff:0:0/80'],
  ])('%j is none', (text) => expect(network(text)).toBeUndefined());

  it('is named with file and line if another one is written', () => {
    const { allowedCidrs, warnings } = read(
      'A=1\nNETWORK_POLICY_ALLOW_CIDR="10.0.0.0/8, 192.168.0.1/24"',
    );
    expect(allowedCidrs).toEqual(['10.0.0.0/8', '192.168.0.0/24']);
    const message =
      'NETWORK_POLICY_ALLOW_CIDR: 192.168.0.1/24 has bits set beyond the length, which Kubernetes 1.36 refuses: 192.168.0.0/24 is used';
    expect(warnings).toEqual([{ code: 'network-rewritten', message, file, line: 2 }]);
  });
});

it('OSC’s example file is accepted', () => {
  const example = [
    'K8S_USERNAME_PREFIX=""',
    'NETWORK_POLICY_ALLOW_CIDR="127.0.0.1/32"',
    'CLIENT_ID="changeme"',
    'IMAGE_PULL_SECRET=""',
    'REGISTRY_DOCKER_CONFIG_JSON="/some/path/to/docker/config.json"',
    'USE_POD_SECURITY_POLICY=false',
  ];
  expect(read(example.join('\n')).pullSecret).toBeUndefined();
});
