import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { ensurePackages } from '../site/debian-packages.ts';

/**
 * A program that forks and exits in a loop, so that the PIDs found in /proc are already gone. Three such
 * chains restart each other if one is killed by chance. It ignores SIGHUP, SIGTERM and SIGINT and runs in its
 * own session. Its argument is a file whose content changes while the program runs.
 */
const source = String.raw`
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
  signal(SIGHUP, SIG_IGN); signal(SIGTERM, SIG_IGN); signal(SIGINT, SIG_IGN);
  int file = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 24)) return 1;
  volatile long *lives = mmap(0, 24, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  long seen = 0;
  int mine = 0, silent = 0;
  if (fork()) _exit(0);
  setsid();
  for (;;) {
    int other = (mine + 1) % 3;
    lives[mine]++;
    if (lives[other] != seen) { seen = lives[other]; silent = 0; }
    else if (++silent > 200) {
      lives[other]++; silent = 0;
      if (!fork()) mine = other;
    }
    if (fork()) _exit(0);
  }
}`;

/** Compiles the program. @returns a static executable */
export async function buildForkChain(): Promise<Buffer> {
  await ensurePackages(['gcc', 'libc6-dev']);
  const directory = await mkdtemp(join(tmpdir(), 'berth-fork-chain-'));
  try {
    const program = join(directory, 'chain');
    await writeFile(`${program}.c`, source);
    await execa('gcc', ['-static', '-Os', '-o', program, `${program}.c`]);
    return await readFile(program);
  } finally {
    await rm(directory, { recursive: true });
  }
}
