import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { execa } from 'execa';
import { join } from 'node:path';
import { foldSpool } from '../../../../src/diagnose/metrics/fold-spool.ts';
import { EventSpool, mostOfSpool, spoolFile } from '../../../../src/system/event-spool.ts';
import { openBench } from '../../bench-portal.ts';
import { hookCommand, warmUp } from '../../logins.ts';
import { measure, median } from '../../measure.ts';
import type { RecordFigure } from '../figures.ts';
import { appendLogin } from '../login-events.ts';
import type { ScalePart } from '../parts.ts';

const [rate, minutes] = [20, 60];
const runs = 15;
const mib = 1024 * 1024;

/**
 * The events that logins leave for `berth metrics`. The hour is simulated: the hook's own code appends as many events as twenty logins a
 * second on ten clusters do, and the timer's counts them after each minute.
 */
export const spool: ScalePart = {
  title: `The spool of metrics, with the events of ${rate} logins a second`,
  async run(record) {
    await anHour(record, { counted: true });
    await anHour(record, { counted: false });
    await shareOfLogin(record);
  },
};

async function anHour(record: RecordFigure, { counted }: { counted: boolean }): Promise<void> {
  const directory = await mkdtemp('/var/tmp/berth-scale-spool-');
  try {
    const file = join(directory, spoolFile);
    await writeFile(file, '');
    const counts: number[] = [];
    let largest = 0;
    for (let minute = 0; minute < minutes; minute += 1) {
      const one = new EventSpool('pre-pun', directory);
      for (let login = 0; login < rate * 60; login += 1) appendLogin(one);
      largest = Math.max(largest, (await stat(file)).size);
      if (!counted) continue;
      const before = process.cpuUsage();
      foldSpool(directory, minute * 60_000);
      const { user, system } = process.cpuUsage(before);
      counts.push((user + system) / 1000);
    }
    const what = counted ? 'an hour, counted each minute' : 'an hour, not counted';
    record({
      what: `${what}: largest file`,
      ...{ value: largest / mib, unit: 'MiB', wanted: { atMost: mostOfSpool / mib + 0.1 } },
    });
    if (counted) record({ what: 'processor time of a count', value: median(counts), unit: 'ms' });
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** What the events cost a login: measured in new processes, because each login is one. */
async function shareOfLogin(record: RecordFigure): Promise<void> {
  const directory = await mkdtemp('/var/tmp/berth-scale-spool-');
  const bench = await openBench(['bench-later']);
  try {
    await writeFile(join(directory, spoolFile), '');
    await warmUp(bench, undefined);
    const script = join(import.meta.dirname, '../login-events.ts');
    const events: number[] = [];
    const logins: number[] = [];
    for (let run = 0; run < runs; run += 1) {
      const args = [...process.execArgv, script, directory];
      const { stdout } = await execa(process.execPath, args);
      events.push(Number(stdout));
      logins.push((await measure(await hookCommand(bench, 'bench-later')())).wall);
    }
    record({ what: 'the events of a login', value: median(events), unit: 'ms' });
    const share = median(events) / median(logins);
    record({ what: 'of the time of a login', value: share, unit: '', wanted: { atMost: 0.02 } });
  } finally {
    await rm(directory, { recursive: true });
    await bench.close();
  }
}
