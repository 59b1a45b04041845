// Owns the permitted destinations of the relay: public addresses, the URLs that an endpoint may have, and the connector of every
// outgoing connection. Guarantees that a forbidden address gets no connection, in any notation of the URL and in any answer of
// DNS, also when that answer changes between registration and connect (rebinding), and that TLS is at least 1.2 and always
// verified. Leaves requests and redirects, which are never followed, to `delivery`, and network policies to the chart.
export { egressPolicy, type EgressPolicy } from './address.js';
export { checkDestination } from './destination.js';
export { egressOpenings, type OpeningSettings } from './address.js';
export { guardedConnector, type ConnectTimes, type TimedConnector } from './guarded-connector.adapter.js';
export { type ResolveAll } from './name-resolver.adapter.js';
