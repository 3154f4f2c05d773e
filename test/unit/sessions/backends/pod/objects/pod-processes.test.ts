import { describe, expect, it } from 'vitest';
import {
  belongsToOpenConnection,
  earlierSweeps,
  endsWithTerminal,
  podProcesses,
  sessionProcesses,
} from '../../../../../../src/sessions/backends/pod/objects/pod-processes.ts';

/** PID PARENT SESSION STATE START AGE MARK */
const rows = [
  '7 0 7 S 100 1000 -',
  '20 0 20 S 200 1000 12.34',
  '21 20 20 S 210 1000 -',
  '22 1 22 S 220 1000 -',
  '23 1 23 S 230 1000 1.1',
  '24 1 20 S 240 1000 -',
  '30 0 30 S 300 1000 56.78',
  '40 0 40 S 400 1000 -',
  '90 0 90 S 900 1000 -',
  '91 90 90 R 901 1000 -',
];
const looking = 90;
const strangers = (open: readonly string[]): number[] => {
  const all = sessionProcesses(podProcesses(rows), looking);
  const belongs = belongsToOpenConnection(new Set(open), all);
  return all.filter((one) => !belongs(one)).map(({ pid }) => pid);
};

describe('the sweeps before this one', () => {
  it('are those that started earlier and still run', () => {
    const all = podProcesses([
      '7 0 7 S 100 9000 -',
      '60 0 60 S 5000 300 sweep',
      '70 0 70 S 5100 200 sweep',
      '71 0 71 S 5100 200 sweep',
      '80 0 80 S 5200 100 sweep',
      '90 0 90 S 100 9000 sweep',
    ]);
    const before = (own: number): number[] => earlierSweeps(all, own).map(({ pid }) => pid);
    expect([60, 70, 71, 80, 99].map(before)).toEqual([[], [60], [60, 70], [60, 70, 71], []]);
  });
});

describe('what of a pod is nobody’s', () => {
  it('wears the mark of no open connection, and descends from none and is in no session of one', () => {
    expect(strangers(['12.34'])).toEqual([22, 23, 30, 40]);
    expect(strangers(['12.34', '56.78'])).toEqual([22, 23, 40]);
  });

  it("without connections, consists of all processes except the pod's first one and the sweep's shell", () => {
    expect(strangers([])).toEqual([20, 21, 22, 23, 24, 30, 40]);
  });

  it('does not include a process that was just started from outside, which has no mark before its first program runs', () => {
    const all = podProcesses(['7 0 7 S 100 9000 -', '50 0 50 S 9000 5 -', '51 1 51 S 9000 5 -']);
    expect(
      all.filter((one) => !belongsToOpenConnection(new Set(), all)(one)).map(({ pid }) => pid),
    ).toEqual([7, 51]);
  });

  it('does not include another sweep and its children, which a user can imitate only for a limited time', () => {
    const all = podProcesses([
      '7 0 7 S 100 9000 -',
      '60 0 60 S 5000 100 sweep',
      '61 60 60 S 5001 99 -',
      '62 0 62 S 100 9000 sweep',
      '63 1 63 S 5000 100 sweep',
    ]);
    expect(sessionProcesses(all, looking).map(({ pid }) => pid)).toEqual([62, 63]);
  });

  it('is found quickly for any chain or cycle of parents that a pod makes up', () => {
    const pids = Array.from({ length: 46_000 }, (_, index) => index + 2);
    const chain = podProcesses(pids.map((pid) => `${pid} ${pid - 1} ${pid} S 1 1000 -`).reverse());
    const circle = podProcesses(pids.map((pid) => `${pid} ${pid + 1} ${pid} S 1 1000 -`));
    circle.push(...podProcesses(['46002 2 46002 S 1 1000 -']));
    const began = process.cpuUsage();
    for (const all of [chain, circle]) {
      expect(sessionProcesses(all, looking).length).toBeLessThan(pids.length + 2);
      const belongs = belongsToOpenConnection(new Set(), all);
      expect(all.filter(belongs)).toEqual([]);
      expect(all.filter(endsWithTerminal(all)).length).toBeLessThan(2);
    }
    // Root waits for it. If each process asked all that are above it, it would take minutes.
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1e6).toBeLessThan(2);
  });

  it('is not parsed from other output of the pod', () => {
    expect(podProcesses(['swept 0 0 0', '1 0 1 S 5', '-1 0 1 S 5 -', ''])).toEqual([]);
  });
});
