/** A change of accounts: each is one command of sacctmgr(1), or a few if there are many names. */
export type AccountStep =
  | { readonly kind: 'add-accounts'; readonly accounts: readonly string[]; readonly parent: string }
  | { readonly kind: 'set-parent'; readonly accounts: readonly string[]; readonly parent: string }
  | {
      readonly kind: 'set-qos';
      readonly accounts: readonly string[];
      /** Empty: they stay as they are. */
      readonly qos: readonly string[];
      readonly defaultQos: string | undefined;
    };

/** A change of users' associations with an account. */
export type UserStep = { readonly account: string; readonly users: readonly string[] } & (
  | { readonly kind: 'add-users'; readonly isDefault: boolean }
  | {
      readonly kind: 'open';
      readonly partition: string;
      /** The limit that it had before; null for none. */
      readonly maxSubmit: number | null;
    }
  | { readonly kind: 'set-default' }
  | { readonly kind: 'close' }
);
