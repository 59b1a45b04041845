/** Release of the relay: sent as `user-agent: partner-relay/<version>`; the same as in package.json (checked by a spec). */
export const RELAY_VERSION = '0.1.0'; // x-release-please-version
