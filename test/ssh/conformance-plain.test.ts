import { conformance, startHost } from './conformance/on-host.ts';

conformance('a plain sshd', () => startHost({ mode: 'plain' }));
