import type { BalancerPods } from '../../config/balancer-settings.ts';
import { isIpAddress, isIpv6 } from '../../config/ip-address.ts';
import type { Manifest } from './manifest.ts';

const namespace = 'metallb-system';

/** MetalLB's pool and its announcement by ARP and NDP, if `balancer.yml` has the pool's addresses. */
export function metallbObjects({ pool, addresses }: BalancerPods): Manifest[] {
  if (pool === undefined || addresses.length === 0) return [];
  const metadata = { name: pool, namespace };
  return [
    {
      ...{ apiVersion: 'metallb.io/v1beta1', kind: 'IPAddressPool', metadata },
      spec: { addresses: addresses.map(withLength), autoAssign: false },
    },
    {
      ...{ apiVersion: 'metallb.io/v1beta1', kind: 'L2Advertisement', metadata },
      spec: { ipAddressPools: [pool] },
    },
  ];
}

/** The pool of the Service, and its addresses if the pool has just these: one of each family at most. */
export function metallbAnnotations({
  pool,
  addresses,
  addressesAreFixed,
}: BalancerPods): Record<string, string> {
  if (pool === undefined) return {};
  const single = addresses.map((address) => address.replace(/\/(?:32|128)$/, ''));
  const [first = '', second = first] = single;
  const fixed =
    addressesAreFixed &&
    single.length > 0 &&
    single.length <= 2 &&
    single.every(isIpAddress) &&
    (single.length === 1 || isIpv6(first) !== isIpv6(second));
  return {
    'metallb.io/address-pool': pool,
    ...(fixed ? { 'metallb.io/loadBalancerIPs': single.join(',') } : {}),
  };
}

function withLength(address: string): string {
  return isIpAddress(address) ? `${address}/${isIpv6(address) ? 128 : 32}` : address;
}
