/**
 * A shell command that leaves a process behind whose first thread has ended while another writes to a file: ps(1) shows it as
 * `Zl`, and /proc has neither program nor environment under its PID.
 */
export function endedFirstThread(life: string): string {
  return `setsid python3 -c '${program}' ${life} </dev/null >/dev/null 2>&1 &`;
}

const program = `
import ctypes, os, sys, threading, time
def live():
    while True:
        with open(sys.argv[1], "w") as life: life.write(str(time.monotonic_ns()))
        time.sleep(0.01)
threading.Thread(target=live).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
`;
