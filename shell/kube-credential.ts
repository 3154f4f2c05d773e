import { writeSync } from 'node:fs';
import { answerKubectl } from '../src/credentials/answer-kubectl.ts';
import { asBerthError, BerthError } from '../src/system/errors/berth-error.ts';
import { escapeControl } from '../src/log.ts';

const now = (): number => Date.now() / 1000;

async function main(): Promise<void> {
  const uid = process.geteuid?.() ?? 0;
  const answer = await answerKubectl(
    {
      execInfo: process.env.KUBERNETES_EXEC_INFO,
      args: process.argv.slice(2),
      home: process.env.HOME ?? '',
      uid,
      now,
    },
    async (path, cache) => {
      // Loaded only when the token has expired; other calls use node:fs alone.
      const { renewCachedCredential } =
        await import('../src/credentials/renew-cached-credential.ts');
      const { httpsRequest } = await import('../src/system/https-request.ts');
      return await renewCachedCredential(path, cache, { https: httpsRequest, uid, now });
    },
  );
  try {
    // Not process.stdout, whose initialization takes longer than all of the above.
    writeSync(1, `${answer}\n`);
  } catch (cause) {
    throw new BerthError(
      'output-failed',
      'the credential could not be written to standard output',
      {
        hint: 'It is closed, or its reader has ended.',
        cause,
      },
    );
  }
}

main().catch((thrown: unknown) => {
  const { message, code, hint, exitCode } = asBerthError(thrown, 'getting a credential');
  writeSync(2, `kube-credential: ${escapeControl(message)} [${code}]. ${escapeControl(hint)}\n`);
  process.exitCode = exitCode;
});
