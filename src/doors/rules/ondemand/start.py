"""Starts the server of an app in a pod of OnDemand's Kubernetes adapter.

Makes the password, and says where the portal reaches the server: in the Secret from which the
adapter reads host, port and password of a pod. Then it becomes the command in its arguments, whose
environment has BERTH_PORT, BERTH_BASE_URL (the path on the portal), BERTH_PASSWORD_HASH and
BERTH_PASSWORD_FILE. The password itself is in no argument and in no environment.
"""

import hashlib
import json
import os
import secrets
import socket
import ssl
import sys
import tempfile
import time
import urllib.request

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
ENV = os.environ


def request_api(method, path, body=None):
    host, port = ENV["KUBERNETES_SERVICE_HOST"], ENV["KUBERNETES_SERVICE_PORT"]
    with open(f"{ACCOUNT}/token", encoding="ascii") as file:
        token = file.read().strip()
    request = urllib.request.Request(
        f"https://{f'[{host}]' if ':' in host else host}:{port}"
        f"/api/v1/namespaces/{ENV['POD_NAMESPACE']}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    context = ssl.create_default_context(cafile=f"{ACCOUNT}/ca.crt")
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    with opener.open(request, timeout=30) as response:
        return json.load(response)


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
    sys.exit(f"the pod {name} has no status.hostIP after 30 s: see `kubectl describe pod {name}`")


def main():
    name = ENV["POD_NAME"]
    pod = running_pod(name)
    service = request_api("GET", f"services/{name}-service")
    host = host_name(pod["status"]["hostIP"])
    port = str(service["spec"]["ports"][0]["nodePort"])
    password, salt = secrets.token_urlsafe(24), secrets.token_hex(8)
    # It is deleted with the pod.
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"]}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{name}-secret", "ownerReferences": [owner]},
        "stringData": {"host": host, "port": port, "password": password},
    }
    request_api("POST", "secrets", secret)
    handle, path = tempfile.mkstemp(prefix="berth-password-")
    os.write(handle, password.encode())
    os.close(handle)
    ENV["BERTH_PORT"] = ENV["POD_PORT"]
    ENV["BERTH_BASE_URL"] = f"/{ENV['BERTH_PROXY']}/{host}/{port}/"
    digest = hashlib.sha256((password + salt).encode()).hexdigest()
    ENV["BERTH_PASSWORD_HASH"] = f"sha256:{salt}:{digest}"
    ENV["BERTH_PASSWORD_FILE"] = path
    os.execvp(sys.argv[1], sys.argv[1:])


main()
