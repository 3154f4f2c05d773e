import { relay, type RelayInput } from './relay.ts';
