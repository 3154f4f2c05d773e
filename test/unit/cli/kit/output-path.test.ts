import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  optionalOutputFile,
  outputDirectory,
  outputFile,
} from '../../../../src/cli/kit/output-path.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-output-path-'));
  await mkdir(join(directory, 'there'));
  await writeFile(join(directory, 'file'), '');
});
afterAll(() => rm(directory, { recursive: true }));

const usage = (message: string) =>
  expect.objectContaining({
    ...{ code: 'usage', exitCode: 64 },
    message: expect.stringContaining(message) as unknown,
  }) as unknown;

describe('a file that a command is told to write', () => {
  it('may be new or there', () => {
    for (const name of ['file', 'new'])
      expect(outputFile('--write', join(directory, name))).toBe(join(directory, name));
  });

  it.each([
    ['there', ' is a directory'],
    ['none/new', ': there is no directory '],
    ['file/new', ': there is no directory '],
  ])('%s is a mistake in the option', (name, message) => {
    const path = join(directory, name);
    expect(() => outputFile('--write', path)).toThrow(usage(`--write ${path}${message}`));
  });
});

describe('a directory that a command is told to write to', () => {
  it('may be new or there', () => {
    for (const name of ['there', 'new'])
      expect(outputDirectory('--to', join(directory, name))).toBe(join(directory, name));
  });

  it.each([
    ['file', ' is not a directory'],
    ['none/new', ': there is no directory '],
  ])('%s is a mistake in the option', (name, message) => {
    const path = join(directory, name);
    expect(() => outputDirectory('--to', path)).toThrow(usage(`--to ${path}${message}`));
  });
});

describe('--textfile', () => {
  const metricsFile = (value?: string) => optionalOutputFile('--textfile', value);

  it('after a - is only for a host with node_exporter', () => {
    expect(metricsFile(undefined)).toBeUndefined();
    expect(metricsFile(`-${directory}/none/berth.prom`)).toBeUndefined();
    expect(metricsFile(`-${directory}/berth.prom`)).toBe(`${directory}/berth.prom`);
    expect(() => metricsFile(`-${directory}/there`)).toThrow(
      usage(`--textfile ${directory}/there is a directory`),
    );
    expect(() => metricsFile(`${directory}/none/berth.prom`)).toThrow(usage('--textfile'));
  });
});
