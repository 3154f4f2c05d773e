import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureAccount } from '../../../rig/site/accounts.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import {
  type FreshPortal,
  freshPortal,
  isAsWanted,
  patience,
  removePortals,
  timed,
} from './fresh-portal.ts';
import { endless, goAway, half, lostAnswer, once, page, pass } from './response-faults.ts';
import { type Behaviour, refuse, sessionOf, StandIn } from './api-server-proxy.ts';

const user = 'faults-api';
const deadlineMs = 2_500;

let site: Site;
let standIn: StandIn;
let portal: FreshPortal;
let behave: Behaviour;

beforeAll(async () => {
  site = await openSite();
  await ensureAccount(user);
  standIn = await StandIn.open(site, (seen) => behave(seen));
});
afterAll(() => standIn.close());
beforeEach(async () => {
  behave = pass;
  portal = await freshPortal(site, { url: standIn.url, deadline: '2500ms' });
  standIn.requests.splice(0);
});
afterEach(() => removePortals(site));

describe('an error of an API server affects only its own part of the hook', () => {
  it.each([
    { answer: 401, code: 'api-unauthorized', exit: 78, next: 'berth token setup' },
    { answer: 403, code: 'api-forbidden', exit: 77, next: 'etc/kubernetes' },
    { answer: 409, code: 'api-conflict', exit: 75, next: 'next login' },
    { answer: 422, code: 'api-invalid', exit: 78, next: 'berth doctor' },
    { answer: 429, code: 'api-overloaded', exit: 75, next: 'Priority and Fairness' },
    { answer: 500, code: 'api-server-error', exit: 75, next: 'log of the API server' },
    { answer: 503, code: 'api-server-error', exit: 75, next: 'log of the API server' },
  ])('$answer to everything: exit $exit, one line with $code', async (expected) => {
    behave = refuse(expected.answer);

    const { exitCode, errors, took } = await timed(portal.prePun(user));

    expect(exitCode).toBe(expected.exit);
    expect(errors).toEqual([
      expect.objectContaining({
        code: expected.code,
        cluster: 'prod',
        user,
        msg: expect.stringContaining(`${expected.answer}: the stand-in says`) as string,
        hint: expect.stringContaining(expected.next) as string,
      }),
    ]);
    expect(took).toBeLessThan(deadlineMs + patience);
  });

  it.each([
    {
      what: 'a web page of a proxy with status 200',
      code: 'api-answer-invalid',
      exit: 69,
      says: 'not the JSON object',
      spoil: page(200),
    },
    {
      what: 'a web page of a proxy with status 502',
      code: 'api-server-error',
      exit: 75,
      says: '502',
      spoil: page(502),
    },
    {
      what: 'half a body, and then the connection is cut',
      code: 'api-connection-lost',
      exit: 75,
      says: 'closed the connection',
      spoil: half(({ stream }) => sessionOf(stream).destroy()),
    },
    {
      what: 'half a body, and then the stream is reset',
      code: 'api-connection-lost',
      exit: 75,
      says: 'closed the connection',
      spoil: half(({ stream }) => void stream.destroy(new Error('reset'))),
    },
    {
      what: 'half a body that looks like the end',
      code: 'api-answer-invalid',
      exit: 69,
      says: 'not the JSON object',
      spoil: half(({ stream }) => void stream.end()),
    },
    {
      what: 'GOAWAY in place of each answer',
      code: 'api-connection-lost',
      exit: 75,
      says: 'closed the connection',
      spoil: goAway,
    },
    {
      what: 'a body without end',
      code: 'api-answer-too-large',
      exit: 69,
      says: '16777216 bytes',
      spoil: endless,
    },
  ])('$what: exit $exit, one line with $code', async ({ code, exit, says, spoil }) => {
    behave = spoil;

    const { exitCode, errors, took } = await timed(portal.prePun(user));

    expect(exitCode).toBe(exit);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ code, cluster: 'prod', hint: expect.any(String) as string });
    expect(errors[0]?.msg).toContain(says);
    expect(took).toBeLessThan(deadlineMs + patience);
  });

  it('no answer: the hook ends at its deadline', async () => {
    behave = () => undefined;

    const { exitCode, errors, took } = await timed(portal.prePun(user));

    expect(exitCode).toBe(75);
    expect(errors).toEqual([expect.objectContaining({ code: 'api-deadline', cluster: 'prod' })]);
    expect(took).toBeGreaterThan(deadlineMs * 0.9);
    expect(took).toBeLessThan(deadlineMs + patience);
  });

  it('429 with a Retry-After beyond the deadline: reports at once that it was told to wait', async () => {
    behave = refuse(429, { headers: { 'retry-after': '3600' } });

    const { exitCode, errors, took } = await timed(portal.prePun(user));

    expect(exitCode).toBe(75);
    expect(errors).toEqual([expect.objectContaining({ code: 'api-overloaded', status: '429' })]);
    expect(took).toBeLessThan(deadlineMs + patience);
  });

  it('429 for ever with a short Retry-After: retries three times, not more', async () => {
    behave = refuse(429, { headers: { 'retry-after': '1' } });

    const { exitCode, errors, took } = await timed(portal.prePun(user));

    expect(exitCode).toBe(75);
    expect(errors).toEqual([expect.objectContaining({ code: 'api-overloaded' })]);
    expect(standIn.requests).toHaveLength(3);
    expect(took).toBeGreaterThan(1_900);
  });
});

