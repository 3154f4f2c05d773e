import { describe, expect, it } from 'vitest';
import { oidcArguments } from '../../src/clusters/access/rules/oidc-arguments.ts';
import { problemOfCluster } from '../../src/companions/cluster-api/rules/usable-cluster.ts';
import { parseIssuer } from '../../src/config/schema/issuer-url.ts';
import { excessOfYaml, isPlainYaml } from '../../src/config/schema/yaml-bounds.ts';
import { setKubeconfigEntries } from '../../src/credentials/kubeconfig/kubeconfig-edit.ts';
import { decodeUnverifiedClaims } from '../../src/credentials/oidc/verify-token.ts';
import { BerthError } from '../../src/system/errors/berth-error.ts';
import { findImage, layersOf, parseImageIndex } from '../../src/setup/images/image-index.ts';
import { firstRdn, normalDn } from '../../src/directory/rules/ldap-dn.ts';
import { planText } from '../../src/cli/plan/plan-text.ts';
import { cookieOf } from '../../src/sessions/forwarding/protocol/xauthority.ts';
import { parseStatus } from '../../src/sessions/exec/protocol/exec-status.ts';
import { hostilePieces, hostileText } from '../rig/hostile-text.ts';
import { seededRandom } from '../rig/seeded-random.ts';
import { repetitions, soak } from '../rig/soak.ts';

const wanted = [{ cluster: { name: 'ours', value: { server: 'https://x' } } }];

const hex = (number: number): string => number.toString(16).padStart(64, '0');
const controlPlane = (value: string): unknown => ({
  spec: {
    kubeadmConfigSpec: {
      clusterConfiguration: { apiServer: { extraArgs: { 'oidc-issuer-url': value } } },
    },
  },
});

const parsers: Readonly<Record<string, (text: string) => unknown>> = {
  'the bounds of YAML': excessOfYaml,
  'a plain kubeconfig': (text) => {
    let plain = text;
    while (!isPlainYaml(plain)) plain = plain.slice(0, 0.7 * plain.length);
    return setKubeconfigEntries(plain, wanted, 'f');
  },
  'a distinguished name': (text) => [normalDn(text), firstRdn(text)],
  'a distinguished name with a type': (text) => [normalDn(`cn=${text}`), firstRdn(`cn="${text}`)],
  'the claims of a token': (text) =>
    decodeUnverifiedClaims(`a.${Buffer.from(text).toString('base64url')}.b`),
  'a token': decodeUnverifiedClaims,
  'an issuer': (text) => parseIssuer(`https://x/${text}`),
  'the issuer of a tenant’s control plane': (text) => oidcArguments(controlPlane(text)),
  'the address and the CA of a tenant’s cluster': (text) =>
    problemOfCluster(
      {
        cluster: { namespace: 'a', name: 'b', deleting: false },
        endpoint: `https://${text}`,
        ca: text,
      },
      [],
    ),
  'an index of images': (text) => {
    const images = JSON.stringify([{ id: hex(1), names: [text, `a/${text}`] }]);
    return findImage(parseImageIndex(images, '[]', '/store'), text);
  },
  'an Xauthority file': (text) => cookieOf(Buffer.from(text, 'latin1'), 10),
  'the end of a process in a pod': parseStatus,
  'a plan’s differences': (text) =>
    planText(
      [{ title: 't', changes: [{ what: 'f', action: 'update', before: text, after: `${text}x` }] }],
      { colour: false },
    ),
};

/** Milliseconds of processor time, which does not depend on what else the machine does. */
function processorTime(work: () => unknown): number {
  const before = process.cpuUsage();
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(BerthError);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe('a text that root does not own is read in time that grows with its length', () => {
  // The longest needs 2 s of processor time, and the limits are of that: on a busy machine it may take a minute.
  it.each(Object.entries(parsers))('%s', { timeout: 180_000 }, (_, parse) => {
    const texts = hostilePieces.flatMap((piece) =>
      ['', 'x'].map((end) => (length: number) => piece.repeat(length / piece.length) + end),
    );
    for (let seed = 1; seed <= repetitions(20, 3_000); seed += 1)
      texts.push((length) => hostileText(seededRandom(seed), length));
    // What takes a step for each pair of characters exceeds this with either length.
    const [long, limitMs] = soak ? [100_000, 1_500] : [40_000, 600];
    for (const text of texts)
      for (const length of [4_000, long]) {
        const given = text(length);
        const took = processorTime(() => parse(given));
        expect(took, `${length} of ${JSON.stringify(given.slice(0, 40))}`).toBeLessThan(limitMs);
      }
  });

  it('a kubeconfig of quotes, by another process: each is a token for the parser', () => {
    expect(isPlainYaml(`a: !${'""'.repeat(100_000)}]`)).toBe(false);
    expect(isPlainYaml(`a: ${'"b"'.repeat(1_000)}`)).toBe(true);
  });

  it('a chain of layers', () => {
    const layers = Array.from({ length: 30_000 }, (_, at) => ({
      id: hex(at),
      parent: hex(at + 1),
    }));
    const image = JSON.stringify([{ id: hex(0), layer: hex(0) }]);
    const index = parseImageIndex(image, JSON.stringify(layers), '/store');
    expect(processorTime(() => index.images.map((one) => layersOf(index, one)))).toBeLessThan(
      1_500,
    );
  });

  it('a change of every line', () => {
    const lines = (text: string): string =>
      Array.from({ length: 30_000 }, (_, at) => `${text}${at}\n`).join('');
    const change = { what: 'f', action: 'update', before: lines('a'), after: lines('b') } as const;
    const plan = [{ title: 't', changes: [change] }];
    expect(processorTime(() => planText(plan, { colour: false }))).toBeLessThan(6_000);
  });
});
