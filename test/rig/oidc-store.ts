import type { Adapter, AdapterPayload } from 'oidc-provider';

/** What a provider stores, without an end: its own memory keeps the last thousand things, which are a hundred logins. */
export class OidcStore {
  readonly #stored = new Map<string, AdapterPayload>();

  /** @param model for example `RefreshToken` */
  readonly adapter = (model: string): Adapter => {
    const stored = this.#stored;
    const key = (id: string): string => `${model}:${id}`;
    const find = (wanted: (payload: AdapterPayload) => boolean): AdapterPayload | undefined =>
      [...stored.values()].find(wanted);
    return {
      upsert: (id, payload) => {
        stored.set(key(id), payload);
        return Promise.resolve();
      },
      find: (id) => Promise.resolve(stored.get(key(id))),
      findByUid: (uid) => Promise.resolve(find((payload) => payload.uid === uid)),
      findByUserCode: (code) => Promise.resolve(find((payload) => payload.userCode === code)),
      destroy: (id) => {
        stored.delete(key(id));
        return Promise.resolve();
      },
      consume: (id) => {
        const payload = stored.get(key(id));
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
        return Promise.resolve();
      },
      revokeByGrantId: (grantId) => {
        for (const [at, payload] of stored) if (payload.grantId === grantId) stored.delete(at);
        return Promise.resolve();
      },
    };
  };
}
