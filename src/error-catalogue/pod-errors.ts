import type { CatalogueEntries } from './entry.ts';

/** Sessions in pods: grant, start, exec stream, forwarding. */
export const podErrors = {
  'pod-access-missing': {
    what: 'The login has no credential for the pods of the user on the cluster.',
    why: '`pam-session` did not run when the connection opened, or could not get a token from the cluster. The message contains the reason if it is known.',
    next: 'Look at `journalctl -t berth` for this login, and run `berth doctor --user NAME`. The next login tries again.',
  },
  'pod-cluster-unknown': {
    what: 'The profile uses pods, but it is not clear on which cluster.',
    why: 'No cluster has `ssh_sessions` in berth.yml, or several have it and `pod.cluster` of the profile names none.',
    next: 'Write `ssh_sessions: {}` at the cluster in berth.yml, and its name as `pod.cluster` in the profile.',
  },
  'pod-image': {
    what: 'The node could not pull the image of the session. The message contains the kubelet’s reason.',
    why: 'The kubelet gave a reason that Berth does not recognize.',
    next: 'Run `kubectl events -n NAMESPACE --for pod/POD`, and pull the image by hand on a node.',
  },
  'pod-image-missing': {
    what: 'The image of the session is not in its registry; or, with `pull: never`, not on the node.',
    why: 'The tag or digest in the profile is misspelled, or the image was removed from the registry.',
    next: 'Check `skopeo inspect docker://IMAGE`, and correct `image` in the profile.',
  },
  'pod-image-name': {
    what: 'The name of the image in the profile is invalid.',
    why: 'Capital letters, a missing registry or a malformed digest.',
    next: 'Correct `image` in the profile.',
  },
  'pod-image-denied': {
    what: 'The registry does not allow the cluster to pull the image of the session.',
    why: 'The pull secret is missing in the namespace, has expired, or is not for this registry.',
    next: 'Check `kubectl get secret -n NAMESPACE` and `pod.pull_secret` of the profile, or the pull secret that the hook writes.',
  },
  'pod-registry-unreachable': {
    what: 'The node could not reach the registry of the image.',
    why: 'The registry is down, or a firewall or proxy blocks the nodes.',
    next: 'Pull the image on a node: `crictl pull IMAGE`. The next login tries again.',
  },
  'pod-configuration': {
    what: 'The node could not create the container of the session.',
    why: 'The image lacks `sleep`, or has a file where a mount of the profile needs a directory, or the runtime of the node does not know a setting (`pod.supplemental_groups_policy` with containerd before 2.0).',
    next: 'Run `kubectl events -n NAMESPACE --for pod/POD`: an event has the reason. The pod itself was deleted, so that the next login creates a new one.',
  },
  'pod-evicted': {
    what: 'The pod of the session was evicted from its node.',
    why: 'The node ran out of memory or disk, is being drained, or a pod with a higher priority preempted this one.',
    next: 'Log in again: the session starts on another node. Set `limits` in the profile, so that pods are scheduled on nodes with enough free resources.',
  },
  'pod-time-limit': {
    what: 'The session reached its time limit (activeDeadlineSeconds) and was ended.',
    why: '`lifetime` of the profile, or the limit of a week that every session pod has.',
    next: 'Log in again. To allow more, raise `lifetime` in the profile.',
  },
  'pod-ended': {
    what: 'The pod of the session ended as soon as it was started.',
    why: 'The image lacks what the session needs, or the kernel killed the first process for lack of memory.',
    next: 'Run `kubectl events -n NAMESPACE --for pod/POD`: the pod itself was deleted. If that shows nothing, start the image by hand with the command `sleep infinity`.',
  },
  'pod-unschedulable': {
    what: 'The scheduler found no node for the session within `deadline` of the profile.',
    why: 'The cluster has no free capacity, or no node matches `pod.node_selector`, `pod.tolerations`, `pod.extended` and `limits` of the profile.',
    next: 'Run `kubectl events -n NAMESPACE --for pod/POD`: the event FailedScheduling counts the nodes by reason.',
  },
  'pod-start-deadline': {
    what: 'The pod did not start within `deadline` of the profile.',
    why: 'A large image that the node has to pull first, a volume that cannot be mounted, or a slow node.',
    next: 'Log in again: the image may be there by then. Otherwise raise `deadline`, and look at the events of the pod.',
  },
  'pod-quota': {
    what: 'The pod would exceed the ResourceQuota of the user’s namespace.',
    why: 'The user has other sessions or jobs.',
    next: 'The user ends one of them. Admins: `kubectl describe quota -n NAMESPACE`.',
  },
  'pod-namespace-gone': {
    what: 'The namespace of the user does not exist any more or is being deleted.',
    why: 'A reaper or an admin deleted it while the user was connected.',
    next: 'The user closes all connections and logs in again: the first login creates the namespace.',
  },
  'pod-refused': {
    what: 'An admission policy of the cluster denied the pod of the session. The message contains the policy’s reason.',
    why: 'The profile asks for something that the policies do not allow, such as a host path, a registry that is not allowed, or a container without limits.',
    next: 'Compare the profile with the policies (/usr/lib/berth/share/docs/admission.md). `berth plan --ssh --user NAME` prints the pod.',
  },
  'pod-lost': {
    what: 'The pod of the session was deleted, evicted or replaced while the session ran. How the command ended is not known.',
    why: 'An admin or a reaper deleted it, or its node was drained, failed or ran out of memory.',
    next: 'Log in again. Admins: `kubectl get events -n NAMESPACE` and the state of the node.',
  },
  'pod-groups-renewed': {
    what: 'The pod was deleted and created again, because the groups of the user have changed.',
    why: 'A pod keeps the groups with which it was created.',
    next: 'Nothing has to be done.',
  },
  'pod-groups-outdated': {
    what: 'The session runs with the groups that the user had when the pod was created.',
    why: 'Other sessions run in the pod, so it was not replaced.',
    next: 'The user ends all processes in the pod and logs in again.',
  },
  'pod-cleanup-failed': {
    what: 'Processes that a closed connection left in a pod could not be ended.',
    why: 'The shell that does it in the pod failed: the image lacks /bin/sh or tr, or the pod has reached its limit on memory or processes.',
    next: '`berth reap` tries again. If they stay: `kubectl delete pod -n NAMESPACE POD`.',
  },
  'pod-shell-ended': {
    what: 'The shell that Berth runs in a pod for cleanup ended early.',
    why: 'The image lacks /bin/sh or tr, or a process of the user killed it.',
    next: 'Check the image. `berth reap` tries again.',
  },
  'pod-shell-output-too-long': {
    what: 'The shell that Berth runs in a pod for cleanup wrote more than 1 MiB and was stopped.',
    why: 'A process of the user writes to the shell’s output, possibly on purpose.',
    next: 'Delete the pod: `kubectl delete pod -n NAMESPACE POD`.',
  },
  'session-secret-not-deleted': {
    what: 'The Secret to which the tokens of the sessions are bound is being deleted and cannot be created again.',
    why: 'Something keeps adding finalizers to it.',
    next: 'Run the command in the hint to find out what adds them. The next login tries again.',
  },
  'signal-not-delivered': {
    what: 'A signal from the client could not be delivered to the command in the pod. The session was ended with that signal instead.',
    why: 'The image lacks /bin/sh or tr, or the pod does not respond.',
    next: 'Check the image if it repeats.',
  },
  'transfer-tools-missing': {
    what: 'scp or sftp was requested, but neither the image nor this host has the program to copy into the pod.',
    why: '`berth images files` was not run on this host.',
    next: 'Run `berth images files`, or use an image with sftp-server and scp.',
  },
  'transfer-tools-not-copied': {
    what: 'The file transfer program could not be copied into the pod.',
    why: 'The image lacks one of cat, chmod, head, mkdir, mv and tail.',
    next: 'Add these programs, or sftp-server and scp, to the image.',
  },
  'exec-unreachable': {
    what: 'The login node could not connect to the API server to run the command in the pod.',
    why: 'The API server is down, or a firewall blocks the login node.',
    next: 'On the login node: `curl -k https://HOST:PORT/version`, with the address in the message.',
  },
  'exec-certificate': {
    what: 'The certificate of the API server was not accepted when the session was started.',
    why: 'The certificate authority in the configuration is not the one that signed it, or it has expired.',
    next: 'Run `berth token setup --cluster NAME --from ADMIN_KUBECONFIG --service-account ondemand/berth-login` with a current admin kubeconfig.',
  },
  'exec-unauthorized': {
    what: 'The API server did not accept the credential of the session (HTTP 401).',
    why: 'The credential is valid for one hour, and the connection was opened more than an hour ago; or the Secret to which it is bound was deleted.',
    next: 'The user closes all connections and logs in again.',
  },
  'exec-forbidden': {
    what: 'The API server does not allow the session to run a command in its pod (HTTP 403).',
    why: 'The ClusterRole berth-session is of an older version, or an admission policy refuses exec.',
    next: 'Run `kubectl apply -k /usr/lib/berth/share/etc/kubernetes/ssh-sessions`.',
  },
  'exec-no-pod': {
    what: 'The pod of the session does not exist any more.',
    why: 'It was deleted between its start and this command.',
    next: 'Log in again: the login creates it.',
  },
  'exec-refused': {
    what: 'The API server refused to run a command in the pod, with a status that Berth does not expect.',
    why: 'The container of the pod is not running, or a proxy between login node and API server does not allow WebSocket.',
    next: 'Run `kubectl describe pod -n NAMESPACE POD`, and try `kubectl exec` from the login node.',
  },
  'exec-server-error': {
    what: 'The API server failed when a command was to be run in the pod (HTTP 5xx).',
    why: 'The API server cannot reach the kubelet of the node, or the node is down.',
    next: 'Try `kubectl exec` and look at the log of the API server. The next login tries again.',
  },
  'exec-connection-lost': {
    what: 'The connection between login node and pod broke during the session. How the command ended is not known.',
    why: 'The API server restarted, the node failed, or a load balancer ended a connection that was idle or old.',
    next: 'Log in again. If sessions end after a fixed time, raise the timeout of the load balancer.',
  },
  'exec-ended-externally': {
    what: 'The session was ended from outside, and how the command ended is not known.',
    why: 'The pod was deleted or evicted, or its node is shutting down.',
    next: 'Log in again. Admins: `kubectl get events -n NAMESPACE`.',
  },
  'exec-aborted': {
    what: 'The login ended the session itself, for example at a time limit. How the command ended is not known.',
    why: 'Another error in the log shortly before.',
    next: 'Look at the log lines before this one. The user can log in again.',
  },
  'exec-failed-in-pod': {
    what: 'The command in the pod could not be run. The message contains the kubelet’s reason.',
    why: 'The container ended, the command does not exist in the image, or the runtime of the node failed.',
    next: 'Run `kubectl describe pod -n NAMESPACE POD` and look at the log of the kubelet.',
  },
  'exec-no-half-close': {
    what: 'The end of standard input cannot be passed to the command in the pod. A command that waits for it never ends.',
    why: 'The API server is older than Kubernetes 1.30.',
    next: 'Upgrade the cluster. Until then, avoid pipes into ssh.',
  },
  'exec-output-closed': {
    what: 'The output of the command could not be written, because the client is gone.',
    why: 'The user closed the terminal, or ended a pipe such as `ssh HOST COMMAND | head`.',
    next: 'Nothing has to be done.',
  },
  'exec-protocol': {
    what: 'The exec stream between login node and API server violated the protocol.',
    why: 'A proxy changes WebSocket frames, or the address leads to another server.',
    next: 'Let login nodes reach the API server without a proxy.',
  },
  'exec-not-utf8': {
    what: 'The command contains bytes that are not UTF-8, which Kubernetes cannot pass on.',
    why: 'A file name in another encoding is part of the command.',
    next: 'Generate the bytes in the session’s shell with `printf` and octal escapes.',
  },
  'forwarding-protocol': {
    what: 'The program that forwards ports in the pod sent something unexpected. Forwarding has stopped for this session.',
    why: 'A process in the pod impersonates the program, or the image’s version of Python is not supported.',
    next: 'The next session starts it again. If it repeats, check `python3 --version` in the image (3.6 or later).',
  },
  'forwarding-stopped': {
    what: 'The program that forwards ports in the pod was stopped, because its session has ended.',
    why: 'The session is over. This is normally not logged.',
    next: 'Nothing has to be done.',
  },
} as const satisfies CatalogueEntries;
