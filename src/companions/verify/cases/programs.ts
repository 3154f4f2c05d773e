import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { Case } from '../case.ts';
import { assertEqual, assertSuccess } from '../expect.ts';
import type { Client } from '../client.ts';

/** Programs that use ssh as their transport: rsync, sshfs, git, tar, ssh-copy-id, Ansible. */
export const programs: readonly Case[] = [
  {
    name: 'rsync: upload, incremental update with --delete, download',
    programs: { rsync: 'rsync' },
    run: async (client) => {
      await client.requireRemotePrograms('rsync');
      const directory = client.localPath('rsync');
      await mkdir(`${directory}/sub`, { recursive: true });
      const content = randomBytes(2_000_000);
      await writeFile(`${directory}/sub/a b`, content);
      await writeFile(`${directory}/old`, 'x');
      const there = `${client.destination}:${client.remoteDirectory}/rsync/`;
      await rsync(client, [`${directory}/`, there]);
      await client.runLocal('rm', [`${directory}/old`]);
      await writeFile(`${directory}/sub/new`, 'y');
      const output = await rsync(client, ['--delete', '--itemize-changes', `${directory}/`, there]);
      assertEqual(
        'changes',
        output
          .match(/^[*<>]\S+ +\S.*$/gm)
          ?.map((line) => line.split(/ +/)[1])
          .sort(),
        ['old', 'sub/new'],
      );
      await rsync(client, [there, `${client.localPath('rsync-back')}/`]);
      assertEqual(
        'the same bytes come back',
        (await readFile(client.localPath('rsync-back/sub/a b'))).equals(content),
        true,
      );
    },
  },
  {
    name: 'sshfs: the remote home can be mounted',
    programs: { sshfs: 'sshfs', fusermount3: 'fuse3' },
    run: async (client) => {
      const mountPoint = client.localPath('mounted');
      await mkdir(mountPoint);
      const options = ['-p', String(client.target.port), ...client.sshOptions];
      const from = `${client.destination}:${client.remoteDirectory}`;
      assertSuccess('sshfs', await client.runLocal('sshfs', [...options, from, mountPoint]));
      try {
        const content = randomBytes(1_000_000);
        await writeFile(`${mountPoint}/through-sshfs`, content);
        assertEqual(
          'the same bytes come back',
          (await readFile(`${mountPoint}/through-sshfs`)).equals(content),
          true,
        );
        await client.localOutput('mv', [`${mountPoint}/through-sshfs`, `${mountPoint}/moved`]);
      } finally {
        await client.runLocal('fusermount3', ['-u', mountPoint]);
      }
      assertEqual(
        'there',
        await client.remoteOutput(`wc -c <${client.remoteDirectory}/moved`),
        '1000000\n',
      );
    },
  },
  {
    name: 'git: clone, push, fetch, and a rejected push',
    programs: { git: 'git' },
    run: async (client) => {
      await client.requireRemotePrograms('git');
      await client.remoteOutput(
        `git init -q --bare -b main ${client.remoteDirectory}/repository.git`,
      );
      const { host, port, user } = client.target;
      const url = `ssh://${user}@${host}:${port}/~/${client.remoteDirectory}/repository.git`;
      const one = await cloned(client, url, 'one');
      await writeFile(client.localPath('one/file'), randomBytes(500_000));
      await one(['add', 'file']);
      await one(['commit', '-q', '-m', 'first']);
      await one(['push', '-q', 'origin', 'HEAD:main']);
      const two = await cloned(client, url, 'two');
      await one(['commit', '-q', '--allow-empty', '-m', 'second']);
      await one(['push', '-q', 'origin', 'HEAD:main']);
      await two(['fetch', '-q']);
      assertEqual('log', await two(['log', '--format=%s', 'origin/main']), 'second\nfirst\n');
      await two(['commit', '-q', '--allow-empty', '-m', 'late']);
      const refused = await two(['push', '-q', 'origin', 'HEAD:main']).catch(
        (error: unknown) => error,
      );
      assertEqual(
        'refused',
        refused instanceof Error && refused.message.includes('rejected'),
        true,
      );
    },
  },
  {
    name: 'tar through a pipe: upload and download',
    run: async (client) => {
      const directory = client.localPath('tar');
      await mkdir(directory);
      const content = randomBytes(4_000_000);
      await writeFile(`${directory}/content`, content);
      const ssh = client.sshArgv.map((arg) => `'${arg}'`).join(' ');
      const script = [
        'set -e -o pipefail',
        `tar -C ${directory} -cz . | ${ssh} 'mkdir -p ${client.remoteDirectory}/tar && tar -C ${client.remoteDirectory}/tar -xz'`,
        `mkdir ${directory}-back`,
        `${ssh} 'tar -C ${client.remoteDirectory}/tar -c .' | tar -C ${directory}-back -x`,
      ];
      assertSuccess('tar', await client.runLocal('bash', ['-c', script.join('\n')]));
      assertEqual(
        'the same bytes come back',
        (await readFile(`${directory}-back/content`)).equals(content),
        true,
      );
    },
  },
  {
    name: 'ssh-copy-id: login with a newly copied key',
    run: async (client) => {
      await client.localOutput('ssh-keygen', [
        '-q',
        '-t',
        'ed25519',
        '-N',
        '',
        '-f',
        client.localPath('second'),
      ]);
      const { port } = client.target;
      const options = [
        '-F',
        '/dev/null',
        '-o',
        `UserKnownHostsFile=${client.localPath('.ssh/known_hosts')}`,
      ];
      await client.restoring('.ssh/authorized_keys', async () => {
        const idArgs = ['-f', '-i', client.localPath('second.pub'), '-p', String(port)];
        const withOldKey = ['-o', `IdentityFile=${client.localPath('key')}`, '-o', 'BatchMode=yes'];
        const copied = await client.runLocal('ssh-copy-id', [
          ...idArgs,
          ...withOldKey,
          ...options,
          client.destination,
        ]);
        assertSuccess('ssh-copy-id', copied);
        const newKey = [
          '-i',
          client.localPath('second'),
          '-o',
          'IdentitiesOnly=yes',
          '-o',
          'BatchMode=yes',
        ];
        const login = await client.runLocal('ssh', [
          ...options,
          ...newKey,
          '-p',
          String(port),
          client.destination,
          'echo in',
        ]);
        assertEqual(
          'login',
          assertSuccess('ssh with the new key', login).stdout.toString(),
          'in\n',
        );
      });
    },
  },
  {
    name: 'Ansible with pipelining: facts, a command, a file',
    programs: { 'ansible-playbook': 'ansible-core' },
    timeoutMs: 180_000,
    run: (client) => ansible(client, 'True'),
  },
  {
    name: 'Ansible without pipelining: modules are copied by sftp',
    timeoutMs: 180_000,
    programs: { 'ansible-playbook': 'ansible-core' },
    run: (client) => ansible(client, 'False'),
  },
];

