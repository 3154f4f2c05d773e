import type { OwnSession, OwnSessions } from '../../sessions/backends/own-session.ts';
import { ownSessionsIn } from '../../sessions/backends/own-sessions-in.ts';
import { backends } from '../../config/schema/profile/profile.ts';
import type { SessionContext } from '../../sessions/connections/state-paths.ts';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';

/**
 * All containers, pods and jobs of the user who runs this process. A backend that fails affects only its own.
 *
 * @param only these backends; default: all
 * @returns by name
 */
export async function ownSessions(
  site: SessionContext,
  user: User,
  only: readonly OwnSession['backend'][] = backends,
): Promise<OwnSessions> {
  const found = await Promise.all(
    only.map(async (backend) => {
      try {
        return await ownSessionsIn(backend, site, user);
      } catch (thrown) {
        return { sessions: [], failed: [asBerthError(thrown, 'listing what is yours')] };
      }
    }),
  );
  return {
    sessions: found
      .flatMap(({ sessions }) => sessions)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    failed: found.flatMap(({ failed }) => failed),
  };
}

/** The name with which `berth end` ends it, whatever else has its name: `podman/berth-base`. */
export function fullName({ backend, cluster, name }: OwnSession): string {
  return [backend, ...(cluster === undefined ? [] : [cluster]), name].join('/');
}

/**
 * What these words name: a name, a full name, or the number of a job.
 *
 * @throws {BerthError} `session-unknown`, `usage` for a name that several have
 */
export function sessionsNamed(
  all: readonly OwnSession[],
  words: readonly string[],
): readonly OwnSession[] {
  const named = words.map((word) => {
    const found = all.filter(
      (one) => one.name === word || fullName(one) === word || one.job?.id === word,
    );
    const [first, second] = found;
    if (first === undefined) throw unknown(word, all);
    if (second !== undefined)
      throw new BerthError('usage', `${word} is the name of ${found.length} of your sessions`, {
        forUser: true,
        hint: `Name it as one of: ${found.map(fullName).join(', ')}.`,
      });
    return first;
  });
  return [...new Set(named)];
}

function unknown(word: string, all: readonly OwnSession[]): BerthError {
  const names = all.map(({ name }) => name).join(', ');
  return new BerthError('session-unknown', `you have no container, pod or job ${word} here`, {
    forUser: true,
    hint: names === '' ? 'You have none at all.' : `You have: ${names}.`,
  });
}
