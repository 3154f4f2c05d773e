import type { BalancerPods } from '../../config/balancer-settings.ts';
import { networkOfAddress } from '../../config/cidr.ts';
import { isIpAddress } from '../../config/ip-address.ts';
import type { Manifest } from './manifest.ts';

const namespace = 'metallb-system';

/** MetalLB's pool and its announcement by ARP and NDP, if `balancer.yml` has the pool's addresses. */
export function metallbObjects({ pool, addresses }: BalancerPods): Manifest[] {
  if (pool === undefined || addresses.length === 0) return [];
  const metadata = { name: pool, namespace };
  return [
    {
      ...{ apiVersion: 'metallb.io/v1beta1', kind: 'IPAddressPool', metadata },
      spec: {
        addresses: addresses.map((one) => (isIpAddress(one) ? networkOfAddress(one) : one)),
        autoAssign: false,
      },
    },
    {
      ...{ apiVersion: 'metallb.io/v1beta1', kind: 'L2Advertisement', metadata },
      spec: { ipAddressPools: [pool] },
    },
  ];
}

/**
 * The pool of the Service. No addresses beside it: MetalLB refuses them if they are not of exactly the families that the
 * cluster gives to the Service.
 */
export function metallbAnnotations({ pool }: BalancerPods): Record<string, string> {
  return pool === undefined ? {} : { 'metallb.io/address-pool': pool };
}
