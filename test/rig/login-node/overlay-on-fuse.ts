import { ownFuse } from './own-fuse.ts';

/**
 * A Python program for a container with /dev/fuse: it runs sleep(1) from an overlay on a FUSE file system, in namespaces of its own,
 * and then answers no question about the file any more. An overlay asks with the rights of who mounted it, so that whoever
 * calls stat(2) for the program waits for ever, root on the host too. It prints `silent PID`, and with the argument
 * `wholly` it answers no question at all any more.
 */
export const overlayOnFuse = String.raw`${ownFuse}
with open('/bin/sleep', 'rb') as file: program = file.read()
own_namespaces()
for name in 'empty', 'overlay': os.makedirs(f'/tmp/{name}', exist_ok=True)
fuse = mount_fuse('/tmp/lower', 0o40755)
silent = False
def attributes(node):
    size, mode = (0, 0o40755) if node == 1 else (len(program), 0o100755)
    return struct.pack('<QQQQQQIIIIIIIIII', node, size, 8, 1, 1, 1, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
def answer(operation, node, body):
    if operation == 26:
        return 0, initialized
    if operation == 1:
        if body.rstrip(b'\0') != b'sleep': return -2, b''
        return 0, struct.pack('<QQQQII', 2, 0, 3600, 0, 0, 0) + attributes(2)
    if operation == 3: return 0, struct.pack('<QII', 0, 0, 0) + attributes(node)
    if operation in (14, 27): return 0, struct.pack('<QII', 0, 0, 0)
    if operation == 15:
        _, offset, size = struct.unpack_from('<QQI', body)
        return 0, program[offset:offset + size]
    if operation == 17: return 0, b'\0' * 80
    if operation in (18, 25, 28, 29): return 0, b''
    return -38, b''
def serve():
    while True:
        request = os.read(fuse, 1 << 18)
        _, operation, unique, node = struct.unpack_from('<IIQQ', request)
        if operation in (2, 42) or (silent and (operation == 3 or 'wholly' in sys.argv)): continue
        error, body = answer(operation, node, request[40:])
        answer_to(fuse, unique, body, error)
threading.Thread(target=serve, daemon=True).start()
child = os.fork()
if child == 0:
    check(libc.mount(b'overlay', b'/tmp/overlay', b'overlay', 0, b'lowerdir=/tmp/lower:/tmp/empty,userxattr'))
    os.execv('/tmp/overlay/sleep', ['sleep', '1000'])
while not os.readlink(f'/proc/{child}/exe').endswith('/overlay/sleep'): time.sleep(0.05)
silent = True
print('silent', child, flush=True)
time.sleep(1000)
`;
