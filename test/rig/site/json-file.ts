import { readFile, rename, writeFile } from 'node:fs/promises';

/** Reads a JSON file. @returns undefined if it does not exist */
export async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : JSON.parse(text);
}

/** Writes a JSON file with mode 0600. The write is atomic, because other processes read the file. */
export async function writeJson(file: string, value: unknown): Promise<void> {
  const unfinished = `${file}.new`;
  await writeFile(unfinished, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(unfinished, file);
}
