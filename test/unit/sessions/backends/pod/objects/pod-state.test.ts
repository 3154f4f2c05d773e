import { describe, expect, it } from 'vitest';
import { podState } from '../../../../../../src/sessions/backends/pod/objects/pod-state.ts';

const waiting = (reason: string, message?: string) => ({
  status: {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'True' }],
    containerStatuses: [
      { state: { waiting: { reason, ...(message === undefined ? {} : { message }) } } },
    ],
  },
});

describe('the state of a pod', () => {
  it('runs when its container does, and not before', () => {
    const running = {
      status: { phase: 'Running', containerStatuses: [{ state: { running: {} } }] },
    };
    expect(podState(running)).toEqual({ kind: 'running' });
    expect(podState({ status: { phase: 'Running' } }).kind).toBe('waiting');
    expect(podState({}).kind).toBe('waiting');
  });

  it('is ending if it was deleted, in any phase', () => {
    const metadata = { deletionTimestamp: '2026-11-21T00:00:00Z' };
    expect(podState({ metadata, status: { phase: 'Running' } })).toEqual({
      kind: 'ending',
      due: '2026-11-21T00:00:00Z',
    });
  });

  it('waits for a place, with the words of the scheduler', () => {
    const message = '0/3 nodes are available';
    const conditions = [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message },
    ];
    expect(podState({ status: { phase: 'Pending', conditions } })).toEqual({
      ...{ kind: 'waiting', text: 'waiting for a node', detail: message },
    });
  });

  it.each([
    ['ImagePullBackOff', 'pod-image'],
    ['ErrImageNeverPull', 'pod-image'],
    ['InvalidImageName', 'pod-image'],
    ['CreateContainerConfigError', 'pod-configuration'],
    ['RunContainerError', 'pod-configuration'],
  ])('has permanently failed with %s', (reason, code) => {
    const detail = `${reason}: why`;
    expect(podState(waiting(reason, 'why'))).toEqual({ kind: 'failed', code, detail });
  });

  it.each(['ContainerCreating', 'PodInitializing', 'ErrImagePull'])(
    'waits on with %s',
    (reason) => {
      expect(podState(waiting(reason)).kind).toBe('waiting');
    },
  );

  const from = 'failed to pull and unpack image "r:1/x:1": ';
  it.each([
    'pull access denied, repository does not exist or may require authorization',
    'unexpected status from HEAD request to https://r/v2/x: 403 Forbidden',
    'r:1/x:1: not found',
  ])('does not wait for a second pull that would fail too: %s', (why) => {
    const now = podState(waiting('ErrImagePull', `${from}${why}`));
    expect(now).toMatchObject({ kind: 'failed', code: 'pod-image' });
  });

  it.each([
    'dial tcp 127.0.0.1:9: connect: connection refused',
    'unexpected status from GET request to https://r/v2/x: 503 Service Unavailable',
    'lookup not found.example.org: no such host',
    'toomanyrequests: You have reached your pull rate limit',
  ])('waits for the second try of a pull that may go well then: %s', (why) => {
    const now = podState(waiting('ErrImagePull', `${from}${why}`));
    expect(now).toMatchObject({ kind: 'waiting', text: 'pulling the image again' });
  });

  it.each([
    ['Evicted', 'pod-evicted'],
    ['DeadlineExceeded', 'pod-time-limit'],
    ['Error', 'pod-ended'],
  ])('that is over says why: %s', (reason, code) => {
    const status = { phase: 'Failed', reason, message: 'm' };
    expect(podState({ status })).toEqual({ kind: 'failed', code, detail: 'm' });
  });
});
