import type { Manifest } from '../../../src/kube/objects/kube-object.ts';
import {
  absent,
  annotated,
  mounting,
  podWith,
  secondContainer,
  rowsOf,
  type HostileObject,
  type Row,
} from './hostile.ts';

const images: readonly Row[] = [
  [
    'another registry',
    'image evil.example.net/x:1',
    'registry.example.org',
    podWith({}, { image: 'evil.example.net/x:1' }),
  ],
  [
    'a registry whose name begins so',
    'image registry.example.org.evil.net/x',
    'registry.example.org',
    podWith({}, { image: 'registry.example.org.evil.net/x' }),
  ],
  [
    'another port of the registry',
    'image registry.example.org:5000/x',
    'registry.example.org',
    podWith({}, { image: 'registry.example.org:5000/x' }),
  ],
  [
    'a directory whose name begins so',
    'image quay.io/jupyter/base-evil',
    'quay.io/jupyter/base',
    podWith({}, { image: 'quay.io/jupyter/base-evil' }),
  ],
  [
    'a registry on the node',
    'image localhost/x',
    'registry.example.org',
    podWith({}, { image: 'localhost/x' }),
  ],
  [
    'another registry in an init container',
    'image evil.example.net/x',
    'registry.example.org',
    podWith(secondContainer('initContainers', { image: 'evil.example.net/x' })),
  ],
  [
    'an image beside a directory of the list',
    'image ghcr.io/site-evil/x',
    'ghcr.io/site',
    podWith({}, { image: 'ghcr.io/site-evil/x' }),
  ],
];

const imageVolumes: readonly Row[] = [
  [
    'an image as a volume',
    'image evil.example.net/data:1',
    'registry.example.org',
    mounting({ image: { reference: 'evil.example.net/data:1' } }),
  ],
];

const lifetimes: readonly Row[] = [
  [
    'a lifetime over the limit',
    'metadata.annotations[pod.kubernetes.io/lifetime] is 25h',
    'at most 24h',
    annotated({ 'pod.kubernetes.io/lifetime': '25h' }),
  ],
  [
    'a lifetime over the limit by its parts',
    'metadata.annotations[pod.kubernetes.io/lifetime] is 23h61m',
    'at most 24h',
    annotated({ 'pod.kubernetes.io/lifetime': '23h61m' }),
  ],
  [
    'a lifetime that the reaper cannot read',
    'metadata.annotations[pod.kubernetes.io/lifetime] is 2d',
    'a duration like 2h30m',
    annotated({ 'pod.kubernetes.io/lifetime': '2d' }),
  ],
  [
    'an empty lifetime',
    'metadata.annotations[pod.kubernetes.io/lifetime] must be set',
    'at most 24h',
    annotated({ 'pod.kubernetes.io/lifetime': '' }),
  ],
  [
    'a lifetime below nothing',
    'metadata.annotations[pod.kubernetes.io/lifetime] is -1h',
    'a duration like 2h30m',
    annotated({ 'pod.kubernetes.io/lifetime': '-1h' }),
  ],
  [
    'a deadline over the limit',
    'spec.activeDeadlineSeconds',
    'must be at most 24h',
    podWith({ activeDeadlineSeconds: 86_401 }),
  ],
];

const order = (way: string, key: string, value: string): Row => [
  way,
  `metadata.annotations ${key}`,
  absent,
  annotated({ [key]: value }),
];