async function rsync(client: Client, args: readonly string[]): Promise<string> {
  const [ssh, ...rest] = client.sshArgv.slice(0, -1);
  const transport = [ssh, ...rest].join(' ');
  return assertSuccess(
    'rsync',
    await client.runLocal('rsync', ['-a', '-e', transport, ...args]),
  ).stdout.toString();
}

/** Clones the repository. @returns a function that runs git in the clone */
async function cloned(client: Client, url: string, name: string) {
  const env = {
    GIT_SSH_COMMAND: ['ssh', ...client.sshOptions].join(' '),
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  };
  assertSuccess(
    'clone',
    await client.runLocal('git', ['clone', '-q', url, client.localPath(name)], { env }),
  );
  return async (args: readonly string[]): Promise<string> => {
    const gitArgs = ['-C', client.localPath(name), ...args];
    return assertSuccess(
      `git ${args.join(' ')}`,
      await client.runLocal('git', gitArgs, { env }),
    ).stdout.toString();
  };
}

async function ansible(client: Client, pipelining: 'True' | 'False'): Promise<void> {
  await client.requireRemotePrograms('python3');
  const { host, port, user } = client.target;
  const inventory = await client.writeLocal(
    'inventory',
    `node ansible_host=${host} ansible_port=${port} ansible_user=${user} ansible_python_interpreter=/usr/bin/python3\n`,
  );
  const file = `${client.remoteDirectory}/ansible-${pipelining}`;
  const playbook = await client.writeLocal(
    'playbook.yml',
    `- hosts: node
  gather_facts: false
  tasks:
    - ansible.builtin.setup: { gather_subset: [min] }
    - ansible.builtin.command: echo said by a command
      register: said
    - ansible.builtin.copy: { content: "{{ said.stdout }} of {{ ansible_user_id }}", dest: "~/${file}" }
`,
  );
  const control = [
    '-o',
    'ControlMaster=auto',
    '-o',
    `ControlPath=${client.localPath('ansible.mux')}`,
  ];
  const env = {
    ANSIBLE_PIPELINING: pipelining,
    // Ansible's own default: tasks share a connection.
    ANSIBLE_SSH_ARGS: [...client.sshOptions, ...control, '-o', 'ControlPersist=60s'].join(' '),
    ANSIBLE_HOST_KEY_CHECKING: 'True',
    ANSIBLE_LOCAL_TEMP: client.localPath('ansible'),
  };
  const played = await client.runLocal('ansible-playbook', ['-i', inventory, playbook], {
    env,
    timeout: 170_000,
  });
  await client.ssh([...control, '-O', 'exit']);
  assertSuccess('ansible-playbook', played);
  assertEqual('content', await client.remoteOutput(`cat ${file}`), `said by a command of ${user}`);
}
