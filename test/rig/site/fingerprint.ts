import { execa } from 'execa';

/** Names, modes, sizes, times of change and contents of everything below a folder. */
export async function fingerprint(folder: string): Promise<string> {
  const tree = await execa('find', [folder, '-printf', '%p %y %m %U:%G %s %T@ %C@\n']);
  const files = await execa('find', [folder, '-type', 'f', '-exec', 'sha256sum', '{}', '+']);
  return [tree.stdout, files.stdout].map((out) => out.split('\n').sort().join('\n')).join('\n');
}
