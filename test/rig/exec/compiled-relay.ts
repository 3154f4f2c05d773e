import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { optionsOf } from '../../../scripts/outputs.ts';
import { singleFile } from '../../../scripts/single-file.ts';

/** A program of the relay as the outputs are made: one file, with nothing in it that is not used. */
export class CompiledRelay {
  readonly file: string;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.file = join(folder, 'relay.cjs');
  }

  static async make(program = 'test/rig/exec/relay-program.ts'): Promise<CompiledRelay> {
    const compiled = new CompiledRelay(await mkdtemp(join(tmpdir(), 'berth-relay-')));
    const { text } = await singleFile(program, {
      banner: '#!/usr/bin/env node',
      define: { BERTH_BUILD: '"test"' },
    });
    await writeFile(compiled.file, text);
    return compiled;
  }

  /** Words that begin its command line, as the outputs' own first line has them. */
  get words(): string[] {
    return [process.execPath, ...optionsOf('shell/login.ts'), this.file];
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
