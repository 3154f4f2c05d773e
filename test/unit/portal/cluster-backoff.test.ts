import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  claimSilentClusters,
  clustersDue,
  clustersSkipped,
  clustersToSkip,
  readSilentClusters,
  rememberSilentClusters,
  silentAfter,
} from '../../../src/portal/cluster-backoff.ts';
import type { ErrorCode } from '../../../src/errors.ts';

const now = 1_000_000;
const configured = ['alive', 'dead', 'mute'];
const away: { code: ErrorCode } = { code: 'api-unreachable' };
const list = (names: ReadonlySet<string>): string[] => [...names];

describe('which clusters a login leaves alone', () => {
  it.each([
    { what: 'none, where nothing is known', silent: {}, skips: [] },
    { what: 'one that was away a moment ago', silent: { dead: now - 1 }, skips: ['dead'] },
    { what: 'for 30 seconds', silent: { dead: now - 29.9, mute: now - 30 }, skips: ['dead'] },
    { what: 'none that was away in the future', silent: { dead: now + 60 }, skips: [] },
    { what: 'none that is not configured', silent: { gone: now }, skips: [] },
    { what: 'never all of them', silent: { alive: now, dead: now, mute: now }, skips: [] },
  ])('$what', ({ silent, skips }) => {
    const known = new Map<string, number>(Object.entries(silent));
    expect(list(clustersToSkip(known, configured, now))).toEqual(skips);
  });

  it('not the only one', () => {
    expect(list(clustersToSkip(new Map([['only', now]]), ['only'], now))).toEqual([]);
  });
});

describe('what a login leaves behind', () => {
  const alive = new Set(['alive']);
  const both = new Map<string, { code: ErrorCode }>([
    ['dead', away],
    ['mute', { code: 'api-deadline' }],
  ]);

  it.each([
    {
      what: 'who was away while another was there',
      seen: { reached: alive, errors: both },
      after: { dead: now, mute: now },
    },
    {
      what: 'nothing where nobody was there: then it is this host that is cut off',
      seen: {
        reached: new Set<string>(),
        errors: new Map<string, { code: ErrorCode }>([...both, ['alive', away]]),
      },
      after: {},
    },
    {
      what: 'nothing of who answered too late or wrongly',
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
      what: 'nothing of who was asked in vain while nobody was there',
      before: { dead: now - 1 },
      seen: { reached: new Set<string>(), errors: new Map([['dead', away]]) },
      after: {},
    },
    {
      what: 'who was skipped, with its own time',
      before: { dead: now - 10, mute: now - 40 },
      seen: { reached: alive, errors: new Map<string, { code: ErrorCode }>() },
      after: { dead: now - 10 },
    },
    {
      what: 'nothing of who is back',
      before: { dead: now - 10 },
      seen: { reached: new Set(['alive', 'dead']), errors: new Map<string, { code: ErrorCode }>() },
      after: {},
    },
  ])('$what', ({ before = {}, seen, after }) => {
    const known = new Map<string, number>(Object.entries(before));
    expect(Object.fromEntries(silentAfter(known, { configured, ...seen }, now))).toEqual(after);
  });
});

describe('the line about them', () => {
  it('is one, that names them', () => {
    const { message, code, exitCode, fields } = clustersSkipped(['dead', 'mute']);
    expect(message).toMatch(/^2 clusters not asked/);
    expect([code, exitCode, fields]).toEqual(['cluster-skipped', 75, { clusters: 'dead, mute' }]);
  });

  it('has an end, however many they are', () => {
    const names = Array.from({ length: 99 }, (_, index) => `dead${index}`);
    expect(clustersSkipped(names).fields.clusters).toMatch(/dead19, and 79 more$/);
  });
});

describe.skipIf(process.geteuid?.() !== 0)('the file (needs root)', () => {
  let folder: string;
  let file: string;
  const seen = { configured, reached: new Set(['alive']), errors: new Map([['dead', away]]) };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'silent-clusters-'));
    file = join(folder, 'silent-clusters.json');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is root’s alone, and is read as it was written', () => {
    rememberSilentClusters(folder, seen, now);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect([...readSilentClusters(folder)]).toEqual([['dead', now]]);
  });

  it('keeps others away from who is asked at the moment', () => {
    const silent = new Map([
      ['dead', now - 40],
      ['mute', now - 5],
    ]);
    const due = clustersDue(silent, configured, now);
    claimSilentClusters(folder, silent, due, now);
    expect(due).toEqual(['dead']);
    expect(list(clustersToSkip(readSilentClusters(folder), configured, now + 1))).toEqual([
      'dead',
      'mute',
    ]);
  });

  it('is not written again where nothing is new', () => {
    rememberSilentClusters(folder, seen, now);
    const { ino } = statSync(file);
    rememberSilentClusters(folder, { ...seen, errors: new Map() }, now + 1);
    expect(statSync(file).ino).toBe(ino);
  });

  it('keeps what another login wrote meanwhile', () => {
    writeFileSync(file, JSON.stringify({ mute: now - 5 }), { mode: 0o600 });
    rememberSilentClusters(folder, seen, now);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ dead: now, mute: now - 5 });
  });

  it.each(['', '{"dead":', '[]', 'null', '{"dead":"x"}'])('counts for nothing as %j', (text) => {
    writeFileSync(file, text, { mode: 0o600 });
    expect(readSilentClusters(folder).size).toBe(0);
  });

  it('counts for nothing where others could have written it', () => {
    rememberSilentClusters(folder, seen, now);
    chmodSync(file, 0o666);
    expect(readSilentClusters(folder).size).toBe(0);
  });
});
