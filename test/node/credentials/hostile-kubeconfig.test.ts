import { describe, expect, it } from 'vitest';
import type { setKubeconfigEntries } from '../../../src/credentials/kubeconfig/kubeconfig-edit.ts';
import { kubeconfigTooLarge } from '../../../src/credentials/kubeconfig/read-kubeconfig.ts';
import { inReadingProcess } from '../../../src/system/reading-process.ts';
import { hostileText } from '../../rig/hostile-text.ts';
import { seededRandom } from '../../rig/seeded-random.ts';
import { repetitions } from '../../rig/soak.ts';
import { yamlBombs } from '../../rig/yaml-bombs.ts';

const wanted = [{ cluster: { name: 'ours', value: { server: 'https://x' } } }];

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