const orders: readonly Row[] = [
  [
    'a device by CDI',
    'metadata.annotations cdi.k8s.io/gpu',
    absent,
    annotated({ 'cdi.k8s.io/gpu': 'nvidia.com/gpu=all' }),
  ],
  [
    "CRI-O's user namespace",
    'metadata.annotations io.kubernetes.cri-o.userns-mode',
    absent,
    annotated({ 'io.kubernetes.cri-o.userns-mode': 'private' }),
  ],
  [
    "CRI-O's devices",
    'metadata.annotations io.kubernetes.cri-o.Devices',
    absent,
    annotated({ 'io.kubernetes.cri-o.Devices': '/dev/sda' }),
  ],
  [
    "Kata's hypervisor",
    'metadata.annotations io.katacontainers.config.hypervisor.path',
    absent,
    annotated({ 'io.katacontainers.config.hypervisor.path': '/tmp/x' }),
  ],
  [
    "crun's groups of the caller",
    'metadata.annotations run.oci.keep_original_groups',
    absent,
    annotated({ 'run.oci.keep_original_groups': '1' }),
  ],
  [
    'a device by an NRI plugin',
    'metadata.annotations devices.nri.io/container.main',
    absent,
    annotated({ 'devices.nri.io/container.main': '[{path: /dev/sda}]' }),
  ],
  [
    'limits by an NRI plugin',
    'metadata.annotations ulimits.nri.io/container.main',
    absent,
    annotated({ 'ulimits.nri.io/container.main': '[{type: memlock, hard: 0}]' }),
  ],
  order('a second network by Multus', 'k8s.v1.cni.cncf.io/networks', 'storage/lustre'),
  order('another network by Multus', 'v1.multus-cni.io/default-network', 'storage/lustre'),
  order("an address of Calico's", 'cni.projectcalico.org/ipAddrs', '["10.0.0.1"]'),
  order("a device by NVIDIA's plugin for CDI", 'nvidia.cdi.k8s.io/container.main', 'gpu=all'),
  order('a property of its systemd unit', 'org.systemd.property.DevicePolicy', "'auto'"),
  order("CRIU's configuration", 'org.criu.config', '/tmp/criu.conf'),
  order("gVisor's mounts", 'dev.gvisor.spec.mount.v.source', '/'),
  order('a role of the cloud', 'iam.amazonaws.com/role', 'admin'),
  order('a name by ExternalDNS', 'external-dns.alpha.kubernetes.io/hostname', 'www.example.org'),
  order('an order that nobody knows yet', 'runtime.example.net/give', 'all'),
  order('a domain below one that passes', 'x.prometheus.io/scrape', 'true'),
  order("a domain beside one of the site's", 'vault.hashicorp.com.example.net/x', 'y'),
  order("a key beside one of the site's", 'sidecar.istio.io/proxyImage', 'evil'),
  order(
    'a profile of another program',
    'container.apparmor.security.beta.kubernetes.io/main',
    'localhost/podman',
  ),
  order('an order with an empty value', 'cdi.k8s.io/gpu', ''),
  order("an empty order of crun's", 'run.oci.keep_original_groups', ''),
];

const devices = 'must not request devices from the container runtime';
const env = (fields: object): Manifest => podWith({}, { env: [fields] });

/** What nvidia-container-runtime and its like take for a request, whatever the scheduler gave. */
const variables: readonly Row[] = [
  [
    'all GPUs of the node',
    'env of container main',
    devices,
    env({ name: 'NVIDIA_VISIBLE_DEVICES', value: 'all' }),
  ],
  [
    'all GPUs by a reference',
    'env of container main',
    devices,
    env({
      name: 'NVIDIA_VISIBLE_DEVICES',
      valueFrom: { configMapKeyRef: { name: 'mine', key: 'all' } },
    }),
  ],
  [
    'all GPUs by the second of two values',
    'env of container main',
    devices,
    podWith(
      {},
      {
        env: [
          { name: 'NVIDIA_VISIBLE_DEVICES', value: 'void' },
          { name: 'NVIDIA_VISIBLE_DEVICES', value: 'all' },
        ],
      },
    ),
  ],
  [
    'InfiniBand beside a GPU',
    'env of container main',
    devices,
    env({ name: 'NVIDIA_MOFED', value: 'enabled' }),
  ],
  [
    'all GPUs in an init container',
    'env of container second',
    devices,
    podWith(
      secondContainer('initContainers', { env: [{ name: 'AMD_VISIBLE_DEVICES', value: 'all' }] }),
    ),
  ],
];

const amounts = { cpu: '1', memory: '1Gi', 'deviceclass.resource.kubernetes.io/nic': '1' };
const devicesOfClasses: readonly Row[] = [
  [
    'a device for which the scheduler makes a claim',
    'resources of deviceclass.resource.kubernetes.io/ of container main',
    'gpu.example.org',
    podWith({}, { resources: { requests: amounts, limits: amounts } }),
  ],
];

/** Pods with images, lifetimes, annotations and places that the site does not give. */
export const hostileExtras: readonly HostileObject[] = [
  ...rowsOf('pods', images),
  ...rowsOf('pods', imageVolumes, '1.35'),
  ...rowsOf('pods', devicesOfClasses, '1.34'),
  ...rowsOf('pods', lifetimes),
  ...rowsOf('pods', orders),
  ...rowsOf('pods', variables),
];