describe('a temporary error is retried', () => {
  it.each([
    { what: '429 with Retry-After', spoil: refuse(429, { headers: { 'retry-after': '1' } }) },
    { what: '503 with Retry-After', spoil: refuse(503, { headers: { 'retry-after': '0' } }) },
    {
      what: 'a connection cut within an answer',
      spoil: half(({ stream }) => sessionOf(stream).destroy()),
    },
    { what: 'GOAWAY of a server that restarts', spoil: goAway },
  ])('$what once, for the namespace and for the objects in it', async ({ spoil }) => {
    for (const where of ['POST', 'networkpolicies']) {
      behave = once((request) => request.includes(where), spoil);

      const { exitCode, stderr } = await portal.prePun(user);

      expect(stderr).not.toContain('level=error');
      expect(exitCode).toBe(0);
    }
    expect(await isAsWanted(portal, user)).toBe(true);
  });

  it('409 once, because of a simultaneous write', async () => {
    for (const where of ['networkpolicies', 'serviceaccounts', 'secrets']) {
      portal = await freshPortal(site, { url: standIn.url, deadline: '2500ms' });
      behave = once(
        (request) => request.startsWith('PATCH') && request.includes(where),
        refuse(409, { message: 'Operation cannot be fulfilled: the object has been modified' }),
      );

      const { exitCode, stderr } = await portal.prePun(user);

      expect(stderr).not.toContain('level=error');
      expect(exitCode).toBe(0);
    }
    expect(await isAsWanted(portal, user)).toBe(true);
  });
});

describe('an incomplete bootstrap is completed by the next hook', () => {
  it.each([
    { what: 'the secret was refused', where: 'secrets', spoil: refuse(500) },
    { what: 'the bindings were refused', where: 'rolebindings', spoil: refuse(403) },
    { what: 'the namespace was made but the answer lost', where: 'POST', spoil: lostAnswer },
    { what: 'all but the namespace was lost', where: 'PATCH', spoil: refuse(503) },
  ])('$what', async ({ where, spoil }) => {
    behave = (seen) => (`${seen.method} ${seen.path}`.includes(where) ? spoil(seen) : seen.pass());
    const failed = await portal.prePun(user);
    behave = pass;
    const next = await portal.prePun(user);

    expect(failed.exitCode).not.toBe(0);
    expect(next).toMatchObject({ exitCode: 0 });
    expect(await isAsWanted(portal, user)).toBe(true);
  });
});
