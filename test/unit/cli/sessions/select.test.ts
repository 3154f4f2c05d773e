import { expect, it } from 'vitest';
import { nothingFoundText, podsLeftOutText } from '../../../../src/cli/sessions/select.ts';

it.each([
  [{}, false, 'list', 'no session is open'],
  [{}, false, 'end', 'there is no session to end'],
  [{ user: ['ada'] }, false, 'end', 'no session matches the filters'],
  [{}, true, 'list', 'no session on this node and no pod of a session is open'],
  [{}, true, 'end', 'there is no session on this node and no pod to end'],
  [{ user: ['ada'] }, true, 'list', 'no session on this node and no pod matches the filters'],
] as const)('nothing found with %j, all nodes: %s', (filters, all, what, text) => {
  expect(nothingFoundText({ ...filters, 'all-nodes': all }, what)).toBe(`${text}\n`);
});

it.each([
  [{}, ''],
  [{ user: ['ada'] }, ''],
  [{ from: ['192.0.2.1'] }, '--from selects no pods: '],
  [{ from: ['192.0.2.1'], 'idle-over': '2h' }, '--from and --idle-over select no pods: '],
])('the pods that %j leaves out are mentioned', (filters, text) => {
  const said = podsLeftOutText(filters);
  expect(said.slice(0, text.length)).toBe(text);
  expect(said === '').toBe(text === '');
});
