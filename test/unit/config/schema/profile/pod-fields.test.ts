import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseProfile } from '../../../../../src/config/schema/profile/profile-parse.ts';
import { refusal } from '../refusal.ts';

/** What an API server would refuse at each login: test/site/reconcile/accepted-values.test.ts asks one. */
it.each([
  ['pod: {extended: {gpu: 1}}', 'must be a resource name such as nvidia.com/gpu'],
  ['pod: {extended: {requests.x.org/gpu: 1}}', 'must be a resource name such as nvidia.com/gpu'],
  ['pod: {node_selector: {a b: x}}', 'must be the key of a label or a taint'],
  ['pod: {node_selector: {pool: a/b}}', 'must be a valid label value'],
  ['pod: {tolerations: [{key: a//b}]}', 'must be the key of a label or a taint'],
  ['pod: {tolerations: [{value: x}]}', 'pod.tolerations.1 needs a key, or operator: Exists'],
  [
    'pod: {tolerations: [{key: a, operator: Exists, value: x}]}',
    'pod.tolerations.1.value must be absent with operator: Exists',
  ],
  [
    'pod: {tolerations: [{key: a, operator: Exists, seconds: 5}]}',
    'pod.tolerations.1.seconds needs effect: NoExecute',
  ],
  ['pod: {priority_class: a..b}', 'must be a valid Kubernetes name'],
  ['pod: {volumes: {/a: {nfs: {server: "", path: /x}}}}', 'must be'],
  ['pod: {volumes: {/etc/passwd: {claim: a}}}', 'pod.volumes./etc/passwd is reserved'],
  [
    'mounts: [{source: /data}]\npod: {volumes: {/data: {claim: a}}}',
    'pod.volumes./data is also the target of a mount',
  ],
])('a profile with %s is refused: %s', (text, message) => {
  const error = refusal(() => parseProfile(parse(`image: a\n${text}`), 'p', 'p.yml'));
  expect(error).toMatchObject({ code: 'profile-invalid', exit: 'config' });
  expect(error.message).toContain(message);
});
