/* The first process of a pod: holds its namespaces until it is told to end, as Kubernetes' own does. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal) {
  (void)signal;
  _exit(0);
}

static void reap(int signal) {
  (void)signal;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  signal(SIGINT, end);
  signal(SIGTERM, end);
  signal(SIGCHLD, reap);
  for (;;) pause();
}
