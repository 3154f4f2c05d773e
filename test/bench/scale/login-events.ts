import { argv } from 'node:process';
import { EventSpool } from '../../../src/system/event-spool.ts';

const clusters = 10;

/** Appends what the hook appends in a later login on ten clusters: at its begin, and at its end. */
export function appendLogin(one: EventSpool): void {
  one.add('portal login begun');
  one.write();
  for (let index = 0; index < clusters; index += 1)
    one.add('namespace kept', { cluster: `cluster${index}`, took_ms: 40 + index });
  one.add('portal login', {
    ...{ exit: 0, took_ms: 110, configuration_ms: 12, credentials_ms: 30, clusters_ms: 25 },
  });
  one.write();
}

// As a program of its own: the milliseconds that the first login of a process takes for it, as each login is.
const [, , directory] = argv;
if (import.meta.main && directory !== undefined) {
  const began = performance.now();
  appendLogin(new EventSpool('pre-pun', directory));
  process.stdout.write(`${performance.now() - began}\n`);
}
