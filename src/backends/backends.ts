import type { Backend as BackendName, SshSettings } from '../config/schema/profile/profile.ts';
import type { Backend } from './backend.ts';
import { podBackend } from './pod/pod-backend.ts';
import { podmanBackend } from './podman/podman-backend.ts';

const all: Readonly<Record<BackendName, Backend>> = { podman: podmanBackend, pod: podBackend };

/** The backend of a profile or a session. */
export function backendOf({ backend }: { readonly backend: BackendName }): Backend {
  return all[backend];
}

/** The backends that sessions of this host may use, or may have used. */
export function backendsIn(settings: Pick<SshSettings, 'profiles' | 'rules'>): readonly Backend[] {
  return Object.values(all).filter((backend) => backend.isUsed(settings));
}
