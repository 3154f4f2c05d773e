/**
 * A Python program (x86-64) that traces the process that all sessions of a container share, PID 2, and has it fork: ptrace(2). It prints
 * `forked PID`.
 */
export const forkByTrace = String.raw`
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
def trace(request, data=None):
    if libc.ptrace(request, 2, None, data) != 0: raise OSError(ctypes.get_errno(), 'ptrace')
names = 'r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs'
class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in names.split()]
def registers():
    found = Registers()
    trace(12, ctypes.byref(found))
    return found
trace(16)
os.waitpid(2, 0x40000000)
before, forking = registers(), registers()
# fork(2), by the instruction with which it waits.
forking.rax, forking.orig_rax, forking.rip = 57, 2 ** 64 - 1, before.rip - 2
trace(13, ctypes.byref(forking))
trace(9)
os.waitpid(2, 0x40000000)
print('forked', registers().rax, flush=True)
trace(13, ctypes.byref(before))
trace(17)
`;
