import { globalKey } from '@relay/redis';

/** Hash, webhook id → epoch milliseconds since which its attempts only fail, and its version then. */
export const FAILING = globalKey('failing');
