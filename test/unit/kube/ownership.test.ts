import { describe, expect, it } from 'vitest';
import type { LiveObject } from '../../../src/kube/objects/kube-object.ts';
import { ownership } from '../../../src/kube/ownership.ts';

const oscLabel = { 'app.kubernetes.io/name': 'open-ondemand' };
const oscStamp = { 'openondemand.org/last-hook-execution': '1760000000' };

const namespace = (
  labels: Record<string, string>,
  annotations: Record<string, string>,
): LiveObject => ({ metadata: { name: 'a-b', labels, annotations } });

const binding = (name: string, role = 'ood-user'): LiveObject => ({
  metadata: { name },
  roleRef: { name: role },
});

describe('the owner of a namespace', () => {
  it('is whom the annotation names', () => {
    const live = namespace(oscLabel, { 'openondemand.org/owner': 'a.b' });
    expect(ownership('a.b', live, []).verdict).toBe('ours');
    expect(ownership('a@b', live, [binding('a@b-ood-user')])).toMatchObject({
      verdict: 'refused',
      error: {
        code: 'namespace-owned-by-another-user',
        hint: expect.stringContaining(
          '`kubectl annotate --overwrite namespace a-b openondemand.org/owner=a@b`',
        ) as string,
      },
    });
  });

  it('is, without an annotation, the user whom OSC bound there', () => {
    const live = namespace(oscLabel, oscStamp);
    expect(ownership('a-b', live, [binding('a-b-ood-user')]).verdict).toBe('adoptable');
  });

  it.each([
    ['nobody is bound', namespace(oscLabel, oscStamp), []],
    ['another user is bound', namespace(oscLabel, oscStamp), [binding('a.b-ood-user')]],
    [
      'another user is bound as well',
      namespace(oscLabel, oscStamp),
      [binding('a-b-ood-user'), binding('a.b-ood-user')],
    ],
    [
      'the binding is of another role',
      namespace(oscLabel, oscStamp),
      [binding('a-b-ood-user', 'view')],
    ],
    ['the label is missing', namespace({}, oscStamp), [binding('a-b-ood-user')]],
    ['the hook never ran there', namespace(oscLabel, {}), [binding('a-b-ood-user')]],
  ])('is unknown where %s', (_, live, bindings) => {
    expect(ownership('a-b', live, bindings)).toMatchObject({
      verdict: 'refused',
      error: { code: 'namespace-owner-unknown' },
    });
  });
});
