import { imageProblem } from '../../config/schema/profile/image-reference.ts';
import { accountState } from '../../init/account-state.ts';
import type { ImageArchive } from '../../images/image-archive.ts';
import {
  addressProblem,
  allAddresses,
  hasSeveralAddresses,
  hostAddresses,
} from '../../init/host-addresses.ts';
import type { PresentAnswers } from '../../init/login-node-profile.ts';
import { group } from '../../init/login-node-setup.ts';
import { kindModes } from '../../sshd-kinds/rules/kind-config.ts';
import { hasSystemd } from '../../system/systemd-units.ts';
import { type Question, splitAnswer, yesOrNo } from '../kit/questions.ts';

/**
 * What an admin of a login node is asked.
 *
 * @param asks whether there is an admin to ask: the address is asked for only where there are several
 * @param pods the questions about the cluster of sessions in pods; none for containers
 */
export function loginNodeQuestions(
  present: PresentAnswers,
  archive: ImageArchive | undefined,
  asks: boolean,
  pods: readonly Question[],
): Question[] {
  const address: Question = {
    option: 'address',
    text: `Addresses for the sessions' own sshd, separated by spaces (this host has ${hostAddresses().join(', ')}), or ${allAddresses}`,
    fallback: present.addresses.length === 0 ? allAddresses : present.addresses.join(' '),
    problem: addressesProblem,
    asked: asks && hasSeveralAddresses(),
  };
  return [
    {
      ...{ option: 'image', text: 'Image of the sessions' },
      ...{ ...defaultImage(present.image, archive), problem: imageProblem },
    },
    {
      ...{ option: 'user', text: 'Accounts that may log in, separated by spaces', fallback: '' },
      problem: async (answer) => {
        const names = splitAnswer(answer);
        if (!names.every((name) => /^[\w.@-]+\$?$/.test(name))) return 'must be names of accounts';
        await accountState(names, group);
        return undefined;
      },
    },
    {
      ...{ option: 'port', text: "Port of the sessions' own sshd, best below 1024" },
      fallback: present.port,
      problem: (answer) =>
        /^\d{1,5}$/.test(answer) && Number(answer) >= 1 && Number(answer) <= 65_535
          ? undefined
          : 'must be a port from 1 to 65535',
    },
    address,
    {
      option: 'mode',
      text: 'login-shell (Berth becomes the shell of the accounts) or forced',
      fallback: present.mode,
      problem: (answer) =>
        kindModes.some((mode) => mode === answer) ? undefined : 'must be login-shell or forced',
    },
    ...(pods.length === 0
      ? [{ option: 'pull', text: 'Pull the image now', fallback: 'yes', problem: yesOrNo }]
      : pods),
    {
      ...{ option: 'start', text: 'Start the sshd and the timers', fallback: 'yes' },
      ...{ problem: yesOrNo, asked: hasSystemd() },
    },
  ];
}

/** The archive's only image, or the present one. */
function defaultImage(present: string, archive: ImageArchive | undefined) {
  if (archive === undefined || archive.names.includes(present)) return { fallback: present };
  const [name, another] = archive.names;
  return name === undefined || another !== undefined ? {} : { fallback: name };
}

function addressesProblem(answer: string): string | undefined {
  if (answer === allAddresses) return undefined;
  const problems = splitAnswer(answer).map((address) => {
    const problem = addressProblem(address);
    if (problem === undefined || address === answer) return problem;
    return `${address} ${problem}`;
  });
  return problems.length === 0
    ? `must be IP addresses of this host, or ${allAddresses}`
    : problems.find((problem) => problem !== undefined);
}
