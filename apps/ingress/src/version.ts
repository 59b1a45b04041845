/** Version of the published documents; the same as in package.json (checked by a spec). */
export const RELAY_VERSION = '0.1.0';
