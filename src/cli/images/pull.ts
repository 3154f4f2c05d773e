import { resolve } from 'node:path';
import { usageError } from '../../system/errors/usage-error.ts';
import type { NameMove } from '../../setup/images/image-names.ts';
import type { PullOutcome, PullPlan } from '../../setup/images/pull-images.ts';
import { escapedForTerminal } from '../../log.ts';
import { assertRoot } from '../../system/as-user.ts';
import { command } from '../kit/command.ts';
import { type ArgumentsOf, flag, text, words } from '../kit/options.ts';
import { asker } from '../kit/questions.ts';
import { loadSsh, configDirOption } from '../kit/site-options.ts';
import { type Terminal, reportError, reportErrors, writeIdle } from '../kit/terminal.ts';
import { withProgress } from '../kit/progress.ts';
import { parseSeconds } from '../kit/parse-seconds.ts';

const helpOf = 'berth images pull';

const positionals = { image: words('image', 'NAME[:TAG][@sha256:…]') };

const options = {
  ...configDirOption,
  'auth-file': text('file', 'Registry credentials: config.json of Docker or auth.json of Podman'),
  'from-archive': text('file', 'Load a Docker or OCI archive instead of pulling from a registry'),
  timeout: text('TIME', 'Time limit for all images together', { default: '1h' }),
  yes: flag('With --from-archive: do not ask before names move to images of the archive'),
  'dry-run': flag('Print what would be pulled or loaded, without asking a registry'),
};

/** `berth images pull` */
export const pullCommand = command({
  command: 'pull [image..]',
  describe: 'Pull the images of all profiles, or the named ones, into the shared store',
  positionals,
  options,
  needs: { '--yes': '--from-archive' },
  without: { '--auth-file': ['--from-archive'] },
  examples: [
    ['berth images pull', 'Pull the images of all profiles, as berth-images.timer does'],
    ['berth images pull --from-archive site.tar', 'Load images without a registry'],
  ],
  epilogue:
    'Sessions are not interrupted. An image that is named by its digest and is in the store is not pulled again. Exit status: the highest exit status of all images.',
  run: pull,
});

async function pull(
  args: ArgumentsOf<typeof options & typeof positionals>,
  terminal: Terminal,
): Promise<void> {
  assertRoot();
  const { image: named = [], 'from-archive': archive, timeout } = args;
  const { planPull, pullImages } = await import('../../setup/images/pull-images.ts');
  const { loadArchive, planLoad } = await import('../../setup/images/load-archive.ts');
  const { wantedImages } = await import('../../setup/images/wanted-images.ts');
  const { readImageArchive } = await import('../../setup/images/image-archive.ts');
  const timeoutMs = parseSeconds(timeout, 'timeout') * 1000;
  const site = await loadSsh(args);
  const wanted = wantedImages(site.profiles);
  const images = named.length > 0 ? named : wanted.map(({ image }) => image);
  await assertReferences(images);
  // Those of profiles are not asked for then.
  const broken = named.length > 0 ? [] : site.broken.values();
  const authFile = args['auth-file'] ?? site.registryAuth;
  const options = {
    env: terminal.env,
    timeoutMs,
    ...(authFile !== undefined && { authFile: resolve(authFile) }),
  };
  if (archive !== undefined && named.length > 1)
    throw usageError(helpOf, '--from-archive takes one IMAGE, or none');
  // Podman tries all formats, and its message has an error for each.
  const found = archive === undefined ? undefined : await readImageArchive(resolve(archive));
  if (args['dry-run']) {
    reportPlan(found === undefined ? planPull(site, images) : planLoad(found, named), terminal);
    reportErrors(terminal, broken);
    return;
  }
  if (archive === undefined && options.authFile !== undefined) {
    const { assertRegistryAuth } = await import('../../setup/images/pull-images.ts');
    assertRegistryAuth(options.authFile);
  }
  let current = archive ?? '';
  const outcomes = await withProgress(
    terminal,
    () => current && `pulling ${current}`,
    async () => {
      if (found === undefined)
        return pullImages(site, images, { ...options, begins: (image) => (current = image) });
      const [image] = named;
      const confirm = (moves: readonly NameMove[]): Promise<boolean> => {
        current = '';
        return confirmMoves(moves, args.yes, terminal);
      };
      const source = { file: found.file, image };
      return loadArchive(site, source, wanted, { ...options, confirm });
    },
  );
  reportPull(outcomes, terminal);
  reportErrors(terminal, broken);
}

/** Refuses transports (`dir:`, `docker-archive:`) and options. */
async function assertReferences(images: readonly string[]): Promise<void> {
  const { imageProblem } = await import('../../config/schema/profile/image-reference.ts');
  for (const image of images) {
    const problem = imageProblem(image);
    if (problem !== undefined) throw usageError(helpOf, `${image} ${problem}`);
  }
}

const noImages = 'no profile names an image';

/** Writes the result of `berth images pull`; errors go to standard error. */
function reportPull(outcomes: readonly PullOutcome[], terminal: Terminal): void {
  if (outcomes.length === 0) writeIdle(noImages, false, terminal);
  for (const outcome of outcomes) {
    if ('error' in outcome) reportError(terminal, outcome.error);
    else if (terminal.stdout.isTTY === true)
      terminal.stdout.write(`${outcome.image}: ${outcome.did} (${outcome.id.slice(0, 12)})\n`);
  }
}

const wouldDo: Readonly<Record<PullPlan['would'], string>> = {
  pull: 'would be pulled',
  'check-registry': 'in the store; a pull would ask the registry for a newer one',
  nothing: 'in the store and named by digest: nothing to do',
  load: 'would be loaded',
};

/** Writes what `berth images pull` would do. */
function reportPlan(plans: readonly PullPlan[], { stdout }: Terminal): void {
  if (plans.length === 0) stdout.write(`${noImages}\n`);
  else
    for (const { image, id, would } of plans) {
      const known = id === undefined ? '' : ` (${id.slice(0, 12)})`;
      stdout.write(`${escapedForTerminal(image)}: ${wouldDo[would]}${known}\n`);
    }
}

/** Shows the names that an archive would move, and asks on a terminal. @returns false without one */
async function confirmMoves(
  moves: readonly NameMove[],
  yes: boolean,
  terminal: Terminal,
): Promise<boolean> {
  if (yes) return true;
  const asking = asker('berth images pull', { yes }, terminal);
  if (!asking.asks) return false;
  const { moveText } = await import('../../setup/images/image-names.ts');
  const lines = moves.map((move) => `  ${escapedForTerminal(moveText(move))}\n`);
  terminal.stderr.write(`\r\u001b[KThese tags would point to other images:\n${lines.join('')}`);
  return await asking.confirm('Replace them?');
}
