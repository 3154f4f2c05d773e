import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

/**
 * A store for oidc-provider that several `Provider` instances can share one after the other: new signing
 * keys need a new instance, and its default store is lost with the instance. Interactive flows are not stored.
 */
export function providerStore(): AdapterFactory {
  const entries = new Map<string, AdapterPayload>();
  return (model): Adapter => {
    const key = (id: string): string => `${model}:${id}`;
    const done = Promise.resolve();
    return {
      upsert: (id, payload) => {
        entries.set(key(id), payload);
        return done;
      },
      find: (id) => Promise.resolve(entries.get(key(id))),
      findByUid: () => done,
      findByUserCode: () => done,
      consume: (id) => {
        const payload = entries.get(key(id));
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
        return done;
      },
      destroy: (id) => {
        entries.delete(key(id));
        return done;
      },
      revokeByGrantId: (grantId) => {
        for (const [id, payload] of entries) if (payload.grantId === grantId) entries.delete(id);
        return done;
      },
    };
  };
}
