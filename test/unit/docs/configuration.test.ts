import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { clusterSchema, parseBerthYml, siteSchema } from '../../../src/config/berth-yml.ts';
import { builtIn } from '../../../src/config/built-in.ts';
import { codeBlocks, pages, tableRows } from '../../rig/markdown.ts';
import { keysOf } from './schema-keys.ts';

const page = 'docs/configuration.md';
const rows = tableRows(page, 'key');
const described = rows.map(([key = '']) => key);
const builtInOf = (key: string): string => rows.find(([name]) => name === key)?.[1] ?? 'not there';

describe('docs/configuration.md', () => {
  it('describes every key of berth.yml, and no other', () => {
    const keys = [...keysOf(siteSchema), ...keysOf(clusterSchema)];

    expect(described.filter((key) => /^[a-z]/.test(key)).sort()).toEqual(keys.sort());
  });

  it('says what is built in', () => {
    expect({
      minimumUid: Number(builtInOf('minimum_uid')),
      deadlineMs: Number(builtInOf('deadline').replace(/s$/, '')) * 1000,
      stateDir: builtInOf('state_dir'),
      kubeCredentialCommand: builtInOf('kube_credential'),
      adminKubeconfig: builtInOf('admin.kubeconfig'),
      hookEnvFile: builtInOf('hook_env'),
      clustersDir: builtInOf('clusters_dir'),
    }).toEqual(builtIn);
  });
});

describe.each(pages)('the berth.yml in %s', (name) => {
  it('is one that Berth accepts', () => {
    const examples = codeBlocks(name).filter(({ text }) =>
      text.startsWith('# /etc/berth/berth.yml'),
    );
    for (const { text } of examples) expect(() => parseBerthYml(parse(text), name)).not.toThrow();
  });
});
