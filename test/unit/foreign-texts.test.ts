import { describe, expect, it } from 'vitest';
import { oidcArguments } from '../../src/cluster-discovery/rules/oidc-arguments.ts';
import { problemOfCluster } from '../../src/cluster-discovery/rules/usable-cluster.ts';
import { parseIssuer } from '../../src/config/schema/issuer-url.ts';
import { excessOfYaml, isPlainYaml } from '../../src/config/schema/yaml-bounds.ts';
import { setKubeconfigEntries } from '../../src/credentials/kubeconfig/kubeconfig-edit.ts';
import { kubeconfigTooLarge } from '../../src/credentials/kubeconfig/kubeconfig-too-large.ts';
import { decodeUnverifiedClaims } from '../../src/credentials/oidc/verify-token.ts';
import { BerthError } from '../../src/errors/berth-error.ts';
import { findImage, layersOf, parseImageIndex } from '../../src/images/image-index.ts';
import { firstRdn, normalDn } from '../../src/ldap/rules/ldap-dn.ts';
import { planText } from '../../src/cli/plan/plan-text.ts';
import { cookieOf } from '../../src/forwarding/protocol/xauthority.ts';
import { parseStatus } from '../../src/kube-exec/protocol/exec-status.ts';
import { inReadingProcess } from '../../src/system/reading-process.ts';
import { seededRandom } from '../rig/seeded-random.ts';
import { repetitions } from '../rig/soak.ts';
import { yamlBombs } from '../rig/yaml-bombs.ts';

/** What makes parsers slow: openings without ends, ends without openings, escapes, blanks, line ends, separators. */
const pieces = [
  ...['{', '}', '[', ']', '} ', '] ', '{"a":', '[[', '": "', '- ', '? ', ': ', 'k: v\n', '- - '],
  ...['&a ', '*a,', '&a [', '<<: *a\n', '!t ', '!!set ', '---\n', '...\n', '%TAG ! a:\n', '|\n'],
  ...[
    '>-\n  x\n',
    '"',
    "'",
    '\\',
    '\\"',
    '\\2C',
    '\\\\',
    '# ',
    '#\n',
    '\n',
    '\r\n',
    '\r',
    ' ',
    '\t',
  ],
  ...[
    '   x\n',
    ',',
    ', ',
    ';',
    '=',
    'cn=a,',
    'cn=a+',
    '"a",',
    '.',
    'eyJh',
    '/',
    '//',
    ':',
    'a:',
    '@',
  ],
  ...['-----BEGIN CERTIFICATE-----\n', 'QUJD', '\0', '\ufeff', 'é', '\ud800', '1_', '0x', '-'],
];

/** A piece over and over; a piece in the middle of others, or at their ends; pieces in turns. */
function hostileText(random: () => number, length: number): string {
  const piece = (): string => pieces[Math.floor(random() * pieces.length)] ?? '';
  const unit = Array.from({ length: 1 + Math.floor(random() * 3) }, piece).join('');
  const body = unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
  return `${random() < 0.5 ? piece() : ''}${body}${random() < 0.5 ? piece() : 'x'}`;
}

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
  // The longest needs 5 s of processor time, and the limits are of that: on a busy machine it may take a minute.
  it.each(Object.entries(parsers))('%s', { timeout: 180_000 }, (_, parse) => {
    const texts = pieces.flatMap((piece) =>
      ['', 'x'].map((end) => (length: number) => piece.repeat(length / piece.length) + end),
    );
    for (let seed = 1; seed <= repetitions(20, 3_000); seed += 1)
      texts.push((length) => hostileText(seededRandom(seed), length));
    for (const text of texts)
      for (const length of [4_000, 100_000]) {
        const given = text(length);
        const took = processorTime(() => parse(given));
        expect(took, `${length} of ${JSON.stringify(given.slice(0, 40))}`).toBeLessThan(1_500);
      }
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

const edit = (text: string): Promise<{ readonly changed: boolean }> =>
  inReadingProcess<typeof setKubeconfigEntries>(
    'setKubeconfigEntries',
    [text, wanted, 'f'],
    (why) => kubeconfigTooLarge('f', why),
  );

describe.concurrent('a kubeconfig in another process', () => {
  const many = (number: number, text: (index: number) => string): string =>
    Array.from({ length: number }, (_, index) => text(index)).join('');

  it.each<[string, string]>([
    ['aliases to an empty list', yamlBombs.aliases],
    [
      'aliases that double',
      `a0: &a0 {}\n${many(60, (at) => `a${at + 1}: &a${at + 1} [*a${at},*a${at}]\n`)}`,
    ],
    [
      'a chain of aliases',
      `a0: &a0 []\n${many(2_000, (at) => `a${at + 1}: &a${at + 1} [*a${at}]\n`)}`,
    ],
    ['anchors', `x: [${many(20_000, (at) => `&x${at} 1,`)}]`],
    ['keys of keys', '? '.repeat(600)],
    ['mappings as keys', `${'{'.repeat(300)}a${': b}'.repeat(300)}`],
    [
      'merged mappings',
      `a: &a {${many(500, (at) => `k${at}: 1,`)}}\n${many(500, (at) => `b${at}: {<<: *a}\n`)}`,
    ],
    ['closing brackets', '} '.repeat(160_000)],
  ])('is refused before it is parsed: %s', async (_, text) => {
    await expect(edit(text)).rejects.toMatchObject({
      code: 'kubeconfig-too-large',
      exit: 'config',
    });
  });

  it('may have many keys and clusters', async () => {
    expect(await edit(many(5_000, (at) => `k${at}: 1\n`))).toMatchObject({ changed: true });
    const clusters = many(300, (at) => `- {name: c${at}, cluster: {server: "https://c${at}"}}\n`);
    expect(await edit(`clusters:\n${clusters}`)).toMatchObject({ changed: true });
  });

  it('does not stop the clock, and is given up after some seconds of processor time', async () => {
    let ticks = 0;
    const clock = setInterval(() => (ticks += 1), 50);
    const reading = edit(yamlBombs.keys);
    await expect(reading).rejects.toMatchObject({
      code: 'kubeconfig-too-large',
      message: expect.stringMatching(/^f took more than .* s to read$/) as string,
    });
    clearInterval(clock);
    expect(ticks).toBeGreaterThan(20);
  });

  it('of any content ends with an answer', async () => {
    for (let seed = 1; seed <= repetitions(4, 200); seed += 1) {
      const text = hostileText(seededRandom(1_000 + seed), 4_000);
      const answer = await edit(text).catch((error: unknown) => error);
      if (answer instanceof Error)
        expect(answer, JSON.stringify(text.slice(0, 40))).toMatchObject({
          code: expect.stringMatching(/^kubeconfig-/) as string,
        });
    }
  });
});
