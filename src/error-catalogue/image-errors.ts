import type { CatalogueEntries } from './entry.ts';

/** `berth images`: the shared image store, registries and archives. */
export const imageErrors = {
  'image-not-in-registry': {
    what: 'The registry has no image of this name, tag or digest.',
    why: 'A misspelled name in the profile, or the image was deleted or never pushed.',
    next: 'Check `skopeo inspect docker://IMAGE`, and correct `image` in the profile.',
  },
  'image-digest-wrong': {
    what: 'The image has another digest than the profile names. It was not stored.',
    why: 'A registry or mirror returned different contents; or the image came from an archive made by `docker save`, which always gets a new digest.',
    next: 'Find out why before you write the new digest into the profile. For archives, name the image by tag.',
  },
  'image-short-name': {
    what: 'The name of the image has no registry.',
    why: 'A name such as `site/base:1` in a profile, with no `unqualified-search-registries` in registries.conf.',
    next: 'Write the full name: `registry.example/site/base:1`.',
  },
  'image-policy': {
    what: 'The signature policy of this host does not accept the image.',
    why: '/etc/containers/policy.json requires a signature that the image lacks.',
    next: 'Sign the image, or add its registry to /etc/containers/policy.json.',
  },
  'image-not-stored': {
    what: 'The image was pulled, but the store has no image of that name afterwards.',
    why: 'podman normalized the name in an unexpected way.',
    next: 'Write the name with its registry and in lower case. If the error persists, report it as a bug.',
  },
  'image-store-full': {
    what: 'There are no free blocks or inodes left for the image. The store is unchanged.',
    why: 'Old images, or storage of users, fill the disk.',
    next: 'Check `df` and `df -i` of `storage` in ssh.yml (default /var/lib/berth-ssh). `berth images gc --dry-run` prints what would be removed.',
  },
  'image-store-broken': {
    what: 'The index files of the shared image store are damaged or were not written by podman.',
    why: 'The disk failed, or files in the store were changed by hand.',
    next: 'When no user is connected, move the store away and run `berth images pull`.',
  },
  'registry-unreachable': {
    what: 'The registry does not answer.',
    why: 'It is down, or this host needs a proxy (HTTPS_PROXY) or a firewall rule.',
    next: 'Sessions continue with the stored images. Without a registry: `berth images pull --from-archive FILE`.',
  },
  'registry-denied': {
    what: 'The registry requires a login that this host does not have, or does not accept its password.',
    why: '`registry_auth` of ssh.yml (or `--auth-file`) has no entry for this registry, or the password has changed.',
    next: 'Run `podman login --authfile FILE REGISTRY` with that file.',
  },
  'registry-certificate': {
    what: 'The certificate of the registry was not accepted.',
    why: 'It was signed by a certificate authority of the site, or the registry has no TLS.',
    next: 'Copy the CA to /etc/containers/certs.d/HOST:PORT/ca.crt.',
  },
  'archive-unreadable': {
    what: 'The file is not an image archive, or is incomplete.',
    why: 'An interrupted copy, an archive of `podman export` (a file system, not an image), or an image with device nodes.',
    next: 'Create it with `podman save -o FILE IMAGE`, and compare its size after the copy.',
  },
  'archive-not-in-profiles': {
    what: 'No profile names an image of this archive. Nothing was stored.',
    why: 'The archive has another tag than the profile.',
    next: 'Name the image: `berth images pull --from-archive FILE IMAGE`.',
  },
  'archive-several-images': {
    what: 'One image was named, but the archive has several or none.',
    why: 'It was saved with several images or names, or with none.',
    next: 'Leave the name out, so that the names of the archive are used; or save one image only.',
  },
  'archive-moves-names': {
    what: 'Names in the store, or in profiles, would belong to other images than before. The store is unchanged.',
    why: 'The archive has these names, and nobody confirmed them; or the name of the image is another one of a short name in a profile.',
    next: 'Name the image that you want: `berth images pull --from-archive FILE IMAGE`. If all names shall move, add `--yes`.',
  },
  'gc-profile-invalid': {
    what: '`berth images gc` removed nothing, because a profile cannot be read and may name any image.',
    why: 'A mistake in that profile.',
    next: 'Correct or remove the profile: `berth images check` prints what is wrong with it.',
  },
  'gc-users-unreadable': {
    what: '`berth images gc` removed nothing, because the list of containers of a user cannot be read.',
    why: 'A disk error, or the command was not run as root.',
    next: 'Run it as root. Otherwise look at the named file and at `dmesg`.',
  },
  'ldd-failed': {
    what: '`berth images files` could not find out which libraries sftp-server or scp needs.',
    why: 'ldd is not installed.',
    next: 'Install it (Debian: libc-bin; Red Hat: glibc-common).',
  },
  'transfer-tools-not-on-host': {
    what: '`berth images files` found no sftp-server or scp on this host to copy.',
    why: 'Minimal installations leave them out.',
    next: 'Install openssh-sftp-server and openssh-client (Debian), or openssh-server and openssh-clients (Red Hat).',
  },
} as const satisfies CatalogueEntries;
