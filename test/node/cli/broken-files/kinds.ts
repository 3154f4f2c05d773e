/**
 * Who reads a file, and so what is broken in it. `text` may have any contents, `list` may be a pipe, too, and `key`
 * is the text of a key.
 */
export type Format =
  'berth-yaml' | 'ood-yaml' | 'kubeconfig' | 'env' | 'json' | 'text' | 'list' | 'key';

/** Commands that read a file, and what comes of it if the file is broken. */
export interface Rows {
  readonly file: string;
  readonly format: Format;
  /** Exit status; default 78, the configuration is wrong. */
  readonly status?: number;
  /** The command goes on without the file, and need not name it. */
  readonly goesOn?: true;
  readonly commands: readonly string[];
}

interface Kind {
  /** Shell commands that break the file `$f`. */
  readonly make: string;
  readonly in: readonly Format[];
  /** Line of the mistake. */
  readonly line?: number;
}

const yaml = ['berth-yaml', 'ood-yaml', 'kubeconfig'] as const;
const all = [...yaml, 'env', 'json', 'text'] as const;

/** What can be wrong with a file. */
export const kinds: Readonly<Record<string, Kind>> = {
  'a tab as indentation': { make: String.raw`printf 'a:\n\tb: 1\n' >$f`, in: yaml, line: 2 },
  'a key twice': { make: String.raw`printf 'a: 1\na: 2\n' >$f`, in: ['berth-yaml'], line: 2 },
  'an open bracket': { make: String.raw`printf 'b: 2\na: [1, 2\n' >$f`, in: yaml, line: 3 },
  'a word': { make: 'echo hello >$f', in: [...yaml, 'env', 'json', 'key'] },
  'a list': { make: 'echo "- a" >$f', in: [...yaml, 'env'] },
  'levels without end': {
    make: String.raw`head -c 200000 /dev/zero | tr '\0' '[' >$f`,
    in: [...yaml, 'json'],
  },
  'bytes that are no text': {
    make: String.raw`printf '\xff\xfe' >$f`,
    in: [...yaml, 'env', 'json', 'key'],
  },
  'a NUL': { make: String.raw`printf 'a: "\0"\n' >$f`, in: [...yaml, 'env', 'json', 'key'] },
  'a directory': { make: 'rm $f; mkdir $f', in: [...all, 'list'] },
  'a FIFO': { make: 'rm $f; mkfifo $f', in: all },
  'a link to itself': { make: 'rm $f; ln -s $f $f', in: [...all, 'list'] },
  'twenty mebibytes': { make: 'truncate -s 20M $f', in: all },
};
