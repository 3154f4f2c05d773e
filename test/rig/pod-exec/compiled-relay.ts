import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeOptionsFor } from '../../../scripts/outputs.ts';
import { singleFile } from '../../../scripts/single-file.ts';

/** A test program that is compiled to a single file like the outputs, for example relay-program.ts. */
export class CompiledRelay {
  readonly file: string;
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
    this.file = join(directory, 'relay.cjs');
  }

  static async make(program = 'test/rig/pod-exec/relay-program.ts'): Promise<CompiledRelay> {
    const compiled = new CompiledRelay(await mkdtemp(join(tmpdir(), 'berth-relay-')));
    const { text } = await singleFile(program, {
      banner: '#!/usr/bin/env node',
      define: { BERTH_BUILD: '"test"' },
    });
    await writeFile(compiled.file, text);
    return compiled;
  }

  /** The start of its command line, with the Node options of `shell/login`. */
  get argv(): string[] {
    return [process.execPath, ...nodeOptionsFor('shell/login.ts'), this.file];
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}
