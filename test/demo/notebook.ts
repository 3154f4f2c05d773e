import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hubEnvironment } from '../rig/jupyterhub/hub-environment.ts';
import { siteDirectory } from '../rig/site/directories.ts';
import { readJson } from '../rig/site/json-file.ts';
import { assertRunning, startDetached, stopAll } from '../rig/site/processes.ts';
import { step } from '../rig/site/progress.ts';
import { addProcess, readProcesses } from '../rig/site/site-record.ts';
import type { Site } from '../rig/site/site.ts';
import { waitFor } from '../rig/wait-for.ts';
import type { Story } from './story.ts';

const person = 'alice';
/** The process that the site ends. */
const name = 'demo-notebook';
const program = new URL('notebook-host.ts', import.meta.url).pathname;

/** What notebook-host.ts has done. */
export interface Notebook {
  /** The notebook's URL. */
  readonly address: string;
  /** Milliseconds until the server was ready. */
  readonly startMs: number;
  readonly cell: { readonly code: string; readonly output: string };
  readonly read: { readonly command: string; readonly output: string };
  /** The command line with which the user logs in. */
  readonly ssh: string;
}

/** Shows a notebook with the identity and the home of ssh. It runs as long as the site. */
export async function notebook(story: Story): Promise<Notebook> {
  story.step(`${person} starts a notebook in a JupyterHub, and reads its file with ssh`);
  await hubEnvironment();
  const done = await step('starting a login node, a hub and a notebook', started);
  story.say('One profile for both, and the login of the portal:');
  story.command('root', 'berth render jupyterhub base --login oidc --client-id demo-hub …');
  story.say(`Her notebook was ready after ${done.startMs} ms. A cell:`);
  story.output(done.cell.code);
  story.output(done.cell.output);
  story.command(person, `ssh login '${done.read.command}'`);
  story.output(done.read.output);
  return done;
}

/** How to open the notebook, whose login is that of the identity provider. */
export function showNotebook(story: Story, site: Site, { address, ssh }: Notebook): void {
  story.say(`The notebook of ${person}, for a browser on this machine:`);
  story.output(`${address}\nlogin name ${person}, password ${person}-password`);
  story.say(`The browser warns of Keycloak's certificate: its CA is ${site.ca.file}.`);
  story.command('root', ssh);
}

/** Ends what an earlier demo has left running. */
export async function endNotebook(): Promise<void> {
  await stopAll((await readProcesses()).filter((one) => one.name === name));
}

async function started(): Promise<Notebook> {
  const directory = join(siteDirectory, name);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, `${process.pid}.json`);
  const host = await startDetached({
    ...{ name, directory, command: process.execPath },
    args: [...process.execArgv, program, person, file],
    env: process.env as Record<string, string>,
  });
  await addProcess(host);
  return waitFor(
    { what: `the notebook of ${person}`, timeoutMs: 300_000, alive: () => assertRunning(host) },
    async () => (await readJson(file)) as Notebook | undefined,
  );
}
