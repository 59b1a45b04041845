// Owns the destinations that the relay may connect to: which addresses are public, which URLs an endpoint may have, and the
// connector for all outgoing connections to endpoints. Guarantees that no connection is made to a forbidden address,
// whatever the notation of the URL and the response of DNS, even if DNS returns another address after registration
// (rebinding). It also guarantees that TLS is at least version 1.2 and that certificates are always verified. Leaves
// requests to `delivery`, which never follows redirects, and network policies to the chart.
export { egressPolicy, type EgressPolicy } from './address.js';
export { checkDestination } from './destination.js';
export { egressOpenings, type OpeningSettings } from './address.js';
export { guardedConnector, type ConnectTimes, type TimedConnector } from './guarded-connector.adapter.js';
export { type ResolveAll } from './name-resolver.adapter.js';
