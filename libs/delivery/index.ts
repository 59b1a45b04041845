// Owns one attempt: the delivery id, the signed request as docs/partners.md describes it, the HTTP sender, and the outcome that
// an answer means. Guarantees the same bytes on every attempt, no redirects, a total deadline, and a sender that never rejects.
// Leaves the disposition of a delivery to `retry`, permitted destinations to `egress`, and the number of attempts that run at
// once to `admission`.
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
