/** Injection token of the rules for endpoints. */
export const EGRESS_POLICY = Symbol('EgressPolicy');
