// One reporter for each stream of records that the worker writes beside the path of delivery.

/** Every attempt, on `relay.delivery-attempts`. */
export const ATTEMPTS_REPORTER = Symbol('reporter of attempts');
/** Every dead letter with its body, on `relay.dead-letters`. */
export const DEAD_LETTERS_REPORTER = Symbol('reporter of dead letters');
/** `delivery.dead`, on `relay.operations`. */
export const DEAD_DELIVERIES_REPORTER = Symbol('reporter of dead deliveries');
/** Events about webhooks, on `relay.operations`: a flood of dead deliveries leaves room for them. */
export const WEBHOOKS_REPORTER = Symbol('reporter of webhooks');
