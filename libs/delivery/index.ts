// Owns a single delivery attempt: the id of the delivery, the signed request that docs/integrate/verify.md describes, the HTTP
// sender, and the outcome that a response means. Guarantees that every attempt sends the same body, that redirects are not
// followed, that an attempt has a total deadline, and that the promise of a sender never rejects. Leaves to `retry` what
// happens after an attempt, to `egress` which destinations are permitted, and to `admission` how many attempts run at the
// same time.
export { DELIVERY_ID, deliveryId, parseDeliveryId, type Delivery } from './delivery.js';
export { shownAnswer } from './endpoint-answer.js';
export { HttpSender } from './http-sender.adapter.js';
export {
  ATTEMPT_ERRORS,
  classify,
  MAX_RETRY_AFTER_MS,
  reachOf,
  type AttemptResult,
  type Outcome,
  type Reach,
} from './outcome.js';
export { attemptHeaders, buildRequest, deliveryHeaders, signatureHeader, type DeliveryRequest } from './request.js';
export { Sender, TracedSender } from './sender.js';
