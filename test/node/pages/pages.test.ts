import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../rig/free-ports.ts';
import { nginxExporter } from '../../rig/pages/build.ts';
import { Chromium } from '../../rig/pages/chromium.ts';
import { Nginx } from '../../rig/pages/nginx.ts';
import { siteFiles } from '../../rig/pages/site-files.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';

const pages = ['index.html', 'profiles.html', 'status.html', 'news.html'] as const;

describe('the pages of berth render pages', () => {
  let directory: string;
  let nginx: Nginx;
  let browser: Chromium;
  let exporterProgram: string;

  // Time to build it, on a busy machine.
  beforeAll(async () => {
    exporterProgram = await nginxExporter();
  }, 1_800_000);
  beforeAll(async () => {
    await ensurePackages(['nginx-light', 'chromium', 'fonts-dejavu-core']);
    directory = await mkdtemp(join(tmpdir(), 'pages-'));
    const { args } = await siteFiles(directory);
    await execa(join(installDirectory, 'berth'), ['render', 'pages', `${directory}/out`, ...args]);
    nginx = await Nginx.start(join(directory, 'out'));
    browser = await Chromium.start();
  });
  afterAll(async () => {
    await browser.stop();
    await nginx.stop();
    await rm(directory, { recursive: true });
  });

  it.each(pages)('%s needs no script and no sideways scrolling on a phone', async (page) => {
    await browser.open(`${nginx.url}/${page}`, { width: 375, script: false });
    expect(await browser.contentWidth()).toBe(375);
    const { stdout: text } = await execa('curl', ['-sS', `${nginx.url}/${page}`]);
    expect(text).not.toMatch(/<script|\son\w+=|javascript:[^)]*"/i);
    expect(text).toContain('<h1>');
  });

  it.each(pages.flatMap((page) => [true, false].map((dark) => ({ page, dark }))))(
    '$page has nothing that axe objects to, dark: $dark',
    async ({ page, dark }) => {
      for (const width of [375, 1280]) {
        await browser.open(`${nginx.url}/${page}`, { width, dark });
        const found = await browser.evaluate(
          `${axe.source};axe.run(document, { resultTypes: ['violations', 'incomplete'] }).then(({ violations, incomplete, passes }) =>
            ({ passed: passes.length, found: [...violations, ...incomplete].map(({ id, nodes }) => [id, nodes[0].html]) }))`,
        );
        expect(found).toEqual({ passed: expect.any(Number) as number, found: [] });
        if (process.env.BERTH_PICTURES !== undefined)
          await writeFile(
            join(process.env.BERTH_PICTURES, `${page}-${width}-${dark ? 'dark' : 'light'}.png`),
            await browser.picture(),
          );
      }
    },
  );

  it('are served as in the pod: nothing but the pages, with headers that browsers obey', async () => {
    const get = (path: string) => execa('curl', ['-sSi', `${nginx.url}${path}`]);
    const { stdout: index } = await get('/');
    expect(index).toMatch(/^HTTP\/1\.1 200/);
    expect(index).toMatch(/^content-type: text\/html; charset=utf-8\r?$/im);
    expect(index).toMatch(/^x-content-type-options: nosniff\r?$/im);
    expect(index).toMatch(
      /^content-security-policy: default-src 'none'; style-src 'self'; frame/im,
    );
    for (const path of ['/.berth-site.json', '/none.html', '/stub_status'])
      expect((await get(path)).stdout).toMatch(/^HTTP\/1\.1 404/);
  });

  it('are counted by the exporter', async () => {
    const { port } = await freePorts(['port']);
    const exporter = await startExporter(exporterProgram, nginx.status, port);
    try {
      const scraped = async (): Promise<number> => {
        const { stdout } = await execa('curl', ['-sS', `http://127.0.0.1:${port}/metrics`]);
        expect(stdout).toMatch(/^nginx_up 1$/m);
        return Number(/^nginx_http_requests_total (\d+)$/m.exec(stdout)?.[1]);
      };
      const before = await scraped();
      for (let request = 0; request < 5; request += 1) await execa('curl', ['-sS', nginx.url]);
      // The scrape itself is a request, too.
      expect(await scraped()).toBe(before + 6);
    } finally {
      const exited = once(exporter, 'exit');
      exporter.kill();
      await exited;
    }
  });
}, 300_000);

/** With the argument of the component. */
async function startExporter(program: string, status: string, port: number): Promise<ChildProcess> {
  const child = spawn(
    program,
    [`--nginx.scrape-uri=${status}`, `--web.listen-address=127.0.0.1:${port}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const said: string[] = [];
  // Not `for await`: leaving it would close the pipe, and the next line that the exporter writes would end it.
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said.push(chunk.toString());
      if (said.join('').includes('Listening on')) resolve();
    });
    child.on('exit', () => reject(new Error(`the exporter ended: ${said.join('')}`)));
  });
  return child;
}
