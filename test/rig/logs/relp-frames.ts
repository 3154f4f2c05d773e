/** What a client sends by RELP: it opens a session, sends each message, and closes it (https://www.rsyslog.com/doc/relp.html). */
export function relpFrames(messages: readonly (string | Buffer)[]): Buffer {
  const offers = 'relp_version=0\nrelp_software=test\ncommands=syslog';
  const frames = [
    frame(1, 'open', offers),
    ...messages.map((message, at) => frame(at + 2, 'syslog', message)),
    frame(messages.length + 2, 'close', ''),
  ];
  return Buffer.concat(frames);
}

function frame(transaction: number, command: string, data: string | Buffer): Buffer {
  const bytes = Buffer.from(data as string);
  const space = bytes.length === 0 ? '' : ' ';
  const head = `${transaction} ${command} ${bytes.length}${space}`;
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from('\n')]);
}
