import { expect, it } from 'vitest';
import { podFailed } from '../../../../../src/sessions/backends/pod/pod-start-errors.ts';
import { userAdvice } from '../../../../../src/sessions/request/user-advice.ts';

const pod = { namespace: 'u-alice', name: 'berth-base' };

it.each(['pod-evicted', 'pod-time-limit'] as const)('%s: the user is told to log in', (code) => {
  expect(userAdvice(podFailed(code, 'x', pod))).toMatch(/^Log in again/);
});

it.each(['pod-configuration', 'pod-ended'] as const)(
  '%s: the admin is sent to the events',
  (code) => {
    const error = podFailed(code, 'x', pod);
    expect(error.hint).toContain('`kubectl events -n u-alice --for pod/berth-base`');
    expect(userAdvice(error)).not.toContain('kubectl');
  },
);

it('has the code of the reason for which the image was not pulled', () => {
  expect(podFailed('pod-image', 'ErrImageNeverPull: x', pod).code).toBe('pod-image-missing');
});
