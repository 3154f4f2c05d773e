import { describe, expect, it } from 'vitest';
import { parseAdmissionParameters } from '../../../../src/config/schema/admission-parameters.ts';
import { siteAdmission } from '../../../../src/kube/admission/admission-settings.ts';
import type { Manifest } from '../../../../src/kube/objects/kube-object.ts';
import { admissionManifests } from '../../../../src/kube/admission/render-admission.ts';

const rendered = (nothingFilledIn: boolean, parameters: object = {}): Manifest[] =>
  admissionManifests(
    'kubernetes',
    siteAdmission(parseAdmissionParameters(parameters, 'the test'), { nothingFilledIn }),
  );
const kinds = (manifests: readonly Manifest[]): string[] =>
  [...new Set(manifests.map(({ kind }) => kind))].sort();
interface Spec {
  readonly validations: readonly [
    { readonly expression: string; readonly messageExpression: string },
  ];
}
const policy = (manifests: readonly Manifest[], name: string): Spec['validations'][0] => {
  const found = manifests.find(
    ({ kind, metadata }) => kind.endsWith('Policy') && metadata.name === name,
  );
  return (found?.spec as Spec).validations[0];
};

describe('policies for a cluster without MutatingAdmissionPolicy', () => {
  it('are the same without the mutating ones', () => {
    const names = (manifests: readonly Manifest[]): string[] =>
      manifests
        .filter(({ kind }) => !kind.startsWith('Mutating'))
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`);

    expect(kinds(rendered(false))).toContain('MutatingAdmissionPolicy');
    expect(kinds(rendered(true)).filter((kind) => kind.startsWith('Mutating'))).toEqual([]);
    expect(names(rendered(true))).toEqual(names(rendered(false)));
  });

  it('say to whom wrote nothing all that would have been filled in', () => {
    for (const name of ['berth-pods', 'berth-pod-templates']) {
      const { messageExpression } = policy(rendered(true), name);

      for (const field of [
        ...['runAsUser: ', 'runAsGroup: ', 'runAsNonRoot: true', 'supplementalGroups: ['],
        ...['supplementalGroupsPolicy: Strict', 'seccompProfile: {type: RuntimeDefault}'],
        ...['allowPrivilegeEscalation: false', 'capabilities: {drop: [ALL]}', 'resources ('],
        'pod.kubernetes.io/lifetime',
      ])
        expect(messageExpression).toContain(field);
      expect(policy(rendered(false), name).messageExpression).not.toContain('sets no defaults');
    }
  });

  it('name no policy of groups that the site does not want', () => {
    const parameters = { supplemental_groups_policy: 'Merge' };
    const { messageExpression } = policy(rendered(true, parameters), 'berth-pods');

    expect(messageExpression).toContain('sets no defaults');
    expect(messageExpression).not.toContain('supplementalGroupsPolicy');
  });

  it('hold templates to what no defaults fill in later', () => {
    const expression = (nothingFilledIn: boolean): string =>
      policy(rendered(nothingFilledIn), 'berth-pod-templates').expression;

    expect(expression(false)).toContain('runAsUser.orValue(variables.uid)');
    expect(expression(true)).toContain('runAsUser.orValue(-1)');
    expect(expression(true)).toContain("annotations[?'pod.kubernetes.io/lifetime']");
  });
});
