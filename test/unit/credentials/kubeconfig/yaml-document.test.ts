import { diffLines } from 'diff';
import { describe, expect, it } from 'vitest';
import { isSeq, parse, parseDocument } from 'yaml';
import { setKubeconfigEntries } from '../../../../src/credentials/kubeconfig/kubeconfig-edit.ts';
import {
  clusterEntry,
  execUser,
} from '../../../../src/credentials/kubeconfig/kubeconfig-entries.ts';
import { realKubeconfigs } from './real-kubeconfigs.ts';

/** docs/decisions/0004-kubeconfig-editing.md: why kubeconfigs are not written by yaml's Document. */

const entries = {
  clusters: { name: 'ours', cluster: clusterEntry({ endpoint: 'https://ours.example.org:6443' }) },
  users: { name: 'ours', user: execUser('/usr/lib/berth/shell/kube-credential') },
  contexts: { name: 'ours', context: { cluster: 'ours', user: 'ours' } },
};

/** The same three entries by the library, in kubectl's style of lists. */
function byLibrary(text: string, lineWidth: number): string {
  const document = parseDocument(text, { merge: true });
  for (const [list, entry] of Object.entries(entries)) {
    const there = document.get(list, true);
    if (isSeq(there)) there.add(document.createNode(entry));
    else document.set(list, [entry]);
  }
  const flowCollectionPadding = text.includes('{ ');
  return document.toString({ lineWidth, indentSeq: false, flowCollectionPadding });
}

function bySplicing(text: string): string {
  const { clusters, users, contexts } = entries;
  return setKubeconfigEntries(text, [
    {
      cluster: { name: 'ours', value: clusters.cluster },
      user: { name: 'ours', value: users.user },
      context: { name: 'ours', value: contexts.context },
    },
  ]).text;
}

/** Lines of the user's that an edit removed or changed; an empty list may make way for a filled one. */
function linesLost(before: string, after: string): string[] {
  return diffLines(before, after)
    .filter(({ removed }) => removed)
    .flatMap(({ value }) => value.split('\n'))
    .filter((line) => line !== '' && !/^(?:clusters|users|contexts):(?: \[\])?\r?$/.test(line));
}

const names = Object.keys(realKubeconfigs) as (keyof typeof realKubeconfigs)[];

describe('three entries added to a kubeconfig', () => {
  it.each(names)('by splicing lose no line of it: %s', (name) => {
    const before = realKubeconfigs[name];
    const after = bySplicing(before);
    // A comma is added behind the last entry of a JSON list.
    expect(linesLost(before, after).filter((line) => !/^ +\}$/.test(line))).toEqual([]);
    expect(parse(after, { merge: true })).toMatchObject({
      users: expect.arrayContaining([entries.users]) as unknown,
    });
  });

  it('by the library rewrite six of eight kubeconfigs, whatever width its lines may have', () => {
    const rewritten = names.filter((name) =>
      [0, 80].every((width) => {
        const before = realKubeconfigs[name];
        return linesLost(before, byLibrary(before, width)).length > 0;
      }),
    );
    expect(rewritten).toEqual(['kubelogin', 'commented', 'anchors', 'wrapped', 'json', 'crlf']);
  });

  it('by the library reflow either wrapped certificate data or long arguments', () => {
    const before = realKubeconfigs.kubelogin;
    const certificate = /^ {6}LS0t\S{60}\n/m;
    const argument = /^ {6}- --oidc-extra-scope=.*wants\n/m;
    const [anyWidth, narrow] = [byLibrary(before, 0), byLibrary(before, 80)];
    expect(anyWidth).toMatch(argument);
    expect(anyWidth).not.toMatch(certificate);
    expect(narrow).toMatch(certificate);
    expect(narrow).not.toMatch(argument);
    expect(bySplicing(before)).toMatch(certificate);
    expect(bySplicing(before)).toMatch(argument);
  });

  it('by the library lose the line ends of Windows', () => {
    expect(byLibrary(realKubeconfigs.crlf, 0)).not.toContain('\r\n');
    expect(bySplicing(realKubeconfigs.crlf)).not.toMatch(/[^\r]\n/);
  });
});
