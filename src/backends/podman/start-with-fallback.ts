import { asBerthError, type BerthError } from '../../errors/berth-error.ts';
import type { Logger } from '../../log.ts';
import { groupNamesOf } from '../../system/group-names.ts';
import { startContainer, type StartContainerInput } from './start-container.ts';

type Started = Awaited<ReturnType<typeof startContainer>>;

/**
 * Starts the container. If that fails, does what the profile's `on_failure` says: starts another image, or
 * gives a shell on the host to members of its groups. The log has the cause of the failure and what was
 * started instead.
 *
 * @throws {BerthError} the errors of `startContainer`, if the policy is `refuse` or the fallback image fails too
 */
export async function startWithFallback(
  input: StartContainerInput,
  log: Logger,
): Promise<Started | 'host-shell'> {
  try {
    return await startContainer(input);
  } catch (thrown) {
    const error = asBerthError(thrown, 'starting the container');
    return await instead(input, error, log);
  }
}

async function instead(
  input: StartContainerInput,
  error: BerthError,
  log: Logger,
): Promise<Started | 'host-shell'> {
  const { action, image, groups } = input.profile.failure;
  const fields = { profile: input.profile.name };
  if (action === 'fallback' && image !== undefined) {
    log.error(error, { ...fields, instead: image });
    return startContainer({ ...input, image });
  }
  if (action === 'host-shell' && groupNamesOf().some((group) => groups.includes(group))) {
    log.error(error, { ...fields, instead: 'a shell on the host' });
    return 'host-shell';
  }
  throw error;
}
