import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  claimRetry,
  clustersToRetry,
  skippedClustersError,
  clustersToSkip,
  readBackoff,
  recordBackoff,
  backoffAfter,
} from '../../../src/portal/cluster-backoff.ts';
import type { ErrorCode } from '../../../src/system/errors/berth-error.ts';

const now = 1_000_000;
const configured = ['alive', 'dead', 'mute'];
const unreachable: { code: ErrorCode } = { code: 'api-unreachable' };
const list = (names: ReadonlySet<string>): string[] => [...names];

describe('the clusters that a hook skips', () => {
  it.each([
    { what: 'none, if no record exists', backoff: {}, skips: [] },
    { what: 'one that was unreachable a moment ago', backoff: { dead: now - 1 }, skips: ['dead'] },
    { what: 'for 30 seconds', backoff: { dead: now - 29.9, mute: now - 30 }, skips: ['dead'] },
    { what: 'none whose record has a time in the future', backoff: { dead: now + 60 }, skips: [] },
    { what: 'none that is not configured', backoff: { gone: now }, skips: [] },
    { what: 'never all of them', backoff: { alive: now, dead: now, mute: now }, skips: [] },
  ])('$what', ({ backoff, skips }) => {
    const known = new Map<string, number>(Object.entries(backoff));
    expect(list(clustersToSkip(known, configured, now))).toEqual(skips);
  });

  it('do not include the only one', () => {
    expect(list(clustersToSkip(new Map([['only', now]]), ['only'], now))).toEqual([]);
  });
});

describe('the record after a hook', () => {
  const alive = new Set(['alive']);
  const both = new Map<string, { code: ErrorCode }>([
    ['dead', unreachable],
    ['mute', { code: 'api-deadline' }],
  ]);

  it.each([
    {
      what: 'names clusters that were unreachable while another was reached',
      seen: { reached: alive, errors: both },
      after: { dead: now, mute: now },
    },
    {
      what: 'is empty if no cluster was reached, because then this host has no network',
      seen: { reached: new Set<string>(), errors: new Map([...both, ['alive', unreachable]]) },
      after: {},
    },
    {
      what: 'does not name a cluster that answered late or with an error',
      seen: {
        reached: new Set(['alive', 'mute']),
        errors: new Map<string, { code: ErrorCode }>([
          ...both,
          ['dead', { code: 'api-certificate' }],
        ]),
      },
      after: {},
    },
    {
      what: 'drops a cluster that was tried while no cluster was reached',
      before: { dead: now - 1 },
      seen: { reached: new Set<string>(), errors: new Map([['dead', unreachable]]) },
      after: {},
    },
    {
      what: 'keeps the time of a cluster that was skipped',
      before: { dead: now - 10, mute: now - 40 },
      seen: { reached: alive, errors: new Map<string, { code: ErrorCode }>() },
      after: { dead: now - 10 },
    },
    {
      what: 'drops a cluster that is reached again',
      before: { dead: now - 10 },
      seen: { reached: new Set(['alive', 'dead']), errors: new Map<string, { code: ErrorCode }>() },
      after: {},
    },
  ])('$what', ({ before = {}, seen, after }) => {
    const known = new Map<string, number>(Object.entries(before));
    expect(Object.fromEntries(backoffAfter(known, { configured, ...seen }, now))).toEqual(after);
  });
});

describe('the log line about skipped clusters', () => {
  it('names them all in one line', () => {
    const { message, code, exitCode, fields } = skippedClustersError(['dead', 'mute']);
    expect(message).toMatch(/^2 clusters skipped/);
    expect([code, exitCode, fields]).toEqual(['cluster-skipped', 75, { clusters: 'dead, mute' }]);
  });

  it('names at most 20 of them', () => {
    const names = Array.from({ length: 99 }, (_, index) => `dead${index}`);
    expect(skippedClustersError(names).fields.clusters).toMatch(/dead19, and 79 more$/);
  });
});

describe.skipIf(process.geteuid?.() !== 0)('the file with the record (needs root)', () => {
  let directory: string;
  let file: string;
  const seen = {
    configured,
    reached: new Set(['alive']),
    errors: new Map([['dead', unreachable]]),
  };

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'silent-clusters-'));
    file = join(directory, 'silent-clusters.json');
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('has mode 0600 and gives back what was written', () => {
    recordBackoff(directory, seen, now);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect([...readBackoff(directory)]).toEqual([['dead', now]]);
  });

  it('makes other hooks skip a cluster that this hook is trying', () => {
    const backoff = new Map([
      ['dead', now - 40],
      ['mute', now - 5],
    ]);
    const due = clustersToRetry(backoff, configured, now);
    claimRetry(directory, backoff, due, now);
    expect(due).toEqual(['dead']);
    expect(list(clustersToSkip(readBackoff(directory), configured, now + 1))).toEqual([
      'dead',
      'mute',
    ]);
  });

  it('is not written if nothing has changed', () => {
    recordBackoff(directory, seen, now);
    const { ino } = statSync(file);
    recordBackoff(directory, { ...seen, errors: new Map() }, now + 1);
    expect(statSync(file).ino).toBe(ino);
  });

  it('keeps what another hook wrote meanwhile', () => {
    writeFileSync(file, JSON.stringify({ mute: now - 5 }), { mode: 0o600 });
    recordBackoff(directory, seen, now);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ dead: now, mute: now - 5 });
  });

  it.each(['', '{"dead":', '[]', 'null', '{"dead":"x"}'])(
    'is ignored if it contains %j',
    (text) => {
      writeFileSync(file, text, { mode: 0o600 });
      expect(readBackoff(directory).size).toBe(0);
    },
  );

  it('is ignored if others could have written it', () => {
    recordBackoff(directory, seen, now);
    chmodSync(file, 0o666);
    expect(readBackoff(directory).size).toBe(0);
  });
});
