import { resolve } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import { escapedLines } from '../kit/text.ts';
import { command } from '../kit/command.ts';
import { type ArgumentsOf, flag, list, text } from '../kit/options.ts';
import type { Terminal } from '../kit/terminal.ts';

const options = {
  ca: text('file', "The CA's private key", { demandOption: true }),
  agent: flag('--ca is a public key, and ssh-agent has the private one, also on a token'),
  'host-key': list('file', 'Host keys; files with the public half are enough', {
    demandOption: true,
  }),
  principal: list('HOST', 'Names that clients type', { demandOption: true }),
  validity: text('TIME', 'How long the certificate is valid: a number and h, d or w', {
    default: '52w',
  }),
  identity: text('TEXT', 'Key ID for logs [default: the first name]'),
  force: flag('Renew certificates of which more than a third of the time is left'),
  'dry-run': flag('Sign, print which certificates would be written, and write none'),
};

/** `berth sshd certify`: certificates of host keys. */
export const certifyCommand = command({
  command: 'certify',
  describe: 'Sign host keys with a CA, so that clients know all login nodes by one key',
  options,
  examples: [
    [
      'berth sshd certify --ca ca --host-key login1.pub --principal login.example.org login1.example.org',
      'Write login1-cert.pub for a host key that was copied to the host of an admin',
    ],
  ],
  epilogue:
    "Writes KEY-cert.pub beside each key and prints the line for users' known_hosts. Needs no root. Login nodes need the certificate only, never the CA's private key.",
  run,
});

async function run(args: ArgumentsOf<typeof options>, terminal: Terminal): Promise<void> {
  const { certifyHostKeys } = await import('../../setup/sshd-kinds/certify.ts');
  const certified = await certifyHostKeys({
    ca: resolve(args.ca),
    agent: args.agent,
    hostKeys: args['host-key'].map((key) => resolve(key)),
    principals: args.principal,
    validitySeconds: validityOf(args.validity),
    identity: args.identity ?? args.principal[0] ?? '',
    force: args.force,
    dryRun: args['dry-run'],
    now: terminal.now(),
    env: terminal.env,
  });
  const dryRun = args['dry-run'];
  const next = dryRun ? [] : nextSteps;
  const keys = certified.keys.map(({ file, change, reason, certificate: { until } }) => {
    const why = reason === undefined ? '' : ` (${reason})`;
    const end = Number.isFinite(until) ? `valid until ${new Date(until).toISOString()}` : 'valid';
    const did = dryRun && change !== 'kept' ? `would be ${change}` : change;
    return `${file}: ${did}${why}, ${end}`;
  });
  const knownHosts = [
    "line for users' known_hosts or /etc/ssh/ssh_known_hosts:",
    certified.knownHostsLine,
  ];
  const lines = [...keys, ...knownHosts, ...next.map((step) => `next: ${step}`)];
  terminal.stdout.write(escapedLines(lines));
}

/** On each login node. */
const nextSteps = [
  "copy each login node's certificate to that node, beside its host key (/etc/ssh/ssh_host_ed25519_key-cert.pub)",
  'add `HostCertificate PATH` to the file of each sshd there; `berth sshd new` writes the line if the certificate is there',
  'reload each sshd: systemctl reload berth-sshd@NAME',
];

const units: Readonly<Record<string, number>> = { h: 3600, d: 86_400, w: 604_800 };

/** In seconds. An hour at least: a third of it must be longer than clocks differ. */
function validityOf(text: string): number {
  const [, count, unit] = /^([0-9]{1,6})([hdw])$/.exec(text) ?? [];
  const seconds = Number(count) * (units[unit ?? ''] ?? Number.NaN);
  if (seconds >= 3600 && seconds <= 20 * 52 * 604_800) return seconds;
  throw new BerthError('usage', `--validity ${text}: must be a time from 1h to 1040w`, {
    hint: 'Write a number followed by h, d or w.',
  });
}
