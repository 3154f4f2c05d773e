import * as z from 'zod/mini';
import { matching, optionalKeys, passing, wholeNumber } from './schema-parts.ts';
import { ipv4Octets, ipv6Groups, isCidr, isIpAddress } from './ip-address.ts';
import { isHostName } from './host-name.ts';
import { namespaceName } from './object-name.ts';

/** Names of Kubernetes objects, of haproxy's sections and of systemd's instances are made of it. */
const name = matching(
  /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/,
  'must be a name of lower-case letters, digits and hyphens, at most 40',
);
/** Of a host: as `hostname` prints it. */
const host = passing(isHostName, 'must be a host name');
const address = passing(
  (text) => isIpAddress(text) || isHostName(text),
  'must be an IPv4 or IPv6 address, or a host name',
);
const ipAddress = passing(isIpAddress, 'must be an IPv4 or IPv6 address');
const addressOrNetwork = passing(
  (text) => isIpAddress(text) || isCidr(text),
  'must be an IP address, or a network as ADDRESS/LENGTH',
);
const limit = wholeNumber(0, 1_000_000, 'must be 1 or more, or 0 for no limit');
/** As in MetalLB's IPAddressPool: a range has one family, and its first address is not after its last. */
const addressRange = passing((text) => {
  const [first = '', last, ...more] = text.split('-');
  if (last === undefined) return isIpAddress(text) || isCidr(text);
  const [from, to] = [first, last].map((one) => ipv4Octets(one) ?? ipv6Groups(one));
  if (from === undefined || to === undefined || more.length > 0) return false;
  const different = from.findIndex((part, index) => part !== to[index]);
  return from.length === to.length && (from[different] ?? 0) <= (to[different] ?? 0);
}, 'must be ADDRESS, ADDRESS/LENGTH or ADDRESS-ADDRESS, the lower one first');
const port = wholeNumber(
  1,
  65_535,
  'must be a port, from 1 to 65535',
  'must be a port, from 1 to 65535',
);
const objectName = matching(namespaceName, 'must be the name of a Kubernetes object');
const image = matching(/^[a-z0-9][A-Za-z0-9._:/@-]{0,254}$/, 'must be the name of an image');

function listOf<T extends z.core.$ZodType>(entry: T): z.ZodMiniArray<T> {
  return z.array(entry).check(z.minLength(1, 'must not be empty'));
}

/** `balancer.yml` as it is written; docs/many-nodes.md explains how the keys work together. */
export const balancerSchema = z.strictObject({
  hostname: host,
  listen: z.optional(listOf(ipAddress)),
  balancers: z.optional(listOf(z.strictObject({ name: host, address: ipAddress }))),
  peers_port: z.optional(port),
  systems: listOf(z.strictObject({ name, nodes: listOf(z.strictObject({ name: host, address })) })),
  kinds: listOf(
    z.strictObject({
      name,
      system: z.string(),
      hostname: z.optional(host),
      port,
      node_port: z.optional(port),
      together: z.optional(z.boolean()),
      client_address: z.optional(z.enum(['log', 'transparent'])),
      max_connections: z.optional(wholeNumber(1, 1_000_000)),
    }),
  ),
  statistics: z.optional(optionalKeys({ address: ipAddress, port })),
  source_limits: z.optional(
    optionalKeys({
      connections: limit,
      rate: limit,
      exempt: z.array(addressOrNetwork),
    }),
  ),
  kubernetes: z.optional(
    optionalKeys({
      namespace: objectName,
      replicas: wholeNumber(1, 9),
      image,
      monitoring_namespace: objectName,
      pool: objectName,
      addresses: listOf(addressRange),
    }),
  ),
});

export type BalancerDocument = z.output<typeof balancerSchema>;
