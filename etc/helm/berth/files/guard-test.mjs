// `helm test`: with the hook's token, tries to bind a role outside the namespaces of users. A dry run: nothing is made.
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

const token = readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/token', 'utf8');
const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
const group = 'rbac.authorization.k8s.io';
const attempt = async () => {
  const response = await fetch(
    `${server}/apis/${group}/v1/namespaces/kube-system/rolebindings?dryRun=All`,
    {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        apiVersion: `${group}/v1`,
        kind: 'RoleBinding',
        metadata: { name: 'nobody-ood-user' },
        roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'ood-user' },
        subjects: [],
      }),
    },
  );
  return { status: response.status, text: await response.text() };
};

// The API server needs a second or two to load a new policy.
for (let tries = 0; tries < 20; tries += 1) {
  const { status, text } = await attempt();
  if (status === 422 && text.includes('berth-hook-guard')) {
    console.log('The guard limits the token of the hook.');
    process.exit(0);
  }
  console.error(status, text);
  await setTimeout(1000);
}
process.exit(1);
