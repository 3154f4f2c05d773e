import { conformance } from './conformance/on-host.ts';

conformance('a plain sshd', { mode: 'plain' });
