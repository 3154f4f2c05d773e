import { goPrograms, moduleSources, requiredVersion } from '../../site/go-build.ts';

const module = new URL('.', import.meta.url).pathname;
const externalDns = 'sigs.k8s.io/external-dns';

/**
 * Builds ExternalDNS unless it is cached, which takes about two minutes. It is the real program with one provider, RFC
 * 2136: the other twenty would multiply the time, and the module proxy lacks a module of one of them.
 */
export async function externalDnsBinary(): Promise<string> {
  const built = await goPrograms({
    name: `external-dns-${await requiredVersion(module, externalDns)}`,
    module,
    programs: { 'external-dns': externalDns },
    flags: ['-trimpath', '-ldflags', '-s -w'],
    // Its go.mod requires a later Go than the machine's, which Go downloads.
    env: { GOTOOLCHAIN: 'auto' },
    patch: {
      of: externalDns,
      file: 'provider/factory/provider.go',
      change: {
        from: `\\n\\t"${externalDns}/provider/(?!rfc2136).*|\\n\\t\\texternaldns\\.Provider(?!RFC2136).*`,
        to: '',
      },
    },
  });
  return built['external-dns'];
}

/** The directory of ExternalDNS's Helm chart. */
export async function externalDnsChart(): Promise<string> {
  const sources = await moduleSources(module, externalDns, { GOTOOLCHAIN: 'auto' });
  return `${sources}/charts/external-dns`;
}
