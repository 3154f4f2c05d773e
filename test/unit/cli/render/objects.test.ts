import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { renderJson, renderYaml } from '../../../../src/cli/render/objects.ts';
import type { KubeObject } from '../../../../src/kube/objects/kube-object.ts';

const namespace: KubeObject = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'u-a', annotations: { 'openondemand.org/uid': '1001' } },
};
const secret: KubeObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'pull', namespace: 'u-a' },
  data: { '.dockerconfigjson': 'c2VjcmV0' },
};

describe('rendered objects', () => {
  it('are one YAML document each; numbers in annotations stay text', () => {
    const text = renderYaml([namespace, secret], [], 'prod');
    expect(parseAllDocuments(text).map((one) => one.toJS() as unknown)).toEqual([
      namespace,
      secret,
    ]);
  });

  it('show a Secret that is left out as a comment without its contents', () => {
    const text = renderYaml([namespace], [secret], 'prod');
    expect(parseAllDocuments(text).map((one) => one.toJS() as unknown)).toEqual([namespace]);
    expect(text).toContain('#     name: pull');
    expect(text).not.toContain('c2VjcmV0');
  });

  it('are a List as JSON', () => {
    expect(JSON.parse(renderJson([namespace]))).toEqual({
      apiVersion: 'v1',
      kind: 'List',
      items: [namespace],
    });
  });
});
