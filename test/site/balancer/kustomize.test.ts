import { parseAllDocuments } from 'yaml';
import { describe, expect, it } from 'vitest';
import { execa } from 'execa';
import { installDirectory } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const root = new URL('../../../', import.meta.url).pathname;
const site = await openSite();

const objectsIn = (text: string): Map<string, Named> =>
  new Map(
    parseAllDocuments(text)
      .map((document) => document.toJS() as Named)
      .map((one) => [`${one.kind} ${one.metadata.namespace ?? ''}/${one.metadata.name}`, one]),
  );

describe.each([
  ['the whole directory', ['.'], []],
  ['the overlay for podman', ['overlays/podman', 'metallb'], ['--kind', 'podman']],
  ['the overlay for pods', ['overlays/pods', 'metallb'], ['--kind', 'pods']],
])('etc/kubernetes/ssh-balancer, %s', (_, directories, args) => {
  it('has the objects that Berth prints for the example', async () => {
    const built = await Promise.all(
      directories.map(async (directory) => {
        const path = `${root}etc/kubernetes/ssh-balancer/${directory}`;
        const { exitCode, stdout, stderr } = await site.kubectl(['kustomize', path]);
        expect([exitCode, stderr]).toEqual([0, '']);
        return [...objectsIn(stdout)];
      }),
    );
    const { stdout } = await execa(`${installDirectory}/berth`, [
      ...['render', 'balancer', '--for', 'kubernetes', ...args],
      ...['--list', `${root}etc/berth/balancer.yml.example`],
    ]);
    expect(objectsIn(stdout)).toEqual(new Map(built.flat()));
  });
});
