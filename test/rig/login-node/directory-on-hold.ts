import { ownFuse } from './own-fuse.ts';

/**
 * A Python program that reads the names of a directory, its argument, into memory that is a file of a FUSE file system, in namespaces of its own,
 * which does not answer: meanwhile the kernel lets nobody add, remove or look up a name there, not even root. It prints `silent`.
 */
export const directoryOnHold = String.raw`${ownFuse}
held = os.open(sys.argv[1], os.O_RDONLY)
own_namespaces()
fuse = mount_fuse('/tmp/hold', 0o40755)
def attributes(node):
    size, mode = (0, 0o40755) if node == 1 else (4096, 0o100644)
    return struct.pack('<QQQQQQIIIIIIIIII', node, size, 8, 1, 1, 1, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
def answer(operation, node):
    if operation == 26:
        return 0, initialized
    if operation == 1: return 0, struct.pack('<QQQQII', 2, 0, 3600, 3600, 0, 0) + attributes(2)
    if operation == 3: return 0, struct.pack('<QII', 3600, 0, 0) + attributes(node)
    if operation == 14: return 0, struct.pack('<QII', 0, 0, 0)
    return -38, b''
def serve():
    while True:
        request = os.read(fuse, 1 << 17)
        _, operation, unique, node = struct.unpack_from('<IIQQ', request)
        if operation == 15: print('silent', flush=True)
        if operation in (2, 15, 42): continue
        error, body = answer(operation, node)
        answer_to(fuse, unique, body, error)
threading.Thread(target=serve, daemon=True).start()
file = os.open('/tmp/hold/file', os.O_RDONLY)
libc.mmap.restype = ctypes.c_void_p
memory = libc.mmap(None, ctypes.c_size_t(4096), 3, 2, file, ctypes.c_long(0))
# getdents64(2)
libc.syscall(ctypes.c_long(217), held, ctypes.c_void_p(memory), ctypes.c_size_t(4096))
`;
