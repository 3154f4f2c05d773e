/** What a failed test needs of a login node; each test file loads this, and only some start a login node. */
interface RunningHost {
  readonly name: string;
  log(): Promise<string>;
}

/** All login nodes of this test file that were not stopped. */
export const runningHosts = new Set<RunningHost>();
