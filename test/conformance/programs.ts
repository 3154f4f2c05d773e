import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { same, succeeded, type Case } from './case.ts';
import type { Client } from './client.ts';

/** Programs that use ssh as their transport. */
export const programs: readonly Case[] = [
  {
    name: 'rsync: both ways, changes only, --delete',
    packages: ['rsync'],
    run: async (client) => {
      await client.needsRemote('rsync');
      const directory = client.path('rsync');
      await mkdir(`${directory}/sub`, { recursive: true });
      const content = randomBytes(2_000_000);
      await writeFile(`${directory}/sub/a b`, content);
      await writeFile(`${directory}/old`, 'x');
      const there = `${client.destination}:${client.remote}/rsync/`;
      await rsync(client, [`${directory}/`, there]);
      await client.run('rm', [`${directory}/old`]);
      await writeFile(`${directory}/sub/new`, 'y');
      const said = await rsync(client, ['--delete', '--itemize-changes', `${directory}/`, there]);
      same(
        'changes',
        said
          .match(/^[*<>]\S+ +\S.*$/gm)
          ?.map((line) => line.split(/ +/)[1])
          .sort(),
        ['old', 'sub/new'],
      );
      await rsync(client, [there, `${client.path('rsync-back')}/`]);
      same('bytes', (await readFile(client.path('rsync-back/sub/a b'))).equals(content), true);
    },
  },
  {
    name: 'sshfs: a mounted home',
    packages: ['sshfs'],
    run: async (client) => {
      const mountPoint = client.path('mounted');
      await mkdir(mountPoint);
      const options = ['-p', String(client.target.port), ...client.options];
      const from = `${client.destination}:${client.remote}`;
      succeeded('sshfs', await client.run('sshfs', [...options, from, mountPoint]));
      try {
        const content = randomBytes(1_000_000);
        await writeFile(`${mountPoint}/through-sshfs`, content);
        same('bytes', (await readFile(`${mountPoint}/through-sshfs`)).equals(content), true);
        await client.local('mv', [`${mountPoint}/through-sshfs`, `${mountPoint}/moved`]);
      } finally {
        await client.run('fusermount3', ['-u', mountPoint]);
      }
      same('there', await client.output(`wc -c <${client.remote}/moved`), '1000000\n');
    },
  },
  {
    name: 'git: clone, push, fetch, and a refused push',
    packages: ['git'],
    run: async (client) => {
      await client.needsRemote('git');
      await client.output(`git init -q --bare -b main ${client.remote}/repository.git`);
      const { host, port, user } = client.target;
      const url = `ssh://${user}@${host}:${port}/~/${client.remote}/repository.git`;
      const one = await cloned(client, url, 'one');
      await writeFile(client.path('one/file'), randomBytes(500_000));
      await one(['add', 'file']);
      await one(['commit', '-q', '-m', 'first']);
      await one(['push', '-q', 'origin', 'HEAD:main']);
      const two = await cloned(client, url, 'two');
      await one(['commit', '-q', '--allow-empty', '-m', 'second']);
      await one(['push', '-q', 'origin', 'HEAD:main']);
      await two(['fetch', '-q']);
      same('log', await two(['log', '--format=%s', 'origin/main']), 'second\nfirst\n');
      await two(['commit', '-q', '--allow-empty', '-m', 'late']);
      const refused = await two(['push', '-q', 'origin', 'HEAD:main']).catch(
        (error: unknown) => error,
      );
      same('refused', refused instanceof Error && refused.message.includes('rejected'), true);
    },
  },
  {
    name: 'tar through pipes, both ways',
    run: async (client) => {
      const directory = client.path('tar');
      await mkdir(directory);
      const content = randomBytes(4_000_000);
      await writeFile(`${directory}/content`, content);
      const ssh = client.sshWords.map((word) => `'${word}'`).join(' ');
      const script = [
        'set -e -o pipefail',
        `tar -C ${directory} -cz . | ${ssh} 'mkdir -p ${client.remote}/tar && tar -C ${client.remote}/tar -xz'`,
        `mkdir ${directory}-back`,
        `${ssh} 'tar -C ${client.remote}/tar -c .' | tar -C ${directory}-back -x`,
      ];
      succeeded('tar', await client.run('bash', ['-c', script.join('\n')]));
      same('bytes', (await readFile(`${directory}-back/content`)).equals(content), true);
    },
  },
  {
    name: 'ssh-copy-id: a login with the new key succeeds',
    run: async (client) => {
      await client.local('ssh-keygen', [
        '-q',
        '-t',
        'ed25519',
        '-N',
        '',
        '-f',
        client.path('second'),
      ]);
      const { port } = client.target;
      const options = [
        '-F',
        '/dev/null',
        '-o',
        `UserKnownHostsFile=${client.path('.ssh/known_hosts')}`,
      ];
      const before = await client.output('cat .ssh/authorized_keys 2>/dev/null; true');
      try {
        const words = ['-f', '-i', client.path('second.pub'), '-p', String(port)];
        const withOldKey = ['-o', `IdentityFile=${client.path('key')}`, '-o', 'BatchMode=yes'];
        const copied = await client.run('ssh-copy-id', [
          ...words,
          ...withOldKey,
          ...options.slice(2),
          client.destination,
        ]);
        succeeded('ssh-copy-id', copied);
        const newKey = [
          '-i',
          client.path('second'),
          '-o',
          'IdentitiesOnly=yes',
          '-o',
          'BatchMode=yes',
        ];
        const login = await client.run('ssh', [
          ...[...options, ...newKey, '-p', String(port), client.destination, 'echo in'],
        ]);
        same('login', succeeded('ssh with the new key', login).stdout.toString(), 'in\n');
      } finally {
        const restore = before === '' ? 'rm -f .ssh/authorized_keys' : 'cat >.ssh/authorized_keys';
        await client.ssh([restore], { input: before });
      }
    },
  },
  {
    name: 'Ansible with pipelining: facts, a command, a file',
    packages: ['ansible-core'],
    timeoutMs: 180_000,
    run: (client) => ansible(client, 'True'),
  },
  {
    name: 'Ansible without pipelining: modules are copied with sftp',
    timeoutMs: 180_000,
    packages: ['ansible-core'],
    run: (client) => ansible(client, 'False'),
  },
];

