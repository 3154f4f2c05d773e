"""Starts the server of an app in a pod of OnDemand's Kubernetes adapter.

Makes the password, and says where the portal reaches the server: in the Secret from which the
adapter reads host, port and password of a pod. Then it becomes the command in its arguments, whose
environment has BERTH_PORT, BERTH_BASE_URL (the path on the portal), BERTH_PASSWORD_HASH and
BERTH_PASSWORD_FILE. The password itself is in no argument and in no environment.

A failure is in the pod's log and in `kubectl describe pod`.
"""

import hashlib
import json
import os
import secrets
import shutil
import socket
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.request

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
ENV = os.environ
NEXT = {
    401: "start another session, and see whether the ServiceAccount `default` still exists",
    403: "log in to the portal again: that binds the role ood-initializer to the ServiceAccount `default`",
    404: "start another session: what belongs to this one has been deleted",
    409: "start another session: this one was started before",
}


def fail(attempt, answer, next_step):
    text = f"berth: cannot {attempt}: {answer}\nnext: {next_step}"
    try:
        with open("/dev/termination-log", "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        pass  # It is in the log, too.
    sys.exit(text)


def variable(name):
    return ENV.get(name) or fail(f"read ${name}", "it is not set", "start the app from the portal, on a Kubernetes cluster")


def request_api(method, path, body=None):
    attempt = f"{method} {path} at the API server"
    host, port = variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT")
    try:
        with open(f"{ACCOUNT}/token", encoding="ascii") as file:
            token = file.read().strip()
        context = ssl.create_default_context(cafile=f"{ACCOUNT}/ca.crt")
    except OSError as error:
        fail(attempt, error, "the pod needs the token of its ServiceAccount: see its automountServiceAccountToken")
    request = urllib.request.Request(
        f"https://{f'[{host}]' if ':' in host else host}:{port}/api/v1/namespaces/{variable('POD_NAMESPACE')}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(request, timeout=30) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        fail(attempt, f"{error.code} {message_in(error.read(10_000))}", NEXT.get(error.code, "start another session; if that fails, too, see the API server"))
    except (OSError, ValueError) as error:
        fail(attempt, error, "see whether the network policies of the namespace let pods reach the API server")


def message_in(answer):
    try:
        return json.loads(answer)["message"]
    except (ValueError, KeyError, TypeError):
        return answer.decode(errors="replace").strip()


def host_name(address):
    """As the adapter names the host of a pod."""
    try:
        return socket.gethostbyaddr(address)[0]
    except OSError:
        return address


def running_pod(name):
    """The kubelet says where the pod runs about when it starts the container."""
    for _ in range(60):
        pod = request_api("GET", f"pods/{name}")
        if "hostIP" in pod["status"]:
            return pod
        time.sleep(0.5)
    fail("find the node of the pod", "no status.hostIP after 30 s", f"see `kubectl describe pod {name}`")


def node_port(service):
    try:
        return str(service["spec"]["ports"][0]["nodePort"])
    except (KeyError, IndexError):
        fail("find the port on the node", "the pod's Service has no nodePort", "it must have the type NodePort")


def check_server(command, port):
    """Before the portal is told of it."""
    if shutil.which(command) is None:
        fail(f"start {command}", "it is not in $PATH of the image", "use an image that has it")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", int(port)))
        except OSError as error:
            fail(f"listen at port {port}", error, "see what else listens in this pod, such as a sidecar")


def password_file(password):
    try:
        handle, path = tempfile.mkstemp(prefix="berth-password-")
        with os.fdopen(handle, "w") as file:
            file.write(password)
        return path
    except OSError as error:
        fail("write the password to a file", error, "let the user write to /tmp of the image")


def main():
    name, port, command = variable("POD_NAME"), variable("POD_PORT"), sys.argv[1:]
    check_server(command[0], port)
    pod = running_pod(name)
    host = host_name(pod["status"]["hostIP"])
    public_port = node_port(request_api("GET", f"services/{name}-service"))
    password, salt = secrets.token_urlsafe(24), secrets.token_hex(8)
    ENV["BERTH_PORT"] = port
    ENV["BERTH_BASE_URL"] = f"/{variable('BERTH_PROXY')}/{host}/{public_port}/"
    digest = hashlib.sha256((password + salt).encode()).hexdigest()
    ENV["BERTH_PASSWORD_HASH"] = f"sha256:{salt}:{digest}"
    ENV["BERTH_PASSWORD_FILE"] = password_file(password)
    # It is deleted with the pod.
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"]}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{name}-secret", "ownerReferences": [owner]},
        "stringData": {"host": host, "port": public_port, "password": password},
    }
    request_api("POST", "secrets", secret)
    print(f"berth: starting {' '.join(command)}; what follows is its output", file=sys.stderr, flush=True)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        fail(f"start {command[0]}", error, "use an image in which it can be run")


main()
