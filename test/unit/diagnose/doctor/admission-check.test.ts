import { describe, expect, it } from 'vitest';
import { admissionFinding } from '../../../../src/diagnose/doctor/admission-check.ts';
import type { Finding } from '../../../../src/system/errors/check-result.ts';
import type { ApiClient, ApiResponse } from '../../../../src/kube/api-client.ts';

/** A cluster whose policies are in force, or whose hook has no right to try them. */
function cluster({ kinds, allowed = true }: { kinds: string[]; allowed?: boolean }): ApiClient {
  const forbidden = (policies: string): ApiResponse => ({
    ...{ status: 403, body: { message: `ValidatingAdmissionPolicy '${policies}' denied request` } },
  });
  return {
    send: ({ path }) => {
      if (path === '/apis/admissionregistration.k8s.io/v1')
        return Promise.resolve({
          status: 200,
          body: { resources: kinds.map((name) => ({ name })) },
        });
      if (path.endsWith('/selfsubjectaccessreviews'))
        return Promise.resolve({ status: 201, body: { status: { allowed } } });
      return Promise.resolve(forbidden('berth-pods berth-services berth-admission-probe'));
    },
    close: () => undefined,
  };
}

const validating = ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'];
const both = [...validating, 'mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'];
const find = (version: string, kinds: string[], allowed = true): Promise<Finding> =>
  admissionFinding(cluster({ kinds, allowed }), version);
const install = (finding: Finding): string => ('next' in finding ? finding.next : '');

describe('admission policies on a cluster without MutatingAdmissionPolicy', () => {
  it('are well, and what is done without is said', async () => {
    const { status, message } = await find('v1.34.4', validating);

    expect(status).toBe('ok');
    expect(message).toContain('Kubernetes v1.34.4 has no MutatingAdmissionPolicy');
  });

  it('are installed by what is rendered for its version', async () => {
    const finding = await find('v1.34.4', validating, false);

    expect(finding.status).toBe('warning');
    expect(install(finding)).toContain(
      'berth render policies --kubernetes 1.34 | kubectl apply -f -',
    );
  });

  it('are rendered without it where a later version has it turned off', async () => {
    expect(install(await find('v1.36.3', validating, false))).toContain('--kubernetes 1.35 |');
  });
});

describe('admission policies on a cluster that has it', () => {
  it('are as they were', async () => {
    expect(await find('v1.36.3', both)).toEqual({
      ...{
        status: 'ok',
        message: 'pods with the identity of another user are refused (7 cases tried)',
      },
    });
    expect(install(await find('v1.36.3', both, false))).toContain(
      'as an admin of the cluster: berth render policies | kubectl apply -f -',
    );
  });
});
