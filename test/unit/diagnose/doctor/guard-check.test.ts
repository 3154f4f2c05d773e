import { expect, it } from 'vitest';
import { guardFinding } from '../../../../src/diagnose/doctor/admission-check.ts';
import type { ApiClient } from '../../../../src/kube/api-client.ts';

/** Stands for clusters that the site of the tests is not: it answers the dry run as they do. */
const answering = (status: number, message = ''): ApiClient => ({
  send: () => Promise.resolve({ status, headers: {}, body: { message } }),
  close: () => undefined,
});

const hook = 'system:serviceaccount:ondemand:berth-hook';

it.each([
  [
    'the guard is not installed',
    hook,
    'v1.36.3',
    /^kubectl apply -k \S+\/share\/etc\/kubernetes\/guard$/,
  ],
  ['the cluster knows no such policies', hook, 'v1.29.9', /^Upgrade to Kubernetes 1\.30/],
  ['the guard does not watch the account', 'site-admin', 'v1.36.3', /berth token setup/],
])('a write in kube-system that is let in is a failure: %s', async (_, identity, version, next) => {
  expect(await guardFinding(answering(201), identity, version)).toEqual({
    status: 'failed',
    message: `the token of ${identity} can create RoleBindings in kube-system`,
    next: expect.stringMatching(next) as string,
  });
});

it.each([
  [
    'the guard',
    422,
    "ValidatingAdmissionPolicy 'berth-hook-guard' denied request",
    /^an admission policy refuses/,
  ],
  ['RBAC', 403, 'forbidden', /^the account has no right/],
])(
  'a write in kube-system that %s refuses is in order, on any version',
  async (_, status, said, message) => {
    for (const version of ['v1.29.9', 'v1.36.3'])
      expect(await guardFinding(answering(status, said), hook, version)).toMatchObject({
        status: 'ok',
        message: expect.stringMatching(message) as string,
      });
  },
);
