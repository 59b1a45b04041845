/** Release of the relay, sent as `user-agent: partner-relay/<version>`. A spec checks that package.json has the same. */
export const RELAY_VERSION = '0.1.0'; // x-release-please-version