async function rsync(client: Client, args: readonly string[]): Promise<string> {
  const [ssh, ...rest] = client.sshWords.slice(0, -1);
  const transport = [ssh, ...rest].join(' ');
  return succeeded(
    'rsync',
    await client.run('rsync', ['-a', '-e', transport, ...args]),
  ).stdout.toString();
}

/** Clones a repository. @returns A function that runs git in the clone. */
async function cloned(client: Client, url: string, name: string) {
  const env = {
    GIT_SSH_COMMAND: ['ssh', ...client.options].join(' '),
    ...{ GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_CONFIG_NOSYSTEM: '1' },
    ...{ GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' },
  };
  succeeded('clone', await client.run('git', ['clone', '-q', url, client.path(name)], { env }));
  return async (args: readonly string[]): Promise<string> => {
    const words = ['-C', client.path(name), ...args];
    return succeeded(
      `git ${args.join(' ')}`,
      await client.run('git', words, { env }),
    ).stdout.toString();
  };
}

async function ansible(client: Client, pipelining: 'True' | 'False'): Promise<void> {
  await client.needsRemote('python3');
  const { host, port, user } = client.target;
  const inventory = await client.keep(
    'inventory',
    `node ansible_host=${host} ansible_port=${port} ansible_user=${user} ansible_python_interpreter=/usr/bin/python3\n`,
  );
  const file = `${client.remote}/ansible-${pipelining}`;
  const playbook = await client.keep(
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
  const control = ['-o', 'ControlMaster=auto', '-o', `ControlPath=${client.path('ansible.mux')}`];
  const env = {
    ANSIBLE_PIPELINING: pipelining,
    // Ansible's own default: without it each task would be a connection of its own.
    ANSIBLE_SSH_ARGS: [...client.options, ...control, '-o', 'ControlPersist=60s'].join(' '),
    ANSIBLE_HOST_KEY_CHECKING: 'True',
    ANSIBLE_LOCAL_TEMP: client.path('ansible'),
  };
  const played = await client.run('ansible-playbook', ['-i', inventory, playbook], {
    env,
    timeout: 170_000,
  });
  await client.ssh([...control, '-O', 'exit']);
  succeeded('ansible-playbook', played);
  same('content', await client.output(`cat ${file}`), `said by a command of ${user}`);
}
