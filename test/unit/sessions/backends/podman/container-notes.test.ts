import { expect, it } from 'vitest';
import {
  noteText,
  parseNote,
} from '../../../../../src/sessions/backends/podman/container-notes.ts';

const since = Date.parse('2026-11-23T18:40:12');
const note = { host: 'login1.example.org', profile: 'base', since };

it('names the node and says since when', () => {
  expect(parseNote(JSON.stringify(note))).toEqual(note);
  expect(noteText(note)).toBe(
    'you also have a container (profile base) on login1.example.org, since 2026-11-23 18:40; to get there: ssh login1.example.org',
  );
});

it('says the port if it is not that of ssh', () => {
  const other = { ...note, port: 2222 };
  expect(parseNote(JSON.stringify(other))).toEqual(other);
  expect(noteText(other)).toMatch(/; to get there: ssh -p 2222 login1\.example\.org$/);
  expect(noteText({ ...note, port: 22 })).toBe(noteText(note));
  for (const port of ['22', 0, 65_536, 22.5, -1])
    expect(parseNote(JSON.stringify({ ...note, port }))).toEqual(note);
});

it.each([
  '',
  'null',
  '[]',
  JSON.stringify({ ...note, host: '-oProxyCommand=x' }),
  JSON.stringify({ ...note, host: 'login1\n' }),
  JSON.stringify({ ...note, host: 'a'.repeat(300) }),
  JSON.stringify({ ...note, profile: '\u001b[2J' }),
  JSON.stringify({ ...note, since: 'today' }),
  JSON.stringify({ ...note, since: 1e20 }),
])('does not take %j for a note', (text) => {
  expect(parseNote(text)).toBeUndefined();
});
