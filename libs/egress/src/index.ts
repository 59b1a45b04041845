// Owns where the relay may connect to: which addresses are public, which URLs an endpoint may have, and the connector
// that every outgoing connection goes through. Guarantees that a forbidden address gets no connection, whether it is
// written in the URL in any notation or answered by DNS, also when that answer changes between registration and
// connect (rebinding), and that TLS is at least 1.2 and always verified.
// Leaves to others what is sent (delivery), redirects (never followed there) and the network's own rules (the chart).
export { egressPolicy, isPublicAddress, type EgressPolicy, type EgressSettings } from './address.js';
export { checkDestination, type DestinationCheck } from './destination.js';
export { egressOpenings, type OpeningSettings } from './openings.js';
export { EgressDenied, guardedConnector, type ConnectorOptions } from './guarded-connector.adapter.js';
export { nameResolver, type ResolveAll, type ResolverSettings } from './name-resolver.adapter.js';
