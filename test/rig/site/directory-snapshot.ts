import { execa } from 'execa';

/** Names, modes, owners, sizes, timestamps and checksums of everything in a directory, to compare it before and after. */
export async function fingerprint(directory: string): Promise<string> {
  const tree = await execa('find', [directory, '-printf', '%p %y %m %U:%G %s %T@ %C@\n']);
  const files = await execa('find', [directory, '-type', 'f', '-exec', 'sha256sum', '{}', '+']);
  return [tree.stdout, files.stdout].map((out) => out.split('\n').sort().join('\n')).join('\n');
}
