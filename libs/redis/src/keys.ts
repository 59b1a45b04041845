/** The hash tag of what is global, and of the one shard that a deployment has (docs/adr/0028). */
export const GLOBAL_TAG = '{relay:0}';

/** Full name of a key that belongs to no envelope, such as `{relay:0}:webhooks`. */
export const globalKey = (...parts: readonly (string | number)[]): string => [GLOBAL_TAG, ...parts].join(':');
