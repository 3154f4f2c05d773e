import { prebuild } from './test/rig/site/build-in-background.ts';
await prebuild();
